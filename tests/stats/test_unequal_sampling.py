"""Samples with known, unequal probabilities: exact inclusion, unbiased sums, and intervals that cover."""

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from dicast.errors import DataError, DeclarationError
from dicast.stats.unequal_sampling import inclusion_probabilities, systematic_sample, weighted_mean

Floats = NDArray[np.float64]


def starts(probabilities: Floats) -> Iterator[tuple[float, float]]:
    """A start in each range in which the sample is the same, with the length of the range: all samples there are."""
    edges = np.unique(np.concatenate([[0.0, 1.0], np.cumsum(probabilities) % 1.0]))
    for low, high in pairwise(edges):
        if high - low > 1e-12:
            yield float((low + high) / 2), float(high - low)


def sizes(seed: int, n: int = 60) -> Floats:
    return np.random.default_rng(seed).exponential(size=n) ** 2


def test_probabilities_are_a_mix_that_sums_to_the_sample() -> None:
    found = inclusion_probabilities([0, 1, 1, 2], 1, uniform=0.2)
    assert found == pytest.approx([0.05, 0.25, 0.25, 0.45])
    assert inclusion_probabilities([0, 0, 0, 0], 2) == pytest.approx([0.5] * 4)
    assert inclusion_probabilities([5, 0, 0], 3) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("n", [1, 7, 30, 59, 60])
@pytest.mark.parametrize("uniform", [0.1, 0.5, 1.0])
def test_no_case_is_impossible_and_none_counts_twice(n: int, uniform: float) -> None:
    found = inclusion_probabilities(sizes(1), n, uniform)
    assert found.sum() == pytest.approx(n)
    assert found.max() <= 1
    assert found.min() >= uniform * n / 60 - 1e-12


@pytest.mark.parametrize(("n", "seed"), [(1, 1), (5, 2), (17, 3), (45, 4)])
def test_every_case_is_included_as_often_as_its_probability(n: int, seed: int) -> None:
    probabilities = inclusion_probabilities(sizes(seed), n)
    included = np.zeros(60)
    for start, length in starts(probabilities):
        chosen = systematic_sample(probabilities, start)
        assert len(set(chosen.tolist())) == n
        included[chosen] += length
    assert included == pytest.approx(probabilities, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_weighted_sums_are_unbiased_where_plain_means_are_not(seed: int) -> None:
    expected_size = sizes(seed)
    values = expected_size + np.random.default_rng(seed + 50).normal(size=60)  # hard cases are sampled more often
    probabilities = inclusion_probabilities(expected_size, 12)
    weighted = plain = 0.0
    for start, length in starts(probabilities):
        chosen = systematic_sample(probabilities, start)
        weighted += length * float((values / probabilities)[chosen].sum()) / 60
        plain += length * float(values[chosen].mean())
    assert weighted == pytest.approx(values.mean(), abs=1e-9)
    assert abs(plain - values.mean()) > 0.3


def test_the_weighted_mean_has_little_bias_and_its_interval_covers() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 5)
    differ = rng.random(500) < 0.25
    right = np.where(differ, rng.random(500) < 0.5, rng.random(500) < 0.9).astype(float)
    probabilities = inclusion_probabilities(np.sqrt(differ), 100)
    errors, covered = [], 0
    for _ in range(600):
        order = np.lexsort((rng.permutation(100)[groups], ~differ))
        chosen = order[systematic_sample(probabilities[order], rng.random())]
        estimate = weighted_mean(right[chosen], probabilities[chosen], groups[chosen])
        errors.append(estimate.value - right.mean())
        covered += estimate.low <= right.mean() <= estimate.high
    assert abs(np.mean(errors)) < 0.2 * np.std(errors)
    assert 0.92 < covered / 600 < 0.99


def test_a_targeted_sample_measures_a_difference_better_than_a_uniform_sample() -> None:
    rng = np.random.default_rng(1)
    differ = rng.random(500) < 0.2
    difference = np.where(differ, np.where(rng.random(500) < 0.6, 1.0, -1.0), 0.0)
    spread = {}
    for uniform in (0.5, 1.0):
        probabilities = inclusion_probabilities(np.sqrt(differ), 80, uniform)
        values = []
        for _ in range(300):
            order = rng.permutation(500)
            chosen = order[systematic_sample(probabilities[order], rng.random())]
            values.append(weighted_mean(difference[chosen], probabilities[chosen]).value)
        spread[uniform] = np.std(values)
    assert spread[0.5] < 0.75 * spread[1.0]


def test_equal_weights_give_the_mean_and_the_standard_error_by_group() -> None:
    values = np.array([1.0, 0, 1, 1, 0, 1])
    found = weighted_mean(values, np.full(6, 0.3))
    assert found.value == pytest.approx(values.mean())
    half = 2.5706 * math.sqrt(((values - values.mean()) ** 2).sum() / 36 * 6 / 5)  # Student's t, 5 degrees of freedom
    assert found.high - found.value == pytest.approx(half, abs=1e-4)
    assert math.isnan(weighted_mean(values, np.full(6, 0.3), ["p"] * 6).low)
    assert math.isnan(weighted_mean([], []).value)


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(DeclarationError, match="5 of 4 cases cannot be sampled"):
        inclusion_probabilities([1, 1, 1, 1], 5)
    with pytest.raises(DeclarationError, match="uniform: 0 is not above 0"):
        inclusion_probabilities([1, 1], 1, 0)
    with pytest.raises(DataError, match="below 0 or not finite"):
        inclusion_probabilities([1, -1], 1)
    with pytest.raises(DataError, match="one probability above 0"):
        weighted_mean([1.0], [0.0])
