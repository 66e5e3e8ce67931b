"""Probes: from the many numbers of a source of evidence, such as a hidden state, to one number a candidate.

A head of four hundred labels cannot weigh 1,536 numbers beside its own few: the penalty that the many need drowns the
few. So a probe turns each block of evidence into one score first, and the head weighs the scores (stacked
generalisation: Wolpert 1992; Breiman 1996). What a probe is fitted to depends on the cases:

    pairs     odd ridge logistic regression on the difference of the two candidates, a tie being half a win
    choices   the same on the differences of every two options of which people chose one
    texts     ridge regression on the text's vector; every aspect has its level, and the weights are common; of two
              categories on the proportion that says the positive one, which orders texts as a logistic one would

Each column is divided by its root mean square over the training rows, and all by the root of their number, so that one
penalty means the same for every source. It is the penalty with the lowest loss over the folds of the fit, each fold
read by the probe without it.
"""

from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from .ridge_paths import logistic_losses, odd_logistic_path, squares_path

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Vector = NDArray[np.float32]
Vectors = NDArray[np.floating]
Folds = frozenset[int]

PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # of weights of columns of mean square 1 / width
LEAST_FOLDS = 4  # two are left out to choose and to calibrate on, one for the probe's own scores, one to fit to


class ProbeTask(Protocol):
    """What a probe is fitted to: rows computed from the vectors of n cases."""

    def path(self, chosen: Flags) -> Floats:
        """The (penalties, width) weights fitted to the cases that `chosen` (n,) marks."""
        ...

    def losses(self, weights: Floats, chosen: Flags) -> Floats:
        """The (penalties,) summed losses on the cases that `chosen` (n,) marks."""
        ...


@dataclass(frozen=True)
class Preferences:
    """Pairs of candidates of which people prefer one, for odd logistic regression.

    Attributes:
        x: (r, width) the first candidate's vector less the second's.
        target: (r,) the proportion that prefers the first.
        counts: (r,) how many observations a row counts for, above 0.
        case: (r,) the case of each row.
    """

    x: Floats
    target: Floats
    counts: Floats
    case: Codes

    def path(self, chosen: Flags) -> Floats:
        rows = chosen[self.case]
        x = self.x[rows]
        scale = column_scale(x)
        return odd_logistic_path(x / scale, self.target[rows], self.counts[rows], PENALTIES) / scale

    def losses(self, weights: Floats, chosen: Flags) -> Floats:
        rows = chosen[self.case]
        by_row = logistic_losses(self.x[rows] @ weights.T, self.target[rows, None])
        return np.asarray(self.counts[rows] @ by_row)


@dataclass(frozen=True)
class ScoredTexts:
    """Scored texts, for ridge regression within aspects.

    Attributes:
        x: (n, width).
        y: (n,) people's scores.
        counts: (n,) how many observations a text counts for, above 0.
        aspect: (n,) codes.
    """

    x: Floats
    y: Floats
    counts: Floats
    aspect: Codes

    def path(self, chosen: Flags) -> Floats:
        x, y = self._centred(chosen)
        scale, unit = column_scale(x), float(np.sqrt(np.square(y).mean())) or 1.0
        return squares_path(x / scale, y / unit, self.counts[chosen], PENALTIES) / scale * unit

    def losses(self, weights: Floats, chosen: Flags) -> Floats:
        """Squared errors about the aspect's own means, as the head beside it finds the levels."""
        x, y = self._centred(chosen)
        return np.asarray(self.counts[chosen] @ np.square(y[:, None] - x @ weights.T))

    def _centred(self, chosen: Flags) -> tuple[Floats, Floats]:
        """The marked rows of x and y, less the means of their aspect."""
        x, y, aspect = self.x[chosen], self.y[chosen], self.aspect[chosen]
        for code in np.unique(aspect):
            rows = aspect == code
            x[rows] -= x[rows].mean(axis=0)
            y[rows] -= y[rows].mean()
        return x, y


class CrossFittedProbe:
    """The probes of one block of evidence, fitted without every up to three folds.

    Attributes:
        penalty: by the folds that were left out, at most two of them, the penalty of the probe.
    """

    def __init__(self, task: ProbeTask, vectors: Floats, exists: Flags, fold: Codes) -> None:
        """
        Args:
            task: what a probe is fitted to.
            vectors: (n, k, width), of the k candidates of every case.
            exists: (n, k), which candidates a case has.
            fold: (n,) 0 .. 3 at least.
        """
        self._vectors, self._exists, self._fold = vectors, exists, fold
        self._count = int(fold.max()) + 1
        # On busy cores the threads of a product wait for each other: 20 times as long was measured on two.
        with threadpool_limits(1, user_api="blas"):
            self._paths = {folds: task.path(self._seen(folds)) for size in range(4) for folds in self._left_out(size)}
            self._best = {folds: self._choice(task, folds) for size in range(3) for folds in self._left_out(size)}
        self.penalty = {folds: PENALTIES[best] for folds, best in self._best.items()}

    def weights(self, folds: Folds, like: Folds | None = None) -> tuple[Vector, Vector]:
        """The (width,) weights, and the centre of the candidates, of the probe without some folds.

        Args:
            folds: left out.
            like: whose penalty it has; None: its own.
        """
        w = self._paths[folds][self._best[folds if like is None else like]]
        seen = self._exists & self._seen(folds)[:, None]
        return w.astype(np.float32), self._vectors[seen].mean(axis=0).astype(np.float32)

    def scores(self, folds: Folds) -> Floats:
        """The (n, k) scores for the fit of a head without some folds, at most two: cases of these by the probe without
        these folds, and a case of another fold by the probe without its fold too, with the same penalty.

        So the head learns how much a score is worth on cases that its probe did not see.
        """
        scores = self._read(folds, folds, np.isin(self._fold, list(folds)))
        for k in set(range(self._count)) - folds:
            scores += self._read(folds | {k}, folds, self._fold == k)
        return scores

    def calibrating(self, folds: Folds) -> Floats:
        """The (n, k) scores that the heads without some folds, at most one, and another give the cases of the other."""
        scores = np.zeros(self._exists.shape)
        for k in set(range(self._count)) - folds:
            scores += self._read(folds | {k}, folds | {k}, self._fold == k)
        return scores

    def _read(self, folds: Folds, like: Folds, rows: Flags) -> Floats:
        weights, centre = self.weights(folds, like)
        scores = np.zeros(self._exists.shape)
        scores[rows] = read_linear(self._vectors[rows], weights, centre) * self._exists[rows]
        return scores

    def _choice(self, task: ProbeTask, folds: Folds) -> int:
        """The place of the penalty with the lowest loss on the folds that are not left out."""
        others = set(range(self._count)) - folds
        return int(np.sum([task.losses(self._paths[folds | {k}], self._fold == k) for k in others], axis=0).argmin())

    def _left_out(self, size: int) -> list[Folds]:
        return [frozenset(folds) for folds in combinations(range(self._count), size)]

    def _seen(self, folds: Folds) -> Flags:
        return np.asarray(~np.isin(self._fold, list(folds)))


def read_linear(vectors: Vectors, weights: Vector, centre: Vector) -> Floats:
    """The (...) scores of (..., width) vectors."""
    scores: Floats = (vectors.astype(np.float64) - centre) @ weights.astype(np.float64)
    return scores


def column_scale(x: Floats) -> Floats:
    """The (width,) root mean squares of the (n, width) columns times the root of their number; 1 for a column of 0."""
    size = np.sqrt(np.square(x).mean(axis=0) * x.shape[1])
    return np.where(size > 0, size, 1.0)


def compared_pairs(vectors: Floats, proportions: Floats) -> Preferences:
    """The comparisons of n pairs; a tie is half a win of each.

    Args:
        vectors: (n, 2, width).
        proportions: (n, 3) of a, b and tie.
    """
    target = proportions[:, 0] + proportions[:, 2] / 2
    return Preferences(vectors[:, 0] - vectors[:, 1], target, np.ones(len(target)), np.arange(len(target)))


def compared_options(vectors: Floats, proportions: Floats, exists: Flags) -> Preferences:
    """The comparisons of the options of n cases: every two of which people chose one, so that a case counts once.

    Args:
        vectors: (n, k, width).
        proportions: (n, k) of the votes.
        exists: (n, k), which options a case has.
    """
    parts = []
    options = exists.sum(axis=1)
    for first, second in combinations(range(vectors.shape[1]), 2):
        votes = proportions[:, first] + proportions[:, second]
        rows = np.flatnonzero(exists[:, first] & exists[:, second] & (votes > 0))
        x = vectors[rows, first] - vectors[rows, second]
        parts.append((x, proportions[rows, first] / votes[rows], votes[rows] / (options[rows] - 1), rows))
    x, target, counts, case = map(np.concatenate, zip(*parts, strict=True))
    return Preferences(x, target, counts, case)
