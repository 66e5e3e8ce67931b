"""Intervals that respect groups: against scipy and statsmodels, and by how often they hold the truth."""

import math
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats

from dicast.benchmarks import coverage as simulated
from dicast.benchmarks import coverage_sizes as sizes
from dicast.benchmarks import coverage_worlds as worlds
from dicast.errors import DataError, DeclarationError
from dicast.stats.agreement import kappa
from dicast.stats.resampling import Estimate, bootstrap, bootstrap_table, group_codes, mean, proportion, quantile

QUICK = [name for name, interval in simulated.INTERVALS.items() if interval.repetitions == 4000 or "kappa" in name]


def accuracy(tables: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.trace(tables, axis1=-2, axis2=-1) / tables.sum((-2, -1))
    return shares


def bounded(found: Estimate) -> bool:
    return not (math.isnan(found.low) or math.isnan(found.high))


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 7), (7, 7), (1, 50), (30, 50), (999, 1000)])
def test_a_share_of_independent_cases_has_wilsons_interval(hits: int, n: int, level: float) -> None:
    found = proportion(np.arange(n) < hits, level=level)
    theirs = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    assert (found.value, found.n, found.groups) == (hits / n, n, n)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_groups_of_one_case_are_no_groups() -> None:
    values = np.random.default_rng(0).random(40)
    names = [f"prompt {number}" for number in range(40)]
    assert proportion(values < 0.6, names) == proportion(values < 0.6)
    assert mean(values, names) == mean(values)
    assert bootstrap_table(accuracy, values < 0.6, values < 0.5, 2, names) == bootstrap_table(
        accuracy, values < 0.6, values < 0.5, 2
    )


def without_each(values: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    """Means without each group, by statsmodels: a regression on a constant."""
    kept = (groups != group for group in np.unique(groups))
    return np.array([sm.OLS(values[rows], np.ones(rows.sum())).fit().params[0] for rows in kept])


def jackknife(values: NDArray[np.float64], groups: NDArray[np.int64]) -> tuple[float, float]:
    """The variance of a mean, and its degrees of freedom, written out."""
    moved = without_each(values, groups) - values.mean()
    sizes = np.unique(groups, return_counts=True)[1]
    return (len(moved) - 1) / len(moved) * float((moved**2).sum()), len(values) ** 2 / (sizes**2).sum() - 1


@pytest.mark.parametrize("seed", range(5))
def test_a_clustered_share_is_wilsons_interval_of_the_effective_size(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(20, size=90))
    hits = rng.random(90) < rng.random(20)[groups]
    p, (variance, freedom) = hits.mean(), jackknife(hits.astype(float), groups)
    t, effect = stats.t.ppf(0.975, freedom), max(1.0, 90 * variance / (p * (1 - p)))
    counts = np.bincount(groups[hits == (p < 0.5)])  # of the rarer outcome
    rarer = counts.sum() ** 2 / (counts**2).sum()
    prior = 1 + 0.5 * (90 / (freedom + 1) - 1)  # of one more group, with an intraclass correlation of 1/2
    size = 90 / max(effect, (rarer * effect + prior) / (rarer + 1))
    # Wilson's bounds are where (p - x)^2 = t^2 x (1 - x) / size.
    bounds = np.roots([1 + t**2 / size, -(2 * p + t**2 / size), p**2])
    found = proportion(hits, groups)
    assert (found.low, found.high) == pytest.approx(sorted(bounds), abs=1e-9)
    assert (found.value, found.n, found.groups) == (p, 90, len(np.unique(groups)))
    assert (found.effective_n, found.effective_groups) == pytest.approx((size, freedom + 1))
    assert found.freedom == pytest.approx(freedom)


def test_cases_that_are_copies_count_once() -> None:
    once = np.random.default_rng(1).random(30) < 0.6
    copied = proportion(np.repeat(once, 10), np.repeat(np.arange(30), 10))
    p, t = once.mean(), stats.t.ppf(0.975, 29)
    size = 29  # p (1 - p) over the variance with its factor 30 / 29
    assert copied.value == p
    assert copied.high - copied.low == pytest.approx(
        2 * t / (1 + t**2 / size) * math.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
    )


@pytest.mark.parametrize("hit", [True, False])
def test_all_or_no_hits_in_groups_count_the_groups(hit: bool) -> None:
    found = proportion([hit] * 40, np.arange(40) // 4)
    t = stats.t.ppf(0.975, 9)
    assert found.value == float(hit)
    assert found.low == pytest.approx(10 / (10 + t**2) if hit else 0, abs=1e-12)
    assert found.high == pytest.approx(1 if hit else t**2 / (10 + t**2), abs=1e-12)


def test_groups_that_balance_each_other_do_not_make_more_cases() -> None:
    # Each group has one hit and one miss: the clustered variance is 0. The design effect is at least 1, and one group
    # of 1.5 is added to the 20: (20 + 1.5) / 21.
    found = proportion([True, False] * 20, np.arange(40) // 2)
    t, size = stats.t.ppf(0.975, 19), 40 / ((20 + 1.5) / 21)
    assert found.effective_n == pytest.approx(size)
    assert found.high - found.low == pytest.approx(
        2 * t / (1 + t**2 / size) * math.sqrt(0.25 / size + t**2 / (4 * size**2))
    )


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_a_mean_of_independent_cases_has_students_interval(seed: int, level: float) -> None:
    values = np.random.default_rng(seed).exponential(size=25)
    found = mean(values, level=level)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_mean_of_equal_groups_is_that_of_statsmodels(seed: int) -> None:
    """The classical interval: its cluster-robust variance with G / (G - 1), and G - 1 degrees of freedom."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.arange(80) % 16)
    values = rng.normal(size=80) + rng.normal(size=16)[groups]
    fit = sm.OLS(values, np.ones(80)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    half = stats.t.ppf(0.975, 15) * fit.bse[0] * math.sqrt(16 / 15)
    found = mean(values, groups)
    assert (found.low, found.value, found.high) == pytest.approx(
        (fit.params[0] - half, fit.params[0], fit.params[0] + half), abs=1e-9
    )
    assert found.effective_groups is None
    per_group = stats.ttest_1samp([values[groups == group].mean() for group in range(16)], 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((per_group.low, per_group.high), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_a_mean_of_unequal_groups_leaves_out_one_at_a_time(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(15), rng.integers(1, 20, size=15))
    values = rng.normal(size=len(groups)) + rng.normal(size=15)[groups]
    variance, freedom = jackknife(values, groups)
    found, half = mean(values, groups), stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=1e-9)
    assert found.effective_groups == pytest.approx(freedom + 1)
    resampled = bootstrap(lambda cases: float(values[cases].mean()), len(values), groups, bounds=(-math.inf, math.inf))
    assert (resampled.low, resampled.high) == pytest.approx((found.low, found.high), abs=1e-9)
    assert resampled.effective_groups == found.effective_groups


def test_a_group_of_nearly_all_cases_leaves_no_interval() -> None:
    """41 cases in 2 groups of 40 and 1 count for 1.05 groups."""
    groups, hits = np.arange(41) // 40, np.arange(41) % 3 > 0
    for found in (
        proportion(hits, groups),
        proportion(np.ones(41), groups),
        mean(hits, groups),
        bootstrap(lambda cases: float(hits[cases].mean()), 41, groups),
        bootstrap_table(accuracy, hits.astype(int), np.ones(41, dtype=int), 2, groups),
    ):
        assert not bounded(found)
        assert found.effective_groups == pytest.approx(41**2 / 1601)
    assert bounded(mean(hits, np.arange(41) // 30))


def test_sizes_are_what_makes_groups_unequal() -> None:
    """Merging the labels of two groups, or splitting one, changes the interval; their names and order do not."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(12), rng.integers(1, 12, size=12))
    human = rng.integers(3, size=len(groups))
    judge = np.where(rng.random(len(groups)) < 0.6, human, rng.integers(3, size=len(groups)))
    order = rng.permutation(len(groups))
    merged = np.where(groups == 1, 0, groups)
    intervals: tuple[Callable[[NDArray[np.int64]], Estimate], ...] = (
        lambda names: proportion(human == judge, names),
        lambda names: mean(human - judge, names),
        lambda names: bootstrap_table(accuracy, human, judge, 3, names, bounds=(0, 1)),
        lambda names: bootstrap(
            lambda cases: float(np.mean((human - judge)[cases] ** 2)), len(names), names, bounds=(0, 4)
        ),
    )
    for interval in intervals:
        found = interval(groups)
        assert found.effective_groups is not None
        assert found.effective_groups < found.groups == 12
        renamed = interval(11 - groups)
        assert (renamed.low, renamed.high) == pytest.approx((found.low, found.high))
        assert interval(merged).groups == 11
        assert interval(merged).low != pytest.approx(found.low)
    shuffled = bootstrap_table(accuracy, human[order], judge[order], 3, groups[order], bounds=(0, 1))
    assert shuffled == intervals[2](groups)


def test_nothing_is_not_defined() -> None:
    for found in (
        proportion([]),
        mean([]),
        bootstrap(lambda cases: float(cases.mean()), 0),
        bootstrap_table(accuracy, [], [], 2),
    ):
        assert math.isnan(found.value)
        assert not bounded(found)
        assert (found.n, found.groups) == (0, 0)


def test_one_group_has_a_value_and_no_interval() -> None:
    one = ["only"] * 6
    hits = np.array([1, 1, 0, 1, 1, 0])
    for found in (
        proportion(hits, one),
        mean(hits, one),
        bootstrap(lambda cases: float(hits[cases].mean()), 6, one),
        bootstrap_table(accuracy, hits, np.ones(6, dtype=int), 2, one),
    ):
        assert found.value == pytest.approx(4 / 6)
        assert not bounded(found)
        assert (found.n, found.groups) == (6, 1)
    assert math.isnan(mean([3.0]).low)
    assert bounded(proportion([True]))


def test_a_missing_number_is_not_left_out_in_silence() -> None:
    assert math.isnan(mean([1.0, math.nan, 2.0]).value)
    assert math.isnan(mean([1.0, math.nan, 2.0], "aab").high)


def test_the_order_of_the_cases_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    values, order = rng.random(200) ** 3, rng.permutation(200)
    groups, judge = rng.integers(30, size=200), rng.integers(2, size=200)
    human = (values < 0.5).astype(int)
    assert mean(values[order]) == mean(values)
    assert proportion(human[order]) == proportion(human)
    assert proportion(human[order], groups[order]) == proportion(human, groups)
    assert bootstrap_table(accuracy, human[order], judge[order], 2, groups[order], seed=5) == bootstrap_table(
        accuracy, human, judge, 2, groups, seed=5
    )
    shuffled, straight = values[order], values
    one = bootstrap(lambda cases: float(np.median(shuffled[cases])), 200, groups[order], bounds=(0, 1))
    other = bootstrap(lambda cases: float(np.median(straight[cases])), 200, groups, bounds=(0, 1))
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=1e-12)


def test_groups_can_have_any_names() -> None:
    hits = [True, False, True, True, False, True]
    named = proportion(hits, ["x", "x", "y", "y", "z", "z"])
    assert proportion(hits, [1, 1, 2, 2, 3, 3]) == named
    assert proportion(hits, np.array(["b", "b", "c", "c", "a", "a"])) == named
    assert proportion(hits, [("p", 1), ("p", 1), None, None, 3.5, 3.5]) == named
    assert proportion(hits, iter("aabbcc")) == named


def test_groups_must_be_one_a_case() -> None:
    with pytest.raises(DataError, match="2 names for 3 cases"):
        group_codes(["a", "b"], 3)
    with pytest.raises(DataError, match="2 names for 3 cases"):
        bootstrap_table(accuracy, [0, 1, 1], [0, 1, 1], 2, ["a", "b"])


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(DeclarationError, match="not in \\(0, 1\\)"):
        quantile(level)


def test_a_bootstrapped_mean_is_about_the_mean() -> None:
    values = np.random.default_rng(2).normal(size=60)
    drawn = bootstrap(lambda cases: float(values[cases].mean()), 60, resamples=10_000, bounds=(-math.inf, math.inf))
    exact = mean(values)
    # The bootstrap's variance lacks the factor G / (G - 1); 10,000 resamples leave 0.7 percent of noise.
    assert drawn.value == pytest.approx(exact.value)
    assert drawn.high - drawn.low == pytest.approx((exact.high - exact.low) * math.sqrt(59 / 60), rel=0.03)


@pytest.mark.parametrize("most", [1, 9])
def test_many_groups_are_drawn_and_few_left_out_with_about_the_same_error(most: int) -> None:
    """450 groups, more than are left out one at a time."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(450), rng.integers(1, most + 1, size=450) + 1)
    values = rng.normal(size=len(groups)) + rng.normal(size=450)[groups]
    drawn = bootstrap(lambda cases: float(values[cases].mean()), len(groups), groups, bounds=(-math.inf, math.inf))
    exact = mean(values, groups)
    assert drawn.effective_groups == exact.effective_groups
    assert drawn.high - drawn.low == pytest.approx(exact.high - exact.low, rel=0.12)  # 400 resamples: 3.5 %


def test_the_scale_of_the_bounds_is_fishers_z() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=400)
    y = 0.8 * x + 0.6 * rng.normal(size=400)
    found = bootstrap(lambda cases: worlds.pearson(x[cases], y[cases]), 400, resamples=5000)
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)  # Fisher's, for normal scores
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.012)
    assert math.atanh(found.high) - math.atanh(found.value) == pytest.approx(
        math.atanh(found.value) - math.atanh(found.low)
    )


@pytest.mark.parametrize("groups", [None, np.arange(120) // 4, np.arange(120) % 7])
def test_tables_give_what_cases_give(groups: NDArray[np.int64] | None) -> None:
    rng = np.random.default_rng(6)
    human = rng.integers(3, size=120)
    judge = np.where(rng.random(120) < 0.7, human, rng.integers(3, size=120))
    table = bootstrap_table(accuracy, human, judge, 3, groups, resamples=10_000, bounds=(0, 1))
    cases = bootstrap(lambda cases: float((human == judge)[cases].mean()), 120, groups, resamples=10_000, bounds=(0, 1))
    assert (table.value, table.n, table.groups) == (cases.value, cases.n, cases.groups)
    assert (table.low, table.high) == pytest.approx((cases.low, cases.high), abs=0.004)


def test_a_seed_decides() -> None:
    human, judge = np.arange(40) % 2, np.arange(40) % 3 % 2
    again = [bootstrap_table(accuracy, human, judge, 2, seed=seed).low for seed in (1, 1, 2)]
    assert again[0] == again[1] != again[2]
    hits = human == judge
    drawn = [bootstrap(lambda cases: float(hits[cases].mean()), 40, seed=seed).low for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_perfect_judge_is_not_perfect_for_sure() -> None:
    human = np.arange(40) % 2
    found = bootstrap_table(accuracy, human, human, 2, bounds=(0, 1))
    t = stats.t.ppf(0.975, 39)
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(40 / (40 + t**2))
    ranked = bootstrap(lambda cases: 1 + 2e-16, 40)
    assert ranked.low == pytest.approx(2 * found.low - 1)
    assert ranked.high == 1


def test_a_judge_that_never_varies_has_kappa_zero() -> None:
    human = np.arange(40) % 2
    found = bootstrap_table(kappa, human, np.zeros(40, dtype=int), 2)
    assert found.value == 0
    assert not bounded(found)  # resamples that never differ say nothing of the error


def test_a_statistic_that_is_not_defined_stays_so() -> None:
    same = np.zeros(30, dtype=int)
    assert math.isnan(bootstrap_table(kappa, same, same, 2).value)
    rare = bootstrap(lambda cases: 0.5 if 0 in cases and 1 in cases and 2 in cases else math.nan, 30)
    assert rare.value == 0.5  # defined on a quarter of the resamples
    assert not bounded(rare)


def test_bounds_must_hold_the_value() -> None:
    with pytest.raises(DeclarationError, match=r"7\.0 is outside of the bounds \(0, 1\)"):
        bootstrap(lambda cases: 7.0, 10, bounds=(0, 1))
    with pytest.raises(DeclarationError, match="half infinite"):
        bootstrap(lambda cases: 7.0, 10, bounds=(0, math.inf))


def test_codes_must_be_on_the_scale() -> None:
    with pytest.raises(DataError, match=r"not in 0\.\.1"):
        bootstrap_table(accuracy, [0, 1, 2], [0, 1, 1], 2)
    with pytest.raises(DataError, match=r"not in 0\.\.1"):
        bootstrap_table(accuracy, [0, 1, 1], [0, -1, 1], 2)
    with pytest.raises(DataError, match="one of each a case"):
        bootstrap_table(accuracy, [0, 1, 1], [0, 1], 2)


@pytest.mark.parametrize("per_group", [1, 4])
def test_large_sets_are_drawn_in_part_with_the_error_of_the_whole(per_group: int) -> None:
    rng = np.random.default_rng(8)
    n = 40_000
    groups = np.arange(n) // per_group
    values = rng.normal(size=n) + rng.normal(size=n)[groups]
    sizes = []

    def average(cases: NDArray[np.intp]) -> float:
        sizes.append(len(cases))
        return float(values[cases].mean())

    found = bootstrap(average, n, groups, resamples=3000, bounds=(-math.inf, math.inf))
    exact = mean(values, groups)
    assert max(sizes[1:]) == 5000
    assert found.high - found.low == pytest.approx(exact.high - exact.low, rel=0.05)


def test_a_hundred_thousand_cases_are_quick_and_small() -> None:
    rng = np.random.default_rng(9)
    n = 100_000
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    human, judge = rng.integers(4, size=n), rng.integers(4, size=n)
    started = time.process_time()
    bootstrap(lambda cases: worlds.spearman(x[cases], y[cases]), n)
    assert time.process_time() - started < 4
    for groups in (None, np.arange(n) // 4, np.arange(n) // 10):
        started = time.process_time()
        bootstrap_table(accuracy, human, judge, 4, groups)
        assert time.process_time() - started < 2
        tracemalloc.start()
        bootstrap_table(accuracy, human, judge, 4, groups)
        assert tracemalloc.get_traced_memory()[1] < 200e6
        tracemalloc.stop()


@pytest.mark.parametrize("name", QUICK)
def test_a_95_percent_interval_holds_the_truth_about_so_often(name: str) -> None:
    # 1,000 repetitions have a standard error of 0.7 %; three of them, as there are many intervals.
    held, _ = simulated.coverage(simulated.INTERVALS[name], 50, 1000)
    assert 0.93 - 0.021 <= held <= 0.97 + 0.021


@pytest.mark.parametrize("kind", sizes.GROUP_SIZES)
@pytest.mark.parametrize("name", [name for name in sizes.CLUSTERED if name != "Spearman 0.58"])
def test_intervals_hold_the_truth_whatever_the_sizes_of_45_groups(name: str, kind: str) -> None:
    """With sums of squared residuals and G - 1 degrees of freedom they did 83 to 93 % of the time for 1 or 30.

    300 repetitions have a standard error of 1.3 %; three of them. Shares near 1 may be held more often.
    """
    held, _ = simulated.coverage(sizes.SIZED[f"{name}, {kind}"], 45, 300)
    least = 0.91 if "by prompt" in name else 0.93  # two-valued effects of prompts, of which few large groups decide
    assert least - 0.038 <= held <= (1 if "share" in name else 0.97 + 0.03)


def test_groups_that_are_not_given_cost_coverage() -> None:
    held, _ = simulated.coverage(simulated.WARNINGS["share 0.6, without groups"], 200, 500)
    assert held < 0.9


@pytest.mark.simulation
@pytest.mark.parametrize("n", simulated.SIZES)
@pytest.mark.parametrize("name", QUICK)
def test_coverage_is_93_to_97_percent(name: str, n: int) -> None:
    """Give or take three standard errors of the simulation, 1.5 %.

    Wilson's interval of shares of 0.9 holds them more often at n = 50, by the steps of the binomial: 97.2 %, and 97.9 %
    in 13 groups (4,000 repetitions).
    """
    held, _ = simulated.coverage(simulated.INTERVALS[name], n, 2000)
    most = 0.98 if name.startswith("share 0.9") and n == 50 else 0.97
    assert 0.93 - 0.015 <= held <= most + 0.015


@pytest.mark.simulation
@pytest.mark.parametrize("name", [name for name in simulated.INTERVALS if name not in QUICK])
def test_resampled_coverage_is_93_to_97_percent_at_50_cases(name: str) -> None:
    """Give or take three standard errors of 200 repetitions; the benchmark takes more, and every size."""
    held, _ = simulated.coverage(simulated.INTERVALS[name], 50, 200)
    assert held >= 0.93 - 0.046


@pytest.mark.simulation
@pytest.mark.parametrize("groups", sizes.GROUPS)
@pytest.mark.parametrize("name", sizes.SIZED)
def test_coverage_holds_at_every_kind_of_sizes(name: str, groups: int) -> None:
    """But for differences by prompt, where a few large groups of two kinds decide (docs/results/intervals.md)."""
    times = 100 if name.startswith("Spearman") else 1000
    held, _ = simulated.coverage(sizes.SIZED[name], groups, times)
    least = 0.88 if "by prompt" in name else 0.93
    assert held >= least - 3 * math.sqrt(0.95 * 0.05 / times)
