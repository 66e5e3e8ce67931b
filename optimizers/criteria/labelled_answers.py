"""Answers to questions beside people's labels, as arrays, and the loss of a question that is added to a model.

A model predicts a margin, a score or utilities; one more question adds a weight times its answers, where the weight is
found on the rows that a fold may use. The weight is never negative: a question counts in the direction in which it was
written, or not at all.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Scores
from ..head.likelihood import choices, fit_choices, fit_ordered, fit_squares_within, outcomes
from ..head.model_spec import label_indicators, soft_labels_of

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
PENALTY = 10.0  # prior precision of the standardised weight of an added question
STEPS = 12
LONGEST_STEP = 2.0  # of a standardised weight
LABELS = ("a", "b", "tie")
AT_ONCE = 64  # questions whose weights are found together


class LabelledAnswers(Protocol):
    """n labelled cases of one kind. Answers are (n,) for pairs (the difference) and texts, (n, k) for choices."""

    def base(self, x: Floats, train: Flags, penalty: float) -> Floats:
        """The (folds, n, ...) predictions of models of the answers x (n, ..., p), each fitted to the rows of a fold."""
        ...

    def slopes(self, predicted: Floats) -> tuple[Floats, Floats, Floats]:
        """The losses (..., n), and slope and curvature of the loss by the prediction, shaped as it."""
        ...

    def shuffled(self, x: Floats, draw: np.random.Generator) -> Floats:
        """The answers x (n, ..., m) as worthless ones that are distributed as they are."""
        ...

    def centred(self, x: Floats, train: Flags) -> Floats:
        """The (folds, n, ...) answers as far as they can add something."""
        ...


def added_losses(labelled: LabelledAnswers, predicted: Floats, x: Floats, train: Flags) -> Floats:
    """The (m, n) losses out of fold when one of m questions is added, each by itself.

    Args:
        predicted: (folds, n, ...) of the model without it.
        x: (n, ..., m) answers.
        train: (folds, n) rows that each fold's weights may use; every row is left out once.
    """
    parts = [
        _added(labelled, predicted, x[..., start : start + AT_ONCE], train) for start in range(0, x.shape[-1], AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.empty((0, train.shape[1]))


def out_of_fold(labelled: LabelledAnswers, predicted: Floats, train: Flags) -> Floats:
    """The (n,) losses of every row by the model of the fold that leaves it out."""
    return _left_out(labelled.slopes(predicted)[0], train)


def _added(labelled: LabelledAnswers, predicted: Floats, x: Floats, train: Flags) -> Floats:
    answers = np.moveaxis(labelled.centred(x, train), -1, 1)  # (folds, m, n, ...)
    rows = train[:, None, :]
    squares = np.square(answers).reshape(*answers.shape[:3], -1).mean(axis=-1)
    size = np.sqrt((squares * rows).sum(axis=-1) / rows.sum(axis=-1))
    size = np.where(size > 0, size, 1.0)
    weight = np.zeros(size.shape)
    for _ in range(STEPS):
        at = predicted[:, None] + _spread(weight, answers) * answers
        _, slope, curvature = labelled.slopes(at)
        by_weight = _over_rows(slope * answers, rows) + PENALTY * size**2 * weight
        curved = _over_rows(curvature * answers**2, rows) + PENALTY * size**2
        step = np.clip(-by_weight / curved * size, -LONGEST_STEP, LONGEST_STEP) / size
        moved = np.maximum(0.0, weight + step)
        done = np.abs(moved - weight) * size < 1e-6
        weight = moved
        if done.all():
            break
    losses = labelled.slopes(predicted[:, None] + _spread(weight, answers) * answers)[0]
    return _left_out(losses, train)


def _left_out(losses: Floats, train: Flags) -> Floats:
    """The losses (folds, ..., n) of the fold that leaves a row out, (..., n)."""
    fold = (~train).argmax(axis=0)
    chosen: Floats = np.moveaxis(losses, -1, 1)[fold, np.arange(train.shape[1])]
    return np.moveaxis(chosen, 0, -1)


def _spread(weight: Floats, answers: Floats) -> Floats:
    return weight.reshape(*weight.shape, *[1] * (answers.ndim - 2))


def _over_rows(values: Floats, rows: Flags) -> Floats:
    """The sums over the chosen rows, and options, of (folds, m, n, ...) values."""
    flat = values.reshape(*values.shape[:3], -1).sum(axis=-1)
    sums: Floats = (flat * rows).sum(axis=-1)
    return sums


def _groups(cases: Sequence[Case]) -> NDArray[np.int64]:
    codes: NDArray[np.int64] = np.unique([case.split_key for case in cases], return_inverse=True)[1].astype(np.int64)
    return codes


class PairAnswers:
    """Pairs: an ordered logit with one tie threshold; worthless answers have signs drawn anew for each group.

    `slopes` takes the tie thresholds of the last `base`.
    """

    def __init__(self, cases: Sequence[Case]) -> None:
        self.groups = _groups(cases)
        self.votes = soft_labels_of(cases, LABELS).proportions
        self.labels = label_indicators(cases, LABELS)
        self.ties = bool(self.votes[:, 2].any() or self.labels[:, 2].any())
        self.log_t: Floats | None = None

    def base(self, x: Floats, train: Flags, penalty: float) -> Floats:
        z = np.empty((len(x), 0)) if self.ties else None
        bounded = np.ones(x.shape[1], dtype=np.bool_)
        w, v = fit_ordered(x, z, self.votes, train, penalty=penalty, bounded=bounded)
        self.log_t = v[:, :1] if self.ties else None
        margins: Floats = np.einsum("sp,np->sn", w, x)
        return margins

    def slopes(self, predicted: Floats) -> tuple[Floats, Floats, Floats]:
        t = None
        if self.log_t is not None:
            log_t = self.log_t.reshape(-1, *[1] * (predicted.ndim - 1))
            t = np.broadcast_to(np.exp(np.clip(log_t, -8.0, 3.0)), predicted.shape)
        losses, by_m, _ = outcomes(predicted, t)
        observed = self.votes[:, : len(losses)].T.reshape(len(losses), *[1] * (predicted.ndim - 1), -1)
        slope, curvature = (observed * by_m).sum(axis=0), (np.exp(-losses) * by_m**2).sum(axis=0)
        measured = self.labels[:, : len(losses)].T.reshape(observed.shape)
        return (measured * losses).sum(axis=0), slope, curvature

    def shuffled(self, x: Floats, draw: np.random.Generator) -> Floats:
        signs: Floats = draw.choice([-1.0, 1.0], size=self.groups.max() + 1)[self.groups]
        return x * signs[:, None]

    def centred(self, x: Floats, train: Flags) -> Floats:
        return np.broadcast_to(x, (len(train), *x.shape))


class TextAnswers:
    """Texts: least squares by aspect, of scores as proportions of their scale; worthless answers are shifted along the
    texts of an aspect, in the order of their groups."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.groups = _groups(cases)
        names = sorted({case.aspect or "" for case in cases})
        self.aspect = np.array([names.index(case.aspect or "") for case in cases], dtype=np.int64)
        labels = [case.label for case in cases if isinstance(case.label, Scores)]
        self.y = np.array([(label.values[0] - label.lo) / (label.hi - label.lo) for label in labels])

    def base(self, x: Floats, train: Flags, penalty: float) -> Floats:
        bounded = np.ones(x.shape[1], dtype=np.bool_)
        levels, w = fit_squares_within(x, self.y, self.aspect, train, penalty=penalty, bounded=bounded)
        known = np.where(np.isnan(levels), np.nanmean(levels, axis=1, keepdims=True), levels)
        scores: Floats = known[:, self.aspect] + np.einsum("sp,np->sn", w, x)
        return scores

    def slopes(self, predicted: Floats) -> tuple[Floats, Floats, Floats]:
        away = predicted - self.y
        return away**2, away, np.ones(away.shape)

    def shuffled(self, x: Floats, draw: np.random.Generator) -> Floats:
        result = x.copy()
        for aspect in np.unique(self.aspect):
            rows = np.flatnonzero(self.aspect == aspect)
            rows = rows[np.argsort(self.groups[rows], kind="stable")]
            result[rows] = x[np.roll(rows, int(draw.integers(1, max(2, len(rows)))))]
        return result

    def centred(self, x: Floats, train: Flags) -> Floats:
        """The answers less their mean over the rows of the fold, by aspect."""
        result = np.repeat(x[None], len(train), axis=0)
        for aspect in np.unique(self.aspect):
            of_aspect = self.aspect == aspect
            for fold, rows in enumerate(train):
                known = rows & of_aspect
                if known.any():
                    result[fold, of_aspect] -= x[known].mean(axis=0)
        return result


class ChoiceAnswers:
    """Choices: a conditional logit; worthless answers are those of other options, drawn for each case."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.groups = _groups(cases)
        counts = np.array([len(case.candidates) for case in cases])
        self.exists = np.arange(counts.max()) < counts[:, None]
        self.votes = soft_labels_of(cases, [str(index) for index in range(int(counts.max()))]).proportions

    def base(self, x: Floats, train: Flags, penalty: float) -> Floats:
        if not x.shape[-1]:
            return np.zeros((len(train), *self.exists.shape))
        bounded = np.ones(x.shape[-1], dtype=np.bool_)
        w = fit_choices(x, self.exists, self.votes, train, penalty=penalty, bounded=bounded)
        utilities: Floats = np.einsum("sp,nkp->snk", w, x)
        return utilities

    def slopes(self, predicted: Floats) -> tuple[Floats, Floats, Floats]:
        losses, chances = choices(np.where(self.exists, predicted, -np.inf), self.votes)
        return losses, chances - self.votes, chances * (1 - chances)

    def shuffled(self, x: Floats, draw: np.random.Generator) -> Floats:
        noise = np.where(self.exists, draw.random(self.exists.shape), 2.0)  # missing options stay last
        order = np.argsort(noise, axis=1)
        shuffled: Floats = np.take_along_axis(x, order[..., None], axis=1)
        return shuffled

    def centred(self, x: Floats, train: Flags) -> Floats:
        mean = (x * self.exists[..., None]).sum(axis=1, keepdims=True) / self.exists.sum(axis=1)[:, None, None]
        return np.broadcast_to((x - mean) * self.exists[..., None], (len(train), *x.shape))
