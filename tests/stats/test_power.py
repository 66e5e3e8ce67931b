"""How many labels: against brute force, simulation and statsmodels."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint, samplesize_confint_proportion

from dicast.errors import DeclarationError
from dicast.stats.paired import mcnemar
from dicast.stats.power import (
    design_effect,
    detectable_difference,
    intraclass_correlation,
    labels_for_difference,
    labels_for_proportion,
    power_of_mcnemar,
)
from dicast.stats.resampling import mean


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("width", [0.02, 0.05, 0.1, 0.3])
@pytest.mark.parametrize("p", [0, 0.01, 0.2, 0.5, 0.8, 1])
def test_the_least_labels_whose_wilson_interval_is_narrow_enough(p: float, width: float, level: float) -> None:
    def reach(n: int) -> float:
        low, high = proportion_confint(p * n, n, alpha=1 - level, method="wilson")
        return float(high - low) / 2

    n = labels_for_proportion(p, width, level=level)
    assert reach(n) <= width + 1e-9
    assert n == 1 or reach(n - 1) > width


def test_labels_for_a_share_are_about_those_of_the_normal_interval() -> None:
    assert labels_for_proportion(0.5, 0.03) == pytest.approx(samplesize_confint_proportion(0.5, 0.03), abs=4)
    assert labels_for_proportion(0.5, 0.03) == 1064  # 1.96^2 (1 / (4 * 0.03^2) - 1) = 1063.3


def brute_force(n: int, p01: float, p10: float, alpha: float) -> float:
    """Over every table of n cases, its multinomial probability and its p-value."""
    chances = stats.multinomial(n, [p01, p10, 1 - p01 - p10])
    tables = [(lost, won) for lost in range(n + 1) for won in range(n + 1 - lost)]
    return sum(
        chances.pmf([lost, won, n - lost - won])
        for lost, won in tables
        if lost + won and stats.binomtest(won, lost + won).pvalue <= alpha
    )


@pytest.mark.parametrize("alpha", [0.01, 0.05])
@pytest.mark.parametrize(("p01", "p10"), [(0.05, 0.3), (0.2, 0.2), (0, 0.4), (0.3, 0.7), (1, 0)])
@pytest.mark.parametrize("n", [1, 5, 6, 23])
def test_the_power_is_summed_over_all_outcomes(n: int, p01: float, p10: float, alpha: float) -> None:
    assert power_of_mcnemar(n, p01, p10, alpha=alpha) == pytest.approx(brute_force(n, p01, p10, alpha), abs=1e-9)


def test_the_power_is_how_often_the_test_rejects() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(150, [0.05, 0.15, 0.8], size=3000)
    outcomes, often = np.unique(drawn[:, :2], axis=0, return_counts=True)
    rejected = [mcnemar(np.repeat([0, 1], pair), np.repeat([1, 0], pair)).p <= 0.05 for pair in outcomes]
    assert power_of_mcnemar(150, 0.05, 0.15) == pytest.approx(often @ rejected / 3000, abs=4 * math.sqrt(0.19 / 3000))


def test_the_power_of_many_cases_is_that_of_the_normal_test() -> None:
    # Given their number, discordant cases are one sample of a share against 1/2; statsmodels' test of one sample.
    n, p01, p10 = 20_000, 0.095, 0.105
    shift = (p10 - p01) / math.sqrt(p01 + p10 - (p10 - p01) ** 2)
    normal = NormalIndPower(ddof=0).power(shift, n, 0.05, ratio=0)
    assert power_of_mcnemar(n, p01, p10) == pytest.approx(normal, abs=0.01)


def test_the_power_has_two_sides_and_ends() -> None:
    assert power_of_mcnemar(100, 0.1, 0.2) == pytest.approx(power_of_mcnemar(100, 0.2, 0.1))
    assert power_of_mcnemar(0, 0.1, 0.2) == 0
    assert power_of_mcnemar(100, 0, 0) == 0
    assert power_of_mcnemar(5, 0, 1) == 0  # 2 / 2^5 is above 5 %
    assert power_of_mcnemar(6, 0, 1) == pytest.approx(1)
    assert power_of_mcnemar(1000, 0.15, 0.15) <= 0.05


@pytest.mark.parametrize("power", [0.5, 0.8, 0.9])
@pytest.mark.parametrize(("discordance", "difference"), [(0.2, 0.1), (0.3, -0.05), (0.1, 0.1), (0.5, 0.2)])
def test_labels_have_the_power_and_one_fewer_has_not(discordance: float, difference: float, power: float) -> None:
    n = labels_for_difference(discordance, difference, power=power)
    p10, p01 = (discordance + difference) / 2, (discordance - difference) / 2
    assert power_of_mcnemar(n, p01, p10) >= power > power_of_mcnemar(n - 1, p01, p10)


def test_labels_are_near_the_formula_of_connor() -> None:
    z, z_power = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    for discordance, difference in [(0.2, 0.05), (0.3, 0.1), (0.1, 0.03)]:
        root = z * math.sqrt(discordance) + z_power * math.sqrt(discordance - difference**2)
        normal = (root / difference) ** 2
        exact = labels_for_difference(discordance, difference)
        assert normal < exact < 1.15 * normal + 5  # the exact test needs some more


def test_one_sided_judges_need_six_discordant_cases() -> None:
    assert labels_for_difference(1, 1, power=0.99) == 6


def test_the_detectable_difference_has_the_power() -> None:
    found = detectable_difference(300, 0.25)
    assert power_of_mcnemar(300, (0.25 - found) / 2, (0.25 + found) / 2) == pytest.approx(0.8)
    assert detectable_difference(168, 0.2) == pytest.approx(0.1, abs=0.001)
    assert labels_for_difference(0.2, 0.1) == 168
    assert detectable_difference(1200, 0.25) == pytest.approx(found / 2, rel=0.05)


def test_too_few_cases_detect_nothing() -> None:
    assert math.isnan(detectable_difference(10, 0.2))
    assert math.isnan(detectable_difference(0, 0.2))


@pytest.mark.parametrize(
    "ask",
    [
        lambda: labels_for_proportion(1.2, 0.05),
        lambda: labels_for_proportion(0.8, 0),
        lambda: labels_for_proportion(0.8, 0.5),
        lambda: labels_for_proportion(math.nan, 0.1),
        lambda: labels_for_proportion(0.8, 0.05, level=95),
        lambda: power_of_mcnemar(-1, 0.1, 0.1),
        lambda: power_of_mcnemar(10, -0.1, 0.1),
        lambda: power_of_mcnemar(10, 0.6, 0.6),
        lambda: power_of_mcnemar(10, 0.1, 0.1, alpha=5),
        lambda: labels_for_difference(0.1, 0.2),
        lambda: labels_for_difference(0.1, 0),
        lambda: labels_for_difference(0.1, 0.05, power=1),
        lambda: labels_for_difference(0.1, 0.00001),
        lambda: detectable_difference(100, 0),
        lambda: detectable_difference(100, 0.2, power=0.05),
        lambda: design_effect([], 0.1),
        lambda: design_effect([3, 0], 0.1),
    ],
)
def test_what_cannot_be_planned_is_refused(ask) -> None:
    with pytest.raises(DeclarationError, match=r"\. (Give|Ask) "):
        ask()


def test_the_design_effect_is_how_much_wider_clustered_figures_are() -> None:
    assert design_effect(4, 0.5) == 2.5
    assert design_effect([4, 4, 4], 0.5) == 2.5
    assert design_effect([1, 1], 0.5) == 1
    assert design_effect([2, 6], 0.1) == pytest.approx(1 + (40 / 8 - 1) * 0.1)
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(3000), rng.integers(1, 8, size=3000))
    values = rng.normal(size=3000)[groups] + math.sqrt(3) * rng.normal(size=len(groups))  # correlation 1 / 4
    result, plain = mean(values, groups), mean(values)
    widened = ((result.high - result.low) / (plain.high - plain.low)) ** 2
    assert design_effect(np.bincount(groups), 0.25) == pytest.approx(widened, rel=0.08)
    assert intraclass_correlation(values, groups) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_the_intraclass_correlation_is_that_of_the_anova(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), 5)
    values = rng.normal(size=12)[groups] + rng.normal(size=60)
    f = stats.f_oneway(*values.reshape(12, 5)).statistic
    assert intraclass_correlation(values, groups) == pytest.approx((f - 1) / (f + 4), abs=1e-9)


def test_the_intraclass_correlation_of_shrout_and_fleiss() -> None:
    # Shrout & Fleiss (1979), table 2: six targets, four judges; ICC(1, 1) = .17 in table 4.
    ratings = [9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7]
    assert round(intraclass_correlation(ratings, np.repeat(range(6), 4)), 2) == 0.17


def test_the_intraclass_correlation_of_copies_is_1_and_of_nothing_not_defined() -> None:
    assert intraclass_correlation([1, 1, 5, 5], "aabb") == 1
    assert math.isnan(intraclass_correlation([1, 2, 3], "abc"))
    assert math.isnan(intraclass_correlation([1, 2, 3], "aaa"))
    assert math.isnan(intraclass_correlation([0.1] * 6, "aabbcc"))
    assert math.isnan(intraclass_correlation([], []))
