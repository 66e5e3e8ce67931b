"""Probes: the regressions are those of scikit-learn, exchanges cancel bit for bit, and no row is read by a probe that
saw it."""

import time

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from dicast.optimizers.head.probe import (
    LEAST_FOLDS,
    PENALTIES,
    CrossFittedProbe,
    ScoredTexts,
    column_scale,
    compared_options,
    compared_pairs,
    read_linear,
)
from dicast.optimizers.head.ridge_paths import logistic_losses, odd_logistic_path, squares_path

GRID = (10.0, 1.0, 0.1)
SHAPES = [(40, 90), (90, 40)]  # more columns than rows, and fewer


def world(n: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(n, width) rows, (n,) targets of 0, 1/2 and 1 that depend on them, and (n,) counts."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, width)) / np.sqrt(width)
    margin = x @ random.normal(size=width) * 2 + random.logistic(size=n)
    target = np.where(np.abs(margin) < 0.3, 0.5, margin > 0)
    return x, target, random.uniform(0.5, 2, size=n)


def pairs_of(n: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(n, 2, width) vectors, and (n, 3) votes for a, b and tie."""
    x, target, _ = world(n, width, seed)
    other = np.random.default_rng(seed + 1).normal(size=x.shape)
    return np.stack([other + x, other], axis=1), np.stack([target == 1, target == 0, target == 0.5], axis=1) * 1.0


@pytest.mark.parametrize("shape", SHAPES)
def test_the_logistic_path_is_that_of_scikit_learn(shape: tuple[int, int]) -> None:
    """A target of one half is a win of each of half the weight; scikit-learn's C is one over the penalty."""
    x, target, counts = world(*shape)
    for penalty, w in zip(GRID, odd_logistic_path(x, target, counts, GRID), strict=True):
        model = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=10_000)
        both, weights = np.repeat([1, 0], len(x)), np.concatenate([counts * target, counts * (1 - target)])
        model.fit(np.vstack([x, x]), both, sample_weight=weights)
        np.testing.assert_allclose(w, model.coef_[0], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_squares_path_is_that_of_scikit_learn(shape: tuple[int, int]) -> None:
    x, y, counts = world(*shape)
    for penalty, w in zip(GRID, squares_path(x, y, counts, GRID), strict=True):
        model = Ridge(alpha=penalty, fit_intercept=False).fit(x, y, sample_weight=counts)
        np.testing.assert_allclose(w, model.coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_exchanged_rows_leave_the_weights_unchanged_bit_for_bit(shape: tuple[int, int]) -> None:
    x, target, counts = world(*shape)
    exchanged = np.random.default_rng(1).random(len(x)) < 0.5
    sign = np.where(exchanged, -1.0, 1.0)
    other = odd_logistic_path(x * sign[:, None], np.where(exchanged, 1 - target, target), counts, GRID)
    np.testing.assert_array_equal(other, odd_logistic_path(x, target, counts, GRID))


def test_separable_rows_at_a_tiny_penalty_end_at_the_minimum() -> None:
    """Full Newton steps from 0 overshoot where rows are large; halved ones descend."""
    x, _, counts = world(30, 60)
    x, target = 1e3 * x, (x[:, 0] > 0).astype(np.float64)
    (w,) = odd_logistic_path(x, target, counts, [1e-3])
    slope = (counts * (1 / (1 + np.exp(-x @ w)) - target)) @ x + 1e-3 * w
    assert np.abs(slope).max() < 1e-4
    assert ((x @ w > 0) == target).all()


def test_a_probe_does_not_change_with_the_unit_of_its_columns() -> None:
    vectors, votes = pairs_of(60, 20)
    unit = np.geomspace(1e-3, 1e3, 20)
    everything = np.ones(60, dtype=np.bool_)
    path = compared_pairs(vectors, votes).path(everything)
    np.testing.assert_allclose(compared_pairs(vectors * unit, votes).path(everything) * unit, path, rtol=1e-6)
    assert path.shape == (len(PENALTIES), 20)


def test_no_score_is_by_a_probe_that_saw_the_case() -> None:
    """The label of a case moves the scores of others, and never its own, whatever is left out."""
    vectors, votes = pairs_of(60, 30)
    fold = np.arange(60) % 5
    exists = np.ones((60, 2), dtype=np.bool_)
    changed = votes.copy()
    changed[0] = votes[0, [1, 0, 2]] if votes[0, 2] == 0 else [1, 0, 0]
    before = CrossFittedProbe(compared_pairs(vectors, votes), vectors, exists, fold)
    after = CrossFittedProbe(compared_pairs(vectors, changed), vectors, exists, fold)
    for folds in (frozenset({0}), frozenset({0, 1})):  # the case is in fold 0, so its label is not seen at all
        np.testing.assert_array_equal(before.scores(folds), after.scores(folds))
    like = frozenset({0, 3})
    weights = before.weights(like)
    rows = fold == 0
    np.testing.assert_array_equal(after.calibrating(frozenset({3}))[rows], read_linear(vectors[rows], *weights))
    assert (before.scores(frozenset({1})) != after.scores(frozenset({1}))).any()


def test_the_score_of_a_training_case_is_by_the_probe_without_its_fold() -> None:
    vectors, votes = pairs_of(60, 30)
    fold = np.arange(60) % LEAST_FOLDS
    probe = CrossFittedProbe(compared_pairs(vectors, votes), vectors, np.ones((60, 2), dtype=np.bool_), fold)
    everything = frozenset[int]()
    scores = probe.scores(everything)
    for k in range(LEAST_FOLDS):
        weights = probe.weights(frozenset({k}), like=everything)
        np.testing.assert_array_equal(scores[fold == k], read_linear(vectors[fold == k], *weights))


def test_the_penalty_has_the_lowest_loss_out_of_fold() -> None:
    """Recomputed with scikit-learn's regressions for every penalty and fold."""
    vectors, votes = pairs_of(80, 10)
    fold = np.arange(80) % 4
    probe = CrossFittedProbe(compared_pairs(vectors, votes), vectors, np.ones((80, 2), dtype=np.bool_), fold)
    x, target = vectors[:, 0] - vectors[:, 1], votes[:, 0] + votes[:, 2] / 2
    losses = []
    for penalty in PENALTIES:
        loss = 0.0
        for k in range(4):
            seen, scale = fold != k, column_scale(x[fold != k])
            model = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-8, max_iter=10_000)
            weights = np.concatenate([target[seen], 1 - target[seen]])
            model.fit(np.vstack([x[seen] / scale] * 2), np.repeat([1, 0], seen.sum()), sample_weight=weights)
            loss += logistic_losses(x[~seen] / scale @ model.coef_[0], target[~seen]).sum()
        losses.append(loss)
    assert probe.penalty[frozenset()] == PENALTIES[int(np.argmin(losses))]


def test_options_are_compared_where_people_chose_one_and_a_case_counts_once() -> None:
    vectors = np.arange(2 * 3 * 2.0).reshape(2, 3, 2) ** 2
    votes = np.array([[0, 1, 0], [0.5, 0.5, 0]])
    exists = np.array([[True, True, True], [True, True, False]])
    compared = compared_options(vectors, votes, exists)
    np.testing.assert_array_equal(compared.case, [0, 1, 0])  # options 0 and 1 of both cases, then 1 and 2 of the first
    np.testing.assert_array_equal(compared.target, [0, 0.5, 1])
    np.testing.assert_array_equal(compared.counts, [0.5, 1, 0.5])
    np.testing.assert_array_equal(compared.x[2], vectors[0, 1] - vectors[0, 2])


def test_the_level_of_an_aspect_is_no_evidence() -> None:
    """Scores of an aspect that are all higher by a constant, of texts that differ by a constant, give the same
    weights."""
    x, _, _ = world(60, 8)
    y = x @ np.arange(8.0) + np.random.default_rng(0).normal(size=60)
    aspect = np.arange(60) % 2
    shifted = ScoredTexts(x + 7.0 * aspect[:, None], y + 5.0 * aspect, np.ones(60), aspect)
    everything = np.ones(60, dtype=np.bool_)
    path = ScoredTexts(x, y, np.ones(60), aspect).path(everything)
    np.testing.assert_allclose(shifted.path(everything), path, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seconds"), [(600, 15), (3000, 60)])
def test_probes_of_hidden_states_take_seconds(n: int, seconds: float) -> None:
    start = time.process_time()
    vectors, votes = pairs_of(n, 1536)
    if n == 600:
        CrossFittedProbe(compared_pairs(vectors, votes), vectors, np.ones((n, 2), dtype=np.bool_), np.arange(n) % 5)
    else:
        task = ScoredTexts(vectors[:, 0], votes[:, 0], np.ones(n), np.zeros(n, dtype=np.int64))
        CrossFittedProbe(task, vectors[:, :1], np.ones((n, 1), dtype=np.bool_), np.arange(n) % 5)
    assert time.process_time() - start < seconds
