"""Two judges on the same cases: against statsmodels and scipy, and by how often the tests reject what is true."""

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats import contingency_tables
from statsmodels.stats.multitest import multipletests

from dicast.benchmarks import coverage as simulated
from dicast.benchmarks import coverage_sizes as sizes
from dicast.benchmarks import coverage_worlds as worlds
from dicast.errors import DataError, DeclarationError
from dicast.stats.paired import (
    difference,
    holm,
    larger_p,
    mcnemar,
    non_inferior,
    p_of_interval,
    permutation,
    permutation_statistic,
)
from dicast.stats.resampling import Estimate, mean


def judges(seed: int, n: int = 60) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    return rng.random(n) < 0.7, rng.random(n) < 0.55


@pytest.mark.parametrize("seed", range(5))
def test_mcnemar_is_the_exact_one_of_statsmodels(seed: int) -> None:
    first, second = judges(seed)
    table = [[np.sum(first & second), np.sum(first & ~second)], [np.sum(~first & second), np.sum(~first & ~second)]]
    found = mcnemar(first, second)
    assert [found.only_first, found.only_second] == [table[0][1], table[1][0]]
    assert found.p == pytest.approx(contingency_tables.mcnemar(table, exact=True).pvalue, abs=1e-12)


def test_mcnemar_of_a_textbook() -> None:
    # Agresti, Categorical Data Analysis: approval of a prime minister, 150 lost, 86 won; z^2 = 17.36.
    first, second = np.repeat([True, False], [150, 86]), np.repeat([False, True], [150, 86])
    z = stats.norm.isf(mcnemar(first, second).p / 2)
    assert z**2 == pytest.approx(17.36, rel=0.03)  # the exact test is a little more careful
    assert z**2 < 17.36


def test_mid_p_takes_half_of_the_observed_outcome_off() -> None:
    # 1 against 7: the exact p is 2 (1 + 8) / 256, and half of both outcomes of 1 against 7 is 8 / 256.
    first, second = np.arange(8) < 1, np.arange(8) >= 1
    assert mcnemar(first, second).p == pytest.approx(18 / 256)
    assert mcnemar(first, second, mid_p=True).p == pytest.approx(10 / 256)


@pytest.mark.parametrize(("first", "second"), [([], []), ([True], [True]), ([1, 0, 1, 0], [0, 1, 1, 0])])
def test_judges_that_win_equally_often_are_not_distinguished(first: list[int], second: list[int]) -> None:
    assert mcnemar(first, second).p == 1
    assert mcnemar(first, second, mid_p=True).p == 1


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_scores_has_students_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, 30))
    found, theirs = difference(first, second), stats.ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    groups = rng.integers(8, size=30)
    clustered, plain = difference(first, second, groups), mean(first - second, groups)
    assert (clustered.low, clustered.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_accuracies_is_that_of_agresti_and_min(seed: int) -> None:
    """Their formula for counts, with Student's quantile and n / (n - 1)."""
    first, second = judges(seed)
    n, won, lost = 60, float(np.sum(first & ~second)), float(np.sum(~first & second))
    p10, p01 = (won + 0.5) / (n + 2), (lost + 0.5) / (n + 2)
    error = math.sqrt((p10 + p01 - (p10 - p01) ** 2) / (n + 2) * n / (n - 1))
    half = stats.t.ppf(0.975, n - 1) * error
    found = difference(first, second)
    assert found.value == pytest.approx((won - lost) / n)
    assert (found.low, found.high) == pytest.approx((p10 - p01 - half, p10 - p01 + half), abs=1e-12)


def test_the_difference_turns_over_with_the_judges() -> None:
    first, second = judges(1)
    groups = np.arange(60) // 4
    one, other = difference(first, second, groups), difference(second, first, groups)
    assert (one.value, one.low, one.high) == pytest.approx((-other.value, -other.high, -other.low))


def test_judges_that_never_differed_are_not_equal_for_sure() -> None:
    same = np.arange(30) % 3 > 0
    found = difference(same, same)
    assert found.value == 0
    assert found.low == -found.high < -0.03
    assert difference([True] * 3, [False] * 3).high == 1  # not beyond


def test_without_two_groups_no_difference_has_an_interval() -> None:
    assert math.isnan(difference([], []).value)
    found = difference([1, 0, 1], [0, 0, 1], "xxx")
    assert found.value == pytest.approx(1 / 3)
    assert math.isnan(found.low)
    assert math.isnan(non_inferior([1, 0, 1], [0, 0, 1], 0.1, "xxx").p)
    assert not non_inferior([], [], 0.1).holds


def test_few_cases_are_permuted_in_every_way() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=9) + 0.7, rng.normal(size=9)
    theirs = stats.permutation_test(
        (first, second), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", vectorized=True
    )
    assert permutation(first, second) == pytest.approx(theirs.pvalue, abs=1e-12)
    assert permutation_statistic(np.mean, first, second) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_whole_groups_are_flipped() -> None:
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.arange(42) % 6)
    apart = rng.normal(size=42) + rng.normal(size=6)[groups]
    sums = np.bincount(groups, apart)
    flips = np.array(list(product([1, -1], repeat=6)))
    expected = np.mean(np.abs(flips @ sums) >= abs(sums.sum()) - 1e-9)
    assert permutation(apart, np.zeros(42), groups) == pytest.approx(expected)
    assert permutation_statistic(np.mean, apart, np.zeros(42), groups) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_groups_of_unequal_size_must_show_a_difference_by_flips_and_by_the_interval(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(8), (1, 1, 1, 2, 3, 5, 9, 20))
    apart = rng.normal(size=42) + rng.normal(size=8)[groups] + 0.8
    sums = np.bincount(groups, apart)
    flips = np.array(list(product([1, -1], repeat=8)))
    exchanged = np.mean(np.abs(flips @ sums) >= abs(sums.sum()) - 1e-9)
    found = difference(apart, np.zeros(42), groups)
    t = found.value / ((found.high - found.low) / 2 / stats.t.ppf(0.975, found.freedom))
    by_interval = 2 * stats.t.sf(abs(t), found.freedom)
    assert p_of_interval(found) == pytest.approx(by_interval)
    p = larger_p(permutation(apart, np.zeros(42), groups), found)
    assert p == pytest.approx(max(exchanged, by_interval))
    assert p == pytest.approx(larger_p(permutation_statistic(np.mean, apart, np.zeros(42), groups), found))
    if p <= 0.05:
        assert not found.low <= 0 <= found.high


def test_the_p_of_an_interval_is_5_percent_where_its_end_is_0() -> None:
    for bounds in (None, (-2.0, 2.0)):
        assert p_of_interval(Estimate(0.3, 0.0, 0.7, 60, 20, None, 6.5), bounds=bounds) == pytest.approx(0.05)
    inside, outside = Estimate(0.3, -0.1, 0.7, 60, 20), Estimate(0.3, 0.1, 0.5, 60, 20)
    assert p_of_interval(inside) > 0.05 > p_of_interval(outside)
    assert p_of_interval(Estimate(2.0, 1.9, 2.0, 60, 20), bounds=(-2.0, 2.0)) < 0.05
    assert math.isnan(p_of_interval(Estimate(0.3, math.nan, math.nan, 60, 20)))
    assert larger_p(0.01, inside) == 0.01  # groups of one size: the exchange alone
    assert larger_p(0.01, Estimate(0.3, -0.1, 0.7, 60, 20, None, 6.5)) > 0.05
    assert larger_p(0.01, Estimate(0.3, math.nan, math.nan, 60, 2, None, 1.1)) == 1.0


def test_permuted_accuracies_are_mcnemars_exact_test() -> None:
    first, second = np.arange(40) < 12, (np.arange(40) >= 11) & (np.arange(40) < 14)
    assert permutation(first, second) == pytest.approx(mcnemar(first, second).p, abs=1e-12)  # 11 + 2 discordant


def test_drawn_permutations_are_near_the_exact_p_and_never_0() -> None:
    first, second = judges(2)
    exact = mcnemar(first, second).p
    assert exact > 0.01
    assert permutation(first, second, resamples=20_000) == pytest.approx(exact, abs=4 * math.sqrt(exact / 20_000))
    drawn = permutation_statistic(np.mean, first, second, resamples=2000)
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact / 2000))
    assert permutation(np.ones(50), np.zeros(50), resamples=999) == pytest.approx(1 / 1000)
    assert permutation_statistic(np.mean, np.ones(50), np.zeros(50), resamples=99) == pytest.approx(1 / 100)


@pytest.mark.parametrize(
    "test", [permutation, lambda one, other, **more: permutation_statistic(np.mean, one, other, **more)]
)
def test_a_permutation_test_depends_on_the_seed_alone(test: Callable[..., float]) -> None:
    first, second = judges(3)
    assert test(first, second, seed=1, resamples=200) == test(first, second, seed=1, resamples=200)
    assert len({test(first, second, seed=seed, resamples=200) for seed in range(5)}) > 1
    assert test(second, first, seed=1, resamples=200) == test(first, second, seed=1, resamples=200)


def test_equal_judges_have_p_1() -> None:
    first, _ = judges(4)
    assert permutation(first, first) == 1
    assert permutation_statistic(np.mean, first, first, resamples=50) == 1


def test_what_is_not_defined_has_no_p() -> None:
    assert math.isnan(permutation([], []))
    assert math.isnan(permutation([1.0, math.nan], [0.0, 1.0]))
    assert math.isnan(permutation_statistic(np.mean, [], []))
    assert math.isnan(permutation_statistic(lambda given: math.nan, [1, 2], [2, 3]))
    # Swaps on which the statistic is not defined speak against a difference: only "none" and "all" are defined here.
    defined = [(1, 1, 1), (2, 2, 2)]
    odd = permutation_statistic(
        lambda given: float(given[0]) if tuple(given) in defined else math.nan, [1, 1, 1], [2, 2, 2]
    )
    assert odd == 1


def test_scores_that_go_with_people_better_are_found() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=80)
    good, bad = people + 0.3 * rng.normal(size=80), people + 3 * rng.normal(size=80)
    ranked = [stats.rankdata(side) for side in (good, bad)]
    p = permutation_statistic(lambda given: worlds.spearman(given, people), *ranked, resamples=200)
    assert p == pytest.approx(1 / 201)


def test_a_better_judge_is_not_inferior_and_a_worse_one_is_not_shown_so() -> None:
    second = np.arange(400) % 10 < 8
    better, worse = second | (np.arange(400) % 20 == 19), second & (np.arange(400) % 4 > 0)
    assert non_inferior(better, second, 0.05).holds
    found = non_inferior(worse, second, 0.05)
    assert not found.holds
    assert found.p > 0.5


@pytest.mark.parametrize("margin", [0.02, 0.05, 0.08, 0.15])
@pytest.mark.parametrize("seed", range(4))
def test_not_inferior_is_when_the_lower_bound_is_above_the_margin(seed: int, margin: float) -> None:
    first, second = judges(seed)
    for found in (non_inferior(second, first, margin), non_inferior(first, second, margin, np.arange(60) // 3)):
        assert found.holds == (found.difference.low > -margin) == (found.p <= 0.05)


def test_non_inferiority_of_scores_is_students_test() -> None:
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(2, 30))
    theirs = stats.ttest_1samp(first - second, -0.4, alternative="greater").pvalue
    assert non_inferior(first, second, 0.4).p == pytest.approx(theirs, abs=1e-12)
    assert non_inferior(first, first, 0.4).p == 0  # scores that never differ, and never by the margin


@pytest.mark.parametrize(("margin", "alpha"), [(0, 0.05), (-0.1, 0.05), (0.1, 0), (0.1, 0.5), (math.nan, 0.05)])
def test_a_margin_is_above_0_and_alpha_a_small_share(margin: float, alpha: float) -> None:
    with pytest.raises(DeclarationError, match="margin above 0"):
        non_inferior([1, 0], [1, 1], margin, alpha=alpha)


@pytest.mark.parametrize("test", [difference, mcnemar, permutation])
def test_sides_are_of_the_same_cases(test: Callable[..., object]) -> None:
    with pytest.raises(DataError, match="one of each judge a case"):
        test([1, 0, 1], [1, 0])
    with pytest.raises(DataError, match="one of each judge a case"):
        permutation_statistic(np.mean, [1, 0, 1], [1, 0])


@pytest.mark.parametrize("seed", range(5))
def test_holm_is_that_of_statsmodels(seed: int) -> None:
    p_values = np.random.default_rng(seed).random(12) ** 3
    p_values[3] = p_values[7]
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1], abs=1e-12)


def test_holm_leaves_out_tests_that_were_not_possible() -> None:
    assert holm([0.04, math.nan, 0.01]) == pytest.approx([0.04, math.nan, 0.02], nan_ok=True)
    assert holm([]).shape == (0,)
    assert holm([0.9, 0.8]) == pytest.approx([1, 1])


@pytest.mark.parametrize("name", [name for name in simulated.TESTS if name != "permutation of Spearman"])
def test_a_5_percent_test_rejects_what_is_true_no_more_often(name: str) -> None:
    # 1,000 repetitions have a standard error of 0.7 %; three of them, as there are six tests.
    assert simulated.level(simulated.TESTS[name], 200, 1000) <= 0.05 + 0.021


def test_groups_that_go_with_the_difference_are_not_taken_for_a_difference() -> None:
    """One judge is better in groups of 30, the other in groups of one; over all cases nobody is."""
    exchange = sizes.SIZED_TESTS["differences go with size, exchange alone, 1 or 30"]
    assert simulated.level(exchange, 20, 400) > 0.08
    assert simulated.level(sizes.SIZED_TESTS["differences go with size, 1 or 30"], 20, 400) <= 0.05 + 0.033


@pytest.mark.parametrize("kind", sizes.GROUP_SIZES)
def test_groups_of_any_sizes_reject_what_is_true_in_3_to_5_percent(kind: str) -> None:
    # 400 repetitions have a standard error of 1.1 %; three of them.
    rejected = simulated.level(sizes.SIZED_TESTS[f"no difference, {kind}"], 45, 400)
    assert 0.03 - 0.026 <= rejected <= 0.05 + 0.033


def test_mcnemar_of_cases_in_groups_rejects_too_often() -> None:
    assert simulated.level(simulated.WRONG_TESTS["McNemar, exact, without groups"], 200, 1000) > 0.07


@pytest.mark.simulation
@pytest.mark.parametrize("n", simulated.SIZES)
@pytest.mark.parametrize("name", simulated.TESTS)
def test_levels_hold_at_every_size(name: str, n: int) -> None:
    """But for non-inferiority, whose level is 5.9 % at 13 groups and 5.4 % at 50 (20,000 repetitions)."""
    test = simulated.TESTS[name]
    times = 200 if name == "permutation of Spearman" else 2000
    allowed = 0.06 if name.startswith("non-inferiority") else 0.05
    assert simulated.level(test, n, times) <= allowed + 3 * math.sqrt(0.05 * 0.95 / times)


def test_groups_in_which_judges_never_differ_count_as_one_case_each() -> None:
    same = np.zeros(1000)
    grouped, single = difference(same, same, np.arange(1000) // 10), difference(same[:100], same[:100])
    assert (grouped.low, grouped.high) == (single.low, single.high)
    assert grouped.high > difference(same, same).high
