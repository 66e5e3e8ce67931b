"""All fits that nested cross-fitting takes: of every candidate, without every two folds."""

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .block_fits import Folds
from .screening import LossGain, Screening, by_left_out
from .stacking import StackedEvidence

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]


class CrossFits:
    """The heads of every candidate, and their losses on the cases that they were fitted without.

    Attributes:
        plans: the candidates, the simplest first.
        losses: (plans, n), of every case by the head without its fold.
        screening: by the name of each measured evidence, what it gains by itself.
        best: place of the chosen plan.
    """

    def __init__(self, stacked: StackedEvidence, fold: Rows, groups: Rows) -> None:
        """
        Args:
            stacked: n labelled cases.
            fold: (n,).
            groups: (n,) codes.
        """
        self.stacked, self._fold, self._groups, self._count = stacked, fold, groups, int(fold.max()) + 1
        self.plans = sorted(stacked.plans(), key=lambda plan: plan.complexity)
        self._weighs = np.array([bool(plan.evidence) for plan in self.plans])
        unseen: list[Folds] = [
            frozenset(folds) for size in range(3) for folds in combinations(range(self._count), size)
        ]
        chosen = np.stack([~np.isin(fold, list(folds)) for folds in unseen])
        self._heads: list[dict[Folds, Any]] = []  # of each plan, by the folds that the head is fitted without
        self._left_out = np.empty((self._count, len(self.plans), len(fold)))  # see `by_left_out`
        for number, plan in enumerate(self.plans):
            self._heads.append(dict(zip(unseen, stacked.fits(plan, unseen, chosen), strict=True)))
            by_folds = {folds: stacked.task(plan, folds).losses(head) for folds, head in self._heads[-1].items()}
            self._left_out[:, number] = by_left_out(by_folds, fold)
        self.losses = np.ascontiguousarray(self._left_out[fold, :, np.arange(len(fold))].T)
        heads = dict(zip(self.plans, self._heads, strict=True))
        self.screening = {
            name: Screening(stacked, heads, name, fold, groups)
            for name in stacked.evidence
            if any(name in plan.evidence for plan in self.plans)
        }
        self.best = self._chosen(None)

    def inner(self) -> list[int]:
        """For every fold the plan that the other folds choose."""
        return [self._chosen(k) for k in range(self._count)]

    def admitted(self, fold: int | None = None, *, besides: str = "") -> Flags:
        """The (plans,) whose evidence all predicts the labels by itself.

        Args:
            fold: whose labels are not looked at; None: all are.
            besides: a source whose evidence is admitted whatever it says.
        """
        silent = {
            name
            for name, screening in self.screening.items()
            if self.stacked.evidence[name] != besides and not screening.gain(fold).is_there
        }
        return np.array([silent.isdisjoint(plan.evidence) for plan in self.plans])

    def _chosen(self, fold: int | None) -> int:
        """The place of the plan with the lowest loss on all folds but one, of those whose evidence is admitted; see
        `screening`."""
        rows = np.arange(len(self._fold)) if fold is None else np.flatnonzero(self._fold != fold)
        losses = self.losses if fold is None else self._left_out[fold][:, rows]
        mean = losses.mean(axis=1)
        without = int(np.where(self._weighs, np.inf, mean).argmin())
        offered = self._weighs & self.admitted(fold)
        if not offered.any():
            return without
        with_some = int(np.where(offered, mean, np.inf).argmin())
        gain = LossGain.of(losses[without] - losses[with_some], self._groups[rows])
        return without if gain.is_reversed else with_some

    def head(self, number: int, folds: Folds) -> Any:
        """The head without some folds, at most one, with its blocks, calibrated on every other fold by the head without
        that fold too.

        On the cases that it was fitted to, a head is right too often.
        """
        plan = self.plans[number]
        return self.stacked.with_blocks(self._calibrated(number, folds), plan, folds)

    def nested_losses(self, offered: Flags) -> Floats:
        """The (n,) losses of every case by the head that was fitted, chosen by the lowest loss among the plans that
        `offered` (plans,) marks, and calibrated without the case's fold."""
        losses = np.empty(len(self._fold))
        for k in range(self._count):
            rows = self._fold == k
            mean = self._left_out[k][:, ~rows].mean(axis=1)
            number = int(np.where(offered, mean, np.inf).argmin())
            head = self._calibrated(number, frozenset({k}))
            losses[rows] = self.stacked.task(self.plans[number], frozenset({k})).losses(head)[rows]
        return losses

    def _calibrated(self, number: int, folds: Folds) -> Any:
        heads = self._heads[number]
        others = [k for k in range(self._count) if k not in folds]
        rows = np.stack([self._fold == k for k in others])
        task = self.stacked.calibrating(self.plans[number], folds)
        return task.calibrated(heads[folds], [heads[folds | {k}] for k in others], rows)
