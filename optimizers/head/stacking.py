"""Labelled evidence with measured numbers beside it, as each fit of a head may see it.

A block's number of a case depends on which cases the block was fitted to. So there are as many views of the same cases
as there are sets of folds that a head is fitted without: in each, a case that the head is fitted to has the number of
the block that was fitted without the case's fold too, and a case that the head is measured on has the number of the
block of all cases that the head is fitted to (stacked generalisation, nested). Candidate heads without measured numbers
have one view, that of verdicts without any, and are what they are for a judge without evidence, bit for bit.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...judging.blocks import DISTANCE
from .block_fits import BlockFit, Folds
from .model_spec import HeadSpec

Flags = NDArray[np.bool_]
Numbers = dict[str, tuple[float, ...]]
MakeTask = Callable[[Sequence[Verdict], Any], Any]


class StackedEvidence:
    """The views of n labelled cases.

    Args:
        make_task: the labelled evidence of verdicts as arrays, with the features of another one where one is given.
        cases: n.
        verdicts: n, of which the numbers that were measured while judging are kept.
        blocks: fitted to these cases.

    Attributes:
        evidence: the name of its source by the name of each measured evidence.
    """

    def __init__(
        self, make_task: MakeTask, cases: Sequence[Case], verdicts: Sequence[Verdict], blocks: Sequence[BlockFit] = ()
    ) -> None:
        self._make_task, self._cases, self._verdicts, self._blocks = make_task, cases, verdicts, blocks
        unmeasured = [
            verdict.model_copy(update={"measured": {}}) if verdict.measured else verdict for verdict in verdicts
        ]
        self.answers = make_task(unmeasured, None)
        read = {name: name for verdict in verdicts for name in verdict.measured if not name.endswith(DISTANCE)}
        self.evidence = read | {block.name: block.reads for block in blocks}
        self._first = self._view(lambda block: block.scores(frozenset()), None) if self.evidence else None
        self._at = cache(lambda folds: self._view(lambda block: block.scores(folds), self._first))
        self._calibrating_at = cache(lambda folds: self._view(lambda block: block.calibrating(folds), self._first))

    def plans(self) -> list[HeadSpec]:
        """The candidates, of which those with measured numbers name them in `evidence`."""
        plans: list[HeadSpec] = self.answers.plans()
        return plans if self._first is None else plans + self._first.evidence_plans(self.evidence)

    def fits(self, plan: HeadSpec, unseen: Sequence[Folds], chosen: Flags) -> list[Any]:
        """One head for each set of folds, fitted to the cases that its row of `chosen` (sets, n) marks."""
        if not self._depends(plan):
            return list(self._task(plan).fits(plan, chosen))
        return [self._at(folds).fits(plan, rows[None])[0] for folds, rows in zip(unseen, chosen, strict=True)]

    def task(self, plan: HeadSpec, folds: Folds) -> Any:
        """The view of heads without these folds."""
        return self._at(folds) if self._depends(plan) else self._task(plan)

    def calibrating(self, plan: HeadSpec, folds: Folds) -> Any:
        """The view in which each case has the numbers of the heads without these folds and its own."""
        return self._calibrating_at(folds) if self._depends(plan) else self._task(plan)

    def with_blocks(self, head: Any, plan: HeadSpec, folds: Folds) -> Any:
        """The head without these folds, with the blocks that it weighs."""
        blocks = {block.name: block.block(folds) for block in self._blocks if block.name in plan.evidence}
        return head.model_copy(update={"blocks": blocks}) if blocks else head

    def _depends(self, plan: HeadSpec) -> bool:
        """Whether the numbers of the plan depend on the folds."""
        return any(block.name in plan.evidence for block in self._blocks)

    def _task(self, plan: HeadSpec) -> Any:
        return self._first if plan.evidence else self.answers

    def _view(self, numbers: Callable[[BlockFit], Any], like: Any) -> Any:
        columns = {block.name: numbers(block).tolist() for block in self._blocks}
        verdicts = [
            verdict.model_copy(update={"measured": verdict.measured | _row(columns, place, len(case.candidates))})
            for place, (case, verdict) in enumerate(zip(self._cases, self._verdicts, strict=True))
        ]
        return self._make_task(verdicts, like)


def _row(columns: Mapping[str, list[list[float]]], place: int, count: int) -> Numbers:
    return {name: tuple(rows[place][:count]) for name, rows in columns.items()}
