"""ECE, Brier score, log loss and reliability bins: scikit-learn, scipy, the sums written out, simulations."""

import math

import numpy as np
import pytest
from scipy.stats import foldnorm
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from dicast.errors import DataError, DeclarationError
from dicast.stats.calibration import (
    Scheme,
    brier,
    brier_binary,
    ece,
    ece_debiased,
    log_loss,
    log_losses,
    murphy,
    reliability_bins,
)

SEEDS = range(6)
NONE = np.array([]), np.array([], dtype=bool)


def verdicts(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Certainties of which every other seed has many ties and both ends of the scale."""
    random = np.random.default_rng(seed)
    confidence = random.beta(4, 2, size=n)
    if seed % 2:
        confidence = np.round(confidence, 1)
        confidence[:2] = 0.0, 1.0
    return confidence, random.random(n) < confidence**2


def stated(*groups: tuple[float, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Groups of (confidence, hits, n)."""
    confidence = np.concatenate([np.full(n, sure) for sure, _, n in groups])
    return confidence, np.concatenate([np.arange(n) < hits for _, hits, n in groups])


# reliability bins and ECE


def test_the_error_of_two_bins_by_hand() -> None:
    # |8/10 - .95| and |6/10 - .55|, half of the verdicts each
    assert ece(*stated((0.95, 8, 10), (0.55, 6, 10))) == pytest.approx((0.15 + 0.05) / 2, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bins", [1, 2, 10, 15])
@pytest.mark.parametrize(("scheme", "strategy"), [("width", "uniform"), ("mass", "quantile")])
def test_bins_are_those_of_scikit_learn(seed: int, bins: int, scheme: Scheme, strategy: str) -> None:
    confidence, correct = verdicts(seed)
    found = reliability_bins(confidence, correct, bins, scheme)
    accuracy, mean = calibration_curve(correct, confidence, n_bins=bins, strategy=strategy)
    np.testing.assert_allclose([one.accuracy for one in found], accuracy, atol=1e-12)
    np.testing.assert_allclose([one.confidence for one in found], mean, atol=1e-12)
    assert sum(one.n for one in found) == len(confidence)
    assert sum(one.hits for one in found) == correct.sum()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bins", [1, 5, 10, 20])
def test_the_error_is_the_sum_of_the_textbook(seed: int, bins: int) -> None:
    # Guo et al. 2017, section 2: bin m is ((m - 1) / M, m / M]; 0 goes to the first
    confidence, correct = verdicts(seed)
    total = 0.0
    for m in range(1, bins + 1):
        inside = [
            (sure, right)
            for sure, right in zip(confidence, correct, strict=True)
            if (m - 1) / bins < round(sure, 15) <= m / bins or (m == 1 and sure == 0)
        ]
        if inside:
            accuracy = sum(right for _, right in inside) / len(inside)
            total += len(inside) / len(confidence) * abs(accuracy - sum(sure for sure, _ in inside) / len(inside))
    assert ece(confidence, correct, bins) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("scheme", ["width", "mass"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_verdicts_changes_nothing(seed: int, scheme: Scheme) -> None:
    confidence, correct = verdicts(seed)
    order = np.random.default_rng(seed).permutation(len(confidence))
    for measure in (ece, ece_debiased):
        shuffled = measure(confidence[order], correct[order], 7, scheme)
        assert shuffled == pytest.approx(measure(confidence, correct, 7, scheme), abs=1e-12)


def test_equal_certainties_share_a_bin() -> None:
    confidence, correct = stated((0.8, 60, 90), (0.9, 10, 10))
    assert [one.n for one in reliability_bins(confidence, correct, 10, "mass")] == [90, 10]
    assert [one.n for one in reliability_bins(np.full(9, 0.5), np.ones(9, dtype=bool), 10, "mass")] == [9]


def test_a_judge_that_is_always_right_and_sure_has_no_error() -> None:
    confidence, correct = stated((1.0, 5, 5))
    (only,) = reliability_bins(confidence, correct)
    assert (only.low, only.high, only.n, only.difference) == (0.9, 1.0, 5, 0.0)
    assert [ece(confidence, correct), ece_debiased(confidence, correct)] == [0.0, 0.0]
    assert ece(confidence, ~correct) == 1.0


def test_without_verdicts_there_is_no_figure() -> None:
    assert reliability_bins(*NONE) == []
    figures = [ece(*NONE), ece_debiased(*NONE), brier_binary(*NONE), murphy(*NONE).reliability]
    nothing = np.empty((0, 3)), np.array([], dtype=np.int64)
    assert all(map(math.isnan, [*figures, brier(*nothing), log_loss(*nothing)]))


# debiased ECE


def test_the_debiased_error_is_that_of_kumar_and_others() -> None:
    # verified_calibration ee81c34, normal_debiased_ce(data, power=1), 1,000,000 draws: .04704, standard error .00002;
    # their plain error of the same bins is .07
    confidence, correct = stated((0.55, 14, 20), (0.65, 12, 20), (0.8, 33, 40), (0.95, 17, 20))
    assert ece(confidence, correct) == pytest.approx(0.07, abs=1e-12)
    assert ece_debiased(confidence, correct) == pytest.approx(0.04704, abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scheme", ["width", "mass"])
def test_the_mean_distance_is_that_of_scipys_folded_normal(seed: int, scheme: Scheme) -> None:
    confidence, correct = verdicts(seed)
    total = 0.0
    for one in reliability_bins(confidence, correct, 10, scheme):
        spread = math.sqrt(one.accuracy * (1 - one.accuracy) / one.n)
        seen = abs(one.accuracy - one.confidence)
        total += one.n * (2 * seen - (foldnorm.mean(seen / spread, scale=spread) if spread else seen))
    assert ece_debiased(confidence, correct, 10, scheme) == pytest.approx(max(total / 300, 0), abs=1e-9)


def test_a_judge_of_perfect_calibration_has_an_error_by_chance_that_is_mended() -> None:
    random = np.random.default_rng(0)
    plain, mended = [], []
    for _ in range(300):
        confidence = random.uniform(0.5, 1, size=200)
        correct = random.random(200) < confidence
        plain.append(ece(confidence, correct))
        mended.append(ece_debiased(confidence, correct))
    assert np.mean(plain) > 0.045
    assert np.mean(mended) < 0.65 * np.mean(plain)


def test_the_error_of_a_judge_that_is_too_sure_is_found_at_its_size() -> None:
    # it says the chance with doubled log-odds; the mean distance, .0966, is that of a million verdicts
    random = np.random.default_rng(1)
    plain, mended = [], []
    for _ in range(300):
        chance = random.uniform(0.5, 1, size=200)
        confidence = chance**2 / (chance**2 + (1 - chance) ** 2)
        correct = random.random(200) < chance
        plain.append(ece(confidence, correct))
        mended.append(ece_debiased(confidence, correct))
    assert abs(np.mean(mended) - 0.0966) < 0.005 < np.mean(plain) - 0.0966


# Brier score


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_scores_of_distributions_are_those_of_scikit_learn(seed: int, k: int) -> None:
    random = np.random.default_rng(seed)
    distribution = random.dirichlet(np.ones(k), size=100)
    labels = random.integers(k, size=100)
    classes = list(range(k))
    expected = brier_score_loss(
        labels, distribution if k > 2 else distribution[:, 1], labels=classes, scale_by_half=False
    )
    assert brier(distribution, labels) == pytest.approx(expected, abs=1e-9)
    assert log_loss(distribution, labels) == pytest.approx(
        sklearn_log_loss(labels, distribution, labels=classes), abs=1e-9
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_score_of_two_classes_is_twice_the_binary_one(seed: int) -> None:
    confidence, correct = verdicts(seed)
    binary = brier_binary(confidence, correct)
    assert binary == pytest.approx(brier_score_loss(correct, confidence), abs=1e-9)
    both = brier(np.stack([1 - confidence, confidence], axis=1), correct.astype(np.int64))
    assert both == pytest.approx(2 * binary, abs=1e-9)


def test_the_ends_of_the_brier_score() -> None:
    sure = np.eye(3)
    assert brier(sure, np.arange(3)) == 0
    assert brier(sure, np.array([1, 2, 0])) == 2
    assert brier_binary(np.full(4, 0.5), np.array([True, False, True, True])) == 0.25


def test_the_parts_of_the_score_by_hand() -> None:
    # Murphy 1973: at .9 8 of 10 are right, at .6 4 of 10; 12 of 20 of all
    parts = murphy(*stated((0.9, 8, 10), (0.6, 4, 10)))
    assert parts.reliability == pytest.approx((0.1**2 + 0.2**2) / 2, abs=1e-12)
    assert parts.resolution == pytest.approx(0.2**2, abs=1e-12)
    assert parts.uncertainty == pytest.approx(0.6 * 0.4, abs=1e-12)
    assert parts.within_bins == 0.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bins", [None, 1, 5, 10])
def test_the_parts_add_up_to_the_score(seed: int, bins: int | None) -> None:
    confidence, correct = verdicts(seed)
    parts = murphy(confidence, correct, bins)
    whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    assert whole == pytest.approx(brier_score_loss(correct, confidence), abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_bins_lose_is_the_variance_less_the_covariance_within(seed: int) -> None:
    # Stephenson, Coelho and Jolliffe 2008: mean over bins of var(forecast) - 2 cov(forecast, outcome)
    confidence, correct = verdicts(seed)
    edges = [(one.low, one.high) for one in reliability_bins(confidence, correct, 5, "mass")]
    lost = 0.0
    for at, (low, high) in enumerate(edges):
        inside = ((confidence > low) | (at == 0)) & (confidence <= high)
        covariance = np.cov(confidence[inside], correct[inside], ddof=0)
        lost += inside.sum() / len(confidence) * (covariance[0, 0] - 2 * covariance[0, 1])
    assert murphy(confidence, correct, 5).within_bins == pytest.approx(lost, abs=1e-9)


def test_a_constant_forecast_has_no_resolution() -> None:
    parts = murphy(*stated((0.7, 5, 10)))
    assert (parts.resolution, parts.uncertainty) == (0.0, 0.25)
    assert parts.reliability == pytest.approx(0.04, abs=1e-12)


# log loss


def test_a_label_that_was_ruled_out_costs_a_finite_price() -> None:
    distribution = np.array([[1.0, 0.0], [0.5, 0.5]])
    labels = np.array([1, 0])
    expected = (-math.log(np.finfo(float).eps) + math.log(2)) / 2
    assert log_loss(distribution, labels) == pytest.approx(expected, abs=1e-12)
    assert expected * 2 - math.log(2) == pytest.approx(36.04, abs=0.01)
    assert log_loss(distribution, labels) == pytest.approx(sklearn_log_loss(labels, distribution), abs=1e-9)


def test_each_verdict_costs_the_logarithm_of_what_its_label_was_given() -> None:
    losses = log_losses(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), np.array([2, 2]))
    assert losses == pytest.approx([math.log(5), math.log(1.25)], abs=1e-12)


def test_knowing_nothing_costs_the_logarithm_of_the_classes() -> None:
    assert log_loss(np.full((5, 3), 1 / 3), np.array([0, 1, 2, 1, 0])) == pytest.approx(math.log(3), abs=1e-12)


# what is refused


@pytest.mark.parametrize("certainty", [-0.1, 1.1, 80.0, math.nan])
@pytest.mark.parametrize("measure", [ece, ece_debiased, brier_binary, murphy, reliability_bins])
def test_a_certainty_outside_of_its_range_is_refused(measure, certainty: float) -> None:
    with pytest.raises(DataError, match=rf"certainty {certainty} is not in \[0, 1\]\. Leave out"):
        measure(np.array([0.5, certainty]), np.array([True, False]))


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(DataError, match=r"shapes \(2,\) and \(1,\)"):
        ece(np.array([0.5, 0.6]), np.array([True]))
    with pytest.raises(DataError, match=r"brier: shapes \(2, 3\) and \(1,\)"):
        brier(np.full((2, 3), 1 / 3), np.array([0]))


def test_no_bins_and_unknown_schemes_are_refused() -> None:
    with pytest.raises(DeclarationError, match="bins=0. Ask for at least 1"):
        ece(np.array([0.5]), np.array([True]), bins=0)
    with pytest.raises(DeclarationError, match="scheme='quantile' is not known. Use 'width' or 'mass'"):
        ece(np.array([0.5]), np.array([True]), scheme="quantile")  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [[0.5, 0.4], [1.2, -0.2], [math.nan, 1.0]])
def test_a_row_that_is_no_distribution_is_refused(row: list[float]) -> None:
    with pytest.raises(DataError, match="is no distribution"):
        log_loss(np.array([[0.5, 0.5], row]), np.array([0, 1]))


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_that_is_no_column_is_refused(label: int) -> None:
    with pytest.raises(DataError, match=f"label {label} is none of the 2 columns"):
        brier(np.array([[0.5, 0.5]]), np.array([label]))
