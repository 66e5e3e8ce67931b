"""Precision and recall over all thresholds, against scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, precision_recall_curve

from dicast.errors import DataError
from dicast.stats.agreement import balanced_accuracy, confusion
from dicast.stats.precision_recall import average_precision, precision_recall


def drawn(seed: int, n: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities with ties on every other seed, and labels that follow them."""
    random = np.random.default_rng(seed)
    probability = random.random(n)
    positive = random.random(n) < 0.2 + 0.5 * probability
    return np.round(probability, 1) if seed % 2 else probability, positive


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_and_its_mean_are_those_of_scikit_learn(seed: int) -> None:
    probability, positive = drawn(seed)
    curve = precision_recall(probability, positive)
    precision, recall, threshold = precision_recall_curve(positive, probability)
    np.testing.assert_allclose(curve.threshold, threshold[::-1])
    np.testing.assert_allclose(curve.precision, precision[-2::-1])
    np.testing.assert_allclose(curve.recall, recall[-2::-1])
    assert average_precision(probability, positive) == pytest.approx(average_precision_score(positive, probability))


def test_order_does_not_matter_and_recall_rises_to_one() -> None:
    probability, positive = drawn(1)
    mixed = np.random.default_rng(0).permutation(len(positive))
    assert average_precision(probability[mixed], positive[mixed]) == average_precision(probability, positive)
    curve = precision_recall(probability, positive)
    assert (np.diff(curve.recall) >= 0).all()
    assert (curve.recall[-1], curve.passed[-1], curve.hits[-1]) == (1, 150, positive.sum())


def test_without_a_positive_case_there_is_no_recall() -> None:
    assert math.isnan(average_precision(np.array([0.5, 0.2]), np.array([False, False])))
    assert math.isnan(average_precision(np.array([]), np.array([], dtype=bool)))
    with pytest.raises(DataError, match="certainty"):
        precision_recall(np.array([1.5]), np.array([True]))


@pytest.mark.parametrize("k", [2, 5])
def test_balanced_accuracy_is_that_of_scikit_learn(k: int) -> None:
    random = np.random.default_rng(k)
    human = random.integers(0, k, 90)
    judge = np.where(random.random(90) < 0.6, human, random.integers(0, k, 90))
    expected = balanced_accuracy_score(human, judge)
    assert balanced_accuracy(confusion(human, judge, k)) == pytest.approx(expected)
    more = confusion(human, judge, k + 1)  # a category that people never use does not count
    assert balanced_accuracy(more) == pytest.approx(expected)
