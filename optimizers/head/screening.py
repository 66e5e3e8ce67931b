"""Which measured evidence a head weighs: what predicts the labels by itself, unless heads without it are better.

A candidate head with numbers that say nothing has by luck the lowest loss in more than half of all worlds, since there
are many such candidates. So each evidence is looked at by itself first. One head, the simplest that weighs it alone, is
fixed beforehand; its loss on the folds that it was fitted without must be below that of the labels' base rate, by half
a standard error by whole groups. Where numbers say nothing it is mostly above, as fitting costs.

By itself, since that is what labels show well: what evidence adds to a judge's answers is a small difference of two
large losses. A rule by that difference drops most of what helps, where labels are few (the rules compared:
docs/results/evidence-simulation.md). So evidence that predicts the labels stays, unless the best head without any is
better than the best head with some by half a standard error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .block_fits import Folds
from .model_spec import PENALTIES, HeadSpec
from .stacking import StackedEvidence

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

STANDARD_ERRORS = 0.5  # more drops more evidence that says nothing, and more that helps where there are 60 labels


@dataclass(frozen=True)
class LossGain:
    """By how much one head's loss is below another's.

    Attributes:
        value: mean of the loss of the other less that of the one.
        standard_error: of it, by whole groups.
    """

    value: float
    standard_error: float

    @classmethod
    def of(cls, gains: Floats, groups: Rows) -> Self:
        """The mean of (n,) gains of cases in groups (n,), which are codes."""
        return cls(float(gains.mean()), standard_error(gains, np.unique(groups, return_inverse=True)[1]))

    @property
    def is_there(self) -> bool:
        return self.value > 0 and self.value >= STANDARD_ERRORS * self.standard_error

    @property
    def is_reversed(self) -> bool:
        return self.value < 0 and -self.value >= STANDARD_ERRORS * self.standard_error


class Screening:
    """What one measured evidence gains by itself over the labels' base rate: on all folds, and on all but each.

    Args:
        stacked: n labelled cases.
        heads: of every candidate, by the folds that it was fitted without.
        name: of the evidence.
        fold: (n,).
        groups: (n,) codes.
    """

    def __init__(
        self,
        stacked: StackedEvidence,
        heads: Mapping[HeadSpec, Mapping[Folds, Any]],
        name: str,
        fold: Rows,
        groups: Rows,
    ) -> None:
        constants = stacked.answers.constants
        single = _simplest([plan for plan in heads if plan.features == (name, *constants)])
        base = HeadSpec("base rate", constants, PENALTIES[0], aspects=single.aspects)
        self._fold, self._groups, count = fold, groups, int(fold.max()) + 1
        unseen = [frozenset({j, k}) for k in range(count) for j in range(k + 1)]  # {k} where both are the same
        chosen = np.stack([~np.isin(fold, list(folds)) for folds in unseen])
        base_heads = dict(zip(unseen, stacked.fits(base, unseen, chosen), strict=True))
        by_folds = {
            folds: stacked.task(base, folds).losses(head) - stacked.task(single, folds).losses(heads[single][folds])
            for folds, head in base_heads.items()
        }
        self._gains = by_left_out(by_folds, fold)

    def gain(self, fold: int | None = None) -> LossGain:
        """The gain on all cases; with a fold, on those of the others, by heads that were fitted without it too."""
        if fold is None:
            return LossGain.of(self._gains[self._fold, np.arange(len(self._fold))], self._groups)
        rows = self._fold != fold
        return LossGain.of(self._gains[fold, rows], self._groups[rows])


def by_left_out(by_folds: Mapping[Folds, Floats], fold: Rows) -> Floats:
    """The (folds, n) values of every case by heads without its fold, and without that of the row.

    Args:
        by_folds: (n,) by the one fold or the two that the head was fitted without.
        fold: (n,).
    """
    count = int(fold.max()) + 1
    values = np.empty((count, len(fold)))
    for k in range(count):
        for j in range(count):
            values[k, fold == j] = by_folds[frozenset({j, k})][fold == j]
    return values


def standard_error(values: Floats, groups: Rows) -> float:
    """The standard error of the mean, by whole groups (Liang and Zeger 1986); infinite with one group.

    Args:
        values: (n,).
        groups: (n,) codes 0 .. groups - 1.
    """
    totals = np.bincount(groups, values - values.mean())
    count = len(totals)
    if count < 2:
        return float("inf")
    return float(np.sqrt(count / (count - 1) * np.square(totals).sum()) / len(values))


def _simplest(plans: list[HeadSpec]) -> HeadSpec:
    """The simplest of these candidates; of several aspects the one with an intercept for each, as their levels are
    nothing that the evidence says."""
    by_aspect = [plan for plan in plans if plan.aspects == "intercepts"] or plans
    return min(by_aspect, key=lambda plan: plan.complexity)
