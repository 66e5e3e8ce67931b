"""Intervals of pairs of texts from different groups: equal to the known variances at both ends, and they cover."""

import itertools
import math

import numpy as np
import pytest

from dicast.stats.dyads import estimate_of_dyads
from dicast.stats.resampling import proportion


def share(counts):
    return counts[..., 1] / counts.sum(axis=-1)


def test_pairs_without_a_common_group_are_independent_pairs():
    hits = np.array([0, 1, 1, 1, 0, 1, 1, 0, 1, 1] * 6)
    groups = np.arange(len(hits))
    found = estimate_of_dyads(share, hits, 2, groups, groups + len(hits), bounds=(0, 1))
    assert found.value == proportion(hits).value == 0.7
    # the jackknife's variance of a mean is p (1 - p) / (n - 1)
    place = 0.5 + 0.5 * np.tanh(np.arctanh(2 * 0.7 - 1) + np.array([-1, 1]) * 1.98 * math.sqrt(0.21 / 59) / (2 * 0.21))
    assert (found.low, found.high) == pytest.approx(place, abs=2e-3)


def test_the_order_of_the_pairs_and_of_their_texts_changes_nothing():
    random = np.random.default_rng(1)
    hits, first, second = (random.integers(0, top, 80) for top in (2, 20, 20))
    order = random.permutation(80)
    found = estimate_of_dyads(share, hits, 2, first, second, bounds=(0, 1))
    assert estimate_of_dyads(share, hits[order], 2, second[order], first[order], bounds=(0, 1)) == found


def test_more_pairs_of_the_same_texts_do_not_make_an_interval_as_narrow_as_if_they_were_independent():
    random = np.random.default_rng(2)
    taste = random.normal(size=25)
    pairs = np.array(list(itertools.combinations(range(25), 2)))
    hits = (taste[pairs].sum(axis=1) > 0).astype(int)
    found = estimate_of_dyads(share, hits, 2, *pairs.T, bounds=(0, 1))
    assert found.high - found.low > 2 * (proportion(hits).high - proportion(hits).low)
    assert found.groups == 25


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    random, held, worlds = np.random.default_rng(3), 0, 300
    for _ in range(worlds):
        skill = random.normal(size=(60, 2)) @ np.array([[1, 0.5], [0, 1]])  # a human and a judge's score of 60 texts
        pairs = np.array(random.choice(list(itertools.combinations(range(60), 2)), 200, replace=False))
        agree = (np.diff(skill[pairs, 0]) > 0).ravel() == (np.diff(skill[pairs, 1]) > 0).ravel()
        found = estimate_of_dyads(share, agree.astype(int), 2, *pairs.T, bounds=(0, 1))
        truth = 0.5 + math.asin(0.5 / math.sqrt(1.25)) / math.pi  # of bivariate normal scores (Sheppard 1899)
        held += found.low <= truth <= found.high
    assert 0.91 < held / worlds <= 0.99  # 95 % and three standard errors


def test_no_pairs_and_one_group_have_no_interval():
    none = np.array([], dtype=int)
    assert math.isnan(estimate_of_dyads(share, none, 2, none, none, bounds=(0, 1)).value)
    same = np.zeros(5, dtype=int)
    assert math.isnan(estimate_of_dyads(share, np.array([0, 1, 1, 0, 1]), 2, same, same, bounds=(0, 1)).low)
