"""Partial pooling: weights that all people share plus a deviation of each, with a penalty that draws it to zero.

For the row i of the person p, f_i = (w + d_p) . x_i. The weights minimise

    sum_i c_i loss(f_i, y_i)  +  penalty / 2 (|w|^2  +  sum_p |d_p|^2 / ratio)

which is a kernel method with the kernel x_i . x_j + ratio [same person] x_i . x_j (regularised multi-task learning:
Evgeniou and Pontil 2004, KDD, section 2). At ratio 0 nobody deviates; as ratio grows with penalty = ratio x c, each
person is fitted alone with the penalty c. The loss is the logistic one of a proportion, log(1 + e^f) - y f, without an
intercept, so that exchanged pairs change no weight; or half the square of y - f.

A person who comes later is fitted with w held fixed, from a kernel of as many rows as that person has labels.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Loss = Literal["logistic", "squares"]

NEAR = 1e-9  # of the objective by which a Newton step may still fall
STEPS, HALVINGS = 50, 40
LEAST_CURVATURE = 1e-12
NOBODY = -1  # the code of a row without a known person, which has the shared weights


def pooled_kernel(x: Floats, people: Codes, ratio: float) -> Floats:
    """The (n, n) kernel of partial pooling.

    Args:
        x: (n, width).
        people: (n,) codes; rows with `NOBODY` share no deviation with any other.
        ratio: the variance of a deviation over that of the shared weights, 0 or more.
    """
    products = x @ x.T
    if not ratio:
        return products
    same = (people[:, None] == people[None, :]) & (people != NOBODY)
    pooled: Floats = products * (1.0 + ratio * same)
    return pooled


def dual_coefficients(
    kernel: Floats,
    target: Floats,
    counts: Floats,
    penalty: float,
    loss: Loss,
    *,
    offset: Floats | None = None,
    start: Floats | None = None,
) -> Floats:
    """The (n,) coefficients a of the minimum, where f = offset + kernel a.

    Args:
        kernel: (n, n), positive semidefinite.
        target: (n,) proportions in [0, 1] for the logistic loss, else numbers.
        counts: (n,) how many observations a row counts for, above 0.
        penalty: above 0.
        offset: (n,) what is known of f beforehand; None: nothing.
        start: (n,) coefficients to begin at; None: 0.
    """
    fixed = np.zeros(len(target)) if offset is None else offset
    if loss == "squares":
        return np.asarray(cho_solve(cho_factor(_plus(kernel, penalty / counts)), target - fixed))
    a = np.zeros(len(target)) if start is None else start
    moved = kernel @ a
    value = _objective(moved, a, fixed, target, counts, penalty)
    for _ in range(STEPS):
        share = _logistic(fixed + moved)
        curvature = np.maximum(counts * share * (1 - share), LEAST_CURVATURE)
        right = counts * (target - share) + curvature * moved
        root = np.sqrt(curvature)
        inner = cho_factor(_plus(root[:, None] * kernel * root, penalty))
        aim = (right - root * cho_solve(inner, root * (kernel @ right))) / penalty
        pace, before = 1.0, value
        for _ in range(HALVINGS):
            tried = a + pace * (aim - a)
            moved_tried = kernel @ tried
            value = _objective(moved_tried, tried, fixed, target, counts, penalty)
            if value <= before:
                break
            pace /= 2
        else:
            return a
        a, moved = tried, moved_tried
        if before - value <= NEAR * max(1.0, abs(value)):
            break
    return a


def shared_weights(x: Floats, a: Floats) -> Floats:
    """The (width,) weights w of the coefficients a."""
    return np.asarray(a @ x)


def deviations(x: Floats, a: Floats, people: Codes, ratio: float) -> dict[int, Floats]:
    """The (width,) deviation of each person who has rows, by code."""
    known = [int(code) for code in np.unique(people) if code != NOBODY]
    return {code: ratio * (a[people == code] @ x[people == code]) for code in known}


def deviation_of_one(
    x: Floats, target: Floats, counts: Floats, weights: Floats, penalty: float, ratio: float, loss: Loss
) -> Floats:
    """The (width,) deviation of one person from weights that are held fixed.

    Args:
        x: (k, width) the person's rows; none give no deviation.
        target: (k,).
        counts: (k,).
        weights: (width,) shared.
        penalty: of the shared weights.
        ratio: 0 gives no deviation.
    """
    if not ratio or not len(x):
        return np.zeros(len(weights))
    a = dual_coefficients(ratio * (x @ x.T), target, counts, penalty, loss, offset=x @ weights)
    return ratio * (a @ x)


def row_losses(f: Floats, target: Floats, loss: Loss) -> Floats:
    """The loss of each row, not weighted by its count."""
    if loss == "squares":
        return np.asarray(np.square(target - f) / 2)
    return np.asarray(np.logaddexp(0.0, f) - target * f)


def folds_within(people: Sequence[str], questions: Sequence[str], count: int, seed: int) -> Codes:
    """The (n,) fold of each row: each person's questions are dealt out to `count` folds, and a question stays whole.

    Equal questions of different people are in the same fold as well, so that no answer is known from another person.
    """
    random = np.random.default_rng(seed)
    names = sorted(set(questions))
    place = dict(zip(names, random.permutation(len(names)), strict=True))
    fold: dict[str, int] = {}
    filled: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
    for person, question in sorted(set(zip(people, questions, strict=True)), key=lambda row: (place[row[1]], row)):
        sizes = filled.setdefault(person, np.zeros(count, dtype=np.int64))
        if question not in fold:
            fewest = np.flatnonzero(sizes == sizes.min())
            fold[question] = int(fewest[random.integers(len(fewest))])
        sizes[fold[question]] += 1
    return np.array([fold[question] for question in questions], dtype=np.int64)


def _objective(moved: Floats, a: Floats, fixed: Floats, target: Floats, counts: Floats, penalty: float) -> float:
    return float(counts @ row_losses(fixed + moved, target, "logistic") + penalty / 2 * (a @ moved))


def _logistic(f: Floats) -> Floats:
    return np.asarray((1 + np.tanh(f / 2)) / 2)


def _plus(kernel: Floats, diagonal: Floats | float) -> Floats:
    sums = kernel.copy()
    sums.flat[:: len(sums) + 1] += diagonal
    return sums
