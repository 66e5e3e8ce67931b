"""Values of a field against all other cases: against scipy and statsmodels, and that groups are respected."""

import math
from itertools import combinations

import numpy as np
import pytest

from dicast.stats.contrasts import is_constant, proportion_contrasts, statistic_contrast
from dicast.stats.proportions import correlation

HITS = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1])
GROUPS = np.repeat(np.arange(9), 2)
CONSTANT = np.repeat([0, 0, 0, 1, 1, 1, 1, 2, 2], 2)
MIXED = np.array([0, 1, 2] * 6)


def test_it_is_known_whether_groups_have_one_value() -> None:
    assert is_constant(CONSTANT, GROUPS)
    assert not is_constant(MIXED, GROUPS)
    assert is_constant(MIXED, None)


def studentised(hits: np.ndarray, inside: np.ndarray) -> float:
    """The difference over its error, group by group."""
    means, variance = [], 0.0
    for side in (inside, ~inside):
        mean, groups = hits[side].mean(), np.unique(GROUPS[side])
        sums = [sum(hits[(group == GROUPS) & side] - mean) for group in groups]
        variance += len(groups) / (len(groups) - 1) * sum(x * x for x in sums) / side.sum() ** 2
        means.append(mean)
    return abs(means[0] - means[1]) / math.sqrt(variance)


def test_values_of_whole_groups_are_tested_by_all_ways_to_deal_them() -> None:
    seen = studentised(HITS, CONSTANT == 0)
    ways = [studentised(HITS, np.isin(GROUPS, chosen)) for chosen in combinations(range(9), 3)]
    exact = np.mean([way >= seen - 1e-12 for way in ways])
    p = proportion_contrasts(HITS, CONSTANT, 3, GROUPS)[0].p
    assert p == pytest.approx(exact, abs=0.02)  # 10,000 of the ways are drawn


def test_the_error_of_mixed_groups_is_that_of_a_clustered_regression() -> None:
    import statsmodels.api as sm
    from scipy import stats

    codes = np.array([0, 1] * 9)
    fits = [
        sm.OLS(hits, table).fit(cov_type="cluster", cov_kwds={"groups": GROUPS[rows], "use_correction": False})
        for rows, hits, table in (
            (slice(None), HITS, sm.add_constant(1.0 - codes)),
            *((codes == code, HITS[codes == code], np.ones(9)) for code in (0, 1)),
        )
    ]
    variances = [fit.bse[0] ** 2 for fit in fits[1:]]
    freedom = 8 * sum(variances) ** 2 / sum(variance**2 for variance in variances)  # Welch's
    half = stats.t.ppf(0.975, freedom) * fits[0].bse[1] * math.sqrt(9 / 8)
    contrast = statistic_contrast(lambda rows: float(HITS[rows].mean()), codes == 0, GROUPS)
    assert contrast.difference == pytest.approx(fits[0].params[1])
    assert (contrast.low, contrast.high) == pytest.approx((contrast.difference - half, contrast.difference + half))


@pytest.mark.parametrize("codes", [CONSTANT, MIXED])
def test_the_order_of_the_cases_does_not_matter(codes: np.ndarray) -> None:
    order = np.random.default_rng(0).permutation(len(HITS))
    first, second = (proportion_contrasts(HITS[rows], codes[rows], 3, GROUPS[rows]) for rows in (slice(None), order))
    for one, other in zip(first, second, strict=True):
        assert (one.difference, one.low, one.high) == pytest.approx((other.difference, other.low, other.high))
        assert one.p == pytest.approx(other.p)


@pytest.mark.parametrize("codes", [CONSTANT, MIXED])
def test_wrong_verdicts_and_right_ones_have_the_same_p(codes: np.ndarray) -> None:
    for one, other in zip(
        proportion_contrasts(HITS, codes, 3, GROUPS), proportion_contrasts(1 - HITS, codes, 3, GROUPS), strict=True
    ):
        assert one.difference == pytest.approx(-other.difference)
        assert one.p == pytest.approx(other.p)


@pytest.mark.parametrize("mixed", [False, True])
def test_the_interval_holds_0_where_the_test_does_not_reject(mixed: bool) -> None:
    rng, rejected = np.random.default_rng(2), 0
    for seed in range(60):
        groups = np.repeat(np.arange(12), 3)
        codes = rng.integers(2, size=36) if mixed else (groups < 6).astype(int)
        contrast = proportion_contrasts(rng.random(36) < 0.35 + 0.3 * codes, codes, 2, groups, seed=seed)[1]
        assert (contrast.p > 0.05) == (contrast.low <= 0 <= contrast.high)
        rejected += contrast.p <= 0.05
    assert 5 < rejected < 55  # both happen


def test_a_value_without_any_hit_has_an_interval() -> None:
    codes = np.array([0, 1] * 30)
    hits = np.where(codes == 0, 0, np.arange(60) % 3 > 0)
    worst, _ = proportion_contrasts(hits, codes, 2, np.repeat(np.arange(20), 3))
    assert worst.high < 0
    assert worst.p < 0.01


def test_a_side_of_one_group_has_no_test() -> None:
    one = proportion_contrasts(HITS, np.where(GROUPS == 0, 1, 0), 2, GROUPS)
    assert all(math.isnan(contrast.p) and math.isnan(contrast.low) for contrast in one)


def test_copies_of_cases_in_their_groups_are_no_evidence() -> None:
    rng = np.random.default_rng(3)
    hits, codes, groups = rng.random(40) < 0.6, rng.integers(2, size=40), np.arange(40)
    single = proportion_contrasts(hits, codes, 2, groups)[0]
    copied = proportion_contrasts(np.repeat(hits, 9), np.repeat(codes, 9), 2, np.repeat(groups, 9))[0]
    assert copied.p == pytest.approx(single.p)


def test_a_correlation_is_compared_by_leaving_groups_out() -> None:
    rng = np.random.default_rng(5)
    people = rng.normal(size=400)
    inside = np.arange(400) % 2 == 0
    judge = np.where(inside, rng.normal(size=400), people + rng.normal(size=400))
    contrast = statistic_contrast(lambda rows: correlation("spearman", judge[rows], people[rows]), inside)
    first, second = (correlation("spearman", judge[side], people[side]) for side in (inside, ~inside))
    assert contrast.difference == pytest.approx(first - second)
    assert contrast.p < 0.001
    # the error of Spearman's rho of independent normal scores is about 1 / sqrt(n - 1) without a correlation
    half = (contrast.high - contrast.low) / 2
    assert half == pytest.approx(1.96 * math.hypot(1 / math.sqrt(199), (1 - second**2) * 1.1 / math.sqrt(199)), rel=0.2)
