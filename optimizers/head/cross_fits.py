"""All fits that nested cross-fitting takes: of every candidate, without every two folds."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_fits import Folds
from .stacking import StackedEvidence

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class CrossFits:
    """The heads of every candidate, and their losses on the cases that they were fitted without.

    Attributes:
        plans: the candidates, the simplest first.
        losses: (plans, n), of every case by the head without its fold.
        best: place of the plan with the lowest mean loss.
    """

    def __init__(self, stacked: StackedEvidence, fold: Rows) -> None:
        self.stacked, self._fold, self._count = stacked, fold, int(fold.max()) + 1
        self.plans = sorted(stacked.plans(), key=lambda plan: plan.complexity)
        unseen: list[Folds] = [
            frozenset(folds) for size in range(3) for folds in combinations(range(self._count), size)
        ]
        chosen = np.stack([~np.isin(fold, list(folds)) for folds in unseen])
        self._heads: list[dict[Folds, Any]] = []  # of each plan, by the folds that the head is fitted without
        self.losses = np.empty((len(self.plans), len(fold)))
        self._inner = np.zeros((self._count, len(self.plans)))  # loss on the other folds of the heads without a fold
        for number, plan in enumerate(self.plans):
            self._heads.append(dict(zip(unseen, stacked.fits(plan, unseen, chosen), strict=True)))
            by_folds = {folds: stacked.task(plan, folds).losses(head) for folds, head in self._heads[-1].items()}
            for k in range(self._count):
                self.losses[number, fold == k] = by_folds[frozenset({k})][fold == k]
                self._inner[k, number] = sum(
                    by_folds[frozenset({j, k})][fold == j].sum() for j in range(self._count) if j != k
                )
        self.best = int(self.losses.mean(axis=1).argmin())

    def inner(self, offered: Flags | None = None) -> list[int]:
        """For every fold the plan with the lowest loss on the other folds, of those that `offered` (plans,) marks."""
        losses = self._inner if offered is None else np.where(offered, self._inner, np.inf)
        chosen: list[int] = losses.argmin(axis=1).tolist()
        return chosen

    def head(self, number: int, folds: Folds) -> Any:
        """The head without some folds, at most one, with its blocks, calibrated on every other fold by the head without
        that fold too.

        On the cases that it was fitted to, a head is right too often.
        """
        plan = self.plans[number]
        return self.stacked.with_blocks(self._calibrated(number, folds), plan, folds)

    def nested_losses(self, offered: Flags) -> Floats:
        """The (n,) losses of every case by the head that was fitted, chosen among the plans that `offered` (plans,)
        marks, and calibrated without the case's fold."""
        losses = np.empty(len(self._fold))
        for k, number in enumerate(self.inner(offered)):
            head, rows = self._calibrated(number, frozenset({k})), self._fold == k
            losses[rows] = self.stacked.task(self.plans[number], frozenset({k})).losses(head)[rows]
        return losses

    def _calibrated(self, number: int, folds: Folds) -> Any:
        heads = self._heads[number]
        others = [k for k in range(self._count) if k not in folds]
        rows = np.stack([self._fold == k for k in others])
        task = self.stacked.calibrating(self.plans[number], folds)
        return task.calibrated(heads[folds], [heads[folds | {k}] for k in others], rows)
