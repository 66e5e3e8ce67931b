"""Estimates from few labels and many verdicts: against the authors' own program, and by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from dicast.errors import DataError
from dicast.stats.prediction_powered import PredictionPowered, prediction_powered_mean
from dicast.stats.resampling import mean

HUMAN = [3, 5, 2, 4, 4, 1]
LABELLED = [4, 5, 3, 4, 5, 1]
UNLABELLED = [2, 3, 5, 4, 4, 3, 2, 5, 1, 4, 3, 4]


def simulated(seed: int, n: int, more: int, *, rho: float, bias: float = 0.0, scale: float = 1.0) -> PredictionPowered:
    """People's mean is 1; the judge goes with them at `rho`."""
    rng = np.random.default_rng(seed)
    human = rng.normal(size=n + more)
    judge = scale * (rho * human + math.sqrt(1 - rho**2) * rng.normal(size=n + more)) + bias
    return prediction_powered_mean(human[:n] + 1, judge[:n], judge[n:])


def test_the_estimate_is_that_of_the_authors() -> None:
    """ppi_python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci with lam = 2 / 3, the weight that is found here.

    Theirs divides variances by n and takes the normal quantile: [2.295675933600651, 3.593212955288238].
    """
    found = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED)
    assert found.weight == pytest.approx(2 / 3)
    assert found.estimate.value == pytest.approx(2.9444444444444446, abs=1e-12)
    error = (3.593212955288238 - 2.295675933600651) / (2 * stats.norm.ppf(0.975))
    half = stats.t.ppf(0.975, 4) * error * math.sqrt(6 / 4)
    assert found.estimate.high - found.estimate.value == pytest.approx(half, abs=1e-9)


def test_the_weight_has_the_least_variance() -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(size=400)
    judge, others = human + rng.normal(size=400), 1.4 * rng.normal(size=3000)
    found = prediction_powered_mean(human, judge, others)

    def variance(weight: float) -> float:
        return float(np.var(human - weight * judge) / 400 + weight**2 * np.var(others) / 3000)

    assert all(variance(found.weight) <= variance(found.weight + step) for step in (-0.001, 0.001))
    # PPI++: Cov(label, verdict) / ((1 + n / N) Var(verdict)); here each kind of case has its own variance.
    formula = np.cov(human, judge, ddof=0)[0, 1] / (np.var(judge) + 400 / 3000 * np.var(others))
    assert found.weight == pytest.approx(formula, abs=1e-12)


def test_the_classical_and_the_naive_figures_are_shown_beside() -> None:
    found = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED)
    assert found.classical == mean(HUMAN)
    assert found.judge_only == mean(LABELLED + UNLABELLED)


def test_a_judge_on_another_scale_serves_as_well() -> None:
    found = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED)
    other = prediction_powered_mean(HUMAN, 20 - 10 * np.array(LABELLED), 20 - 10 * np.array(UNLABELLED))
    assert other.weight == pytest.approx(-found.weight / 10)
    assert (other.estimate.low, other.estimate.high) == pytest.approx((found.estimate.low, found.estimate.high))
    assert other.worth == pytest.approx(found.worth)


def test_a_biased_judge_does_not_bias_the_estimate() -> None:
    found = [simulated(seed, 50, 500, rho=0.8, bias=3) for seed in range(400)]
    values = [one.estimate.value for one in found]
    assert np.mean(values) == pytest.approx(1, abs=4 * float(np.std(values)) / 20)
    assert np.mean([one.judge_only.value for one in found]) > 2.9


@pytest.mark.parametrize(("rho", "least", "most"), [(0.95, 2.5, 12.0), (0.8, 1.5, 3.5), (0.0, 0.95, 1.05)])
def test_labels_are_worth_more_beside_a_better_judge(rho: float, least: float, most: float) -> None:
    """With many verdicts the variance falls to 1 - rho^2 of the labels' own: 10.3, 2.8 and 1 times the labels."""
    found = [simulated(seed, 100, 2000, rho=rho) for seed in range(100)]
    assert least < np.mean([one.worth for one in found]) < most
    if rho == 0.95:
        limit = 1 / (1 - rho**2 + rho**2 * 100 / 2100)
        assert np.mean([one.worth for one in found]) == pytest.approx(limit, rel=0.1)


def test_a_useless_judge_costs_next_to_nothing() -> None:
    found = [simulated(seed, 50, 1000, rho=0) for seed in range(200)]
    widths = [(one.estimate.high - one.estimate.low) / (one.classical.high - one.classical.low) for one in found]
    assert np.mean(widths) < 1.01
    assert max(widths) < 1.03


def test_a_good_judge_makes_the_interval_narrower() -> None:
    found = [simulated(seed, 50, 1000, rho=0.9) for seed in range(200)]
    widths = [(one.estimate.high - one.estimate.low) / (one.classical.high - one.classical.low) for one in found]
    assert np.mean(widths) == pytest.approx(math.sqrt(1 - 0.81 / 1.05), abs=0.03)


@pytest.mark.parametrize("mixed", [True, False])
@pytest.mark.parametrize("n", [60, 200])
def test_cases_in_groups_keep_their_coverage(n: int, mixed: bool) -> None:
    """Groups of four are labelled as a whole, or have labelled and other cases at random."""
    rng = np.random.default_rng(n)
    held, total = [], 8 * n
    for _ in range(1000):
        groups = np.arange(total) // 4
        human = rng.normal(size=total)[groups] + 0.5 * rng.normal(size=total)
        judge = human + 0.7 * rng.normal(size=total) + 0.5 + rng.normal(size=total)[groups]
        order = rng.permutation(total) if mixed else np.arange(total)
        human, judge, groups = human[order], judge[order], groups[order]
        found = prediction_powered_mean(human[:n], judge[:n], judge[n:], groups[:n], groups[n:]).estimate
        held.append(found.low <= 0 <= found.high)
    assert 0.93 - 0.021 <= np.mean(held) <= 0.97 + 0.021


@pytest.mark.simulation
@pytest.mark.parametrize("rho", [0, 0.6, 0.95])
@pytest.mark.parametrize("n", [20, 50, 200])
def test_the_interval_holds_the_mean_93_to_97_percent_of_the_time(n: int, rho: float) -> None:
    found = [simulated(seed, n, 10 * n, rho=rho, bias=0.5).estimate for seed in range(3000)]
    assert 0.93 <= np.mean([one.low <= 1 <= one.high for one in found]) <= 0.97


def test_groups_of_one_case_are_no_groups() -> None:
    names = [f"case {number}" for number in range(18)]
    result = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED, names[:6], names[6:])
    plain = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED)
    assert result.estimate.low == pytest.approx(plain.estimate.low, abs=1e-12)
    assert result.worth == pytest.approx(plain.worth)


def test_the_order_of_the_cases_does_not_matter() -> None:
    found = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED, "aabbcd", "ccddeeffgghh")
    turned = prediction_powered_mean(HUMAN[::-1], LABELLED[::-1], UNLABELLED[::-1], "dcbbaa", "hhggffeeddcc")
    assert (turned.estimate.low, turned.estimate.high, turned.weight) == pytest.approx(
        (found.estimate.low, found.estimate.high, found.weight), abs=1e-12
    )


@pytest.mark.parametrize(
    ("judge", "others"),
    [(LABELLED, []), ([0.1] * 6, [0.1] * 9)],
    ids=["no other cases", "a judge that says one thing"],
)
def test_without_anything_learnt_from_verdicts_the_labels_decide(judge: list[float], others: list[float]) -> None:
    found = prediction_powered_mean(HUMAN, judge, others)
    assert found.estimate == found.classical == mean(HUMAN)
    assert (found.weight, found.worth) == (0, 1)


def test_few_labels_have_the_classical_interval() -> None:
    two = prediction_powered_mean([1, 3], [1, 2], UNLABELLED)
    assert two.estimate == mean([1, 3])
    nothing = prediction_powered_mean([], [], UNLABELLED)
    assert math.isnan(nothing.estimate.value)
    assert nothing.judge_only == mean(UNLABELLED)
    grouped = prediction_powered_mean(HUMAN, LABELLED, UNLABELLED, "aaabbb", "ccccccdddddd")
    assert grouped.estimate == mean(HUMAN, "aaabbb")


def test_labels_that_never_vary_have_no_worth() -> None:
    found = prediction_powered_mean([1, 1, 1, 1], [1, 2, 1, 2], [2, 2, 1, 1])
    assert (found.estimate.low, found.estimate.high) == (1, 1)
    assert math.isnan(found.worth)


def test_every_label_has_a_verdict_and_every_case_a_group() -> None:
    with pytest.raises(DataError, match="one verdict for each label"):
        prediction_powered_mean([1, 2], [1], [1, 2])
    with pytest.raises(DataError, match="2 and 0 groups for 2 and 3 cases"):
        prediction_powered_mean([1, 2], [1, 2], [1, 2, 3], "ab")
    with pytest.raises(DataError, match="3 and 2 groups for 2 and 3 cases"):
        prediction_powered_mean([1, 2], [1, 2], [1, 2, 3], "abc", "de")
