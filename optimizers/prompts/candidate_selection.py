"""The choice among wordings: by the objective, over all cases to select by, against the unchanged judge."""

import math
from collections.abc import Sequence

from ...data import Case, Judged
from ...data.case import Record
from ...errors import DeclarationError
from ...evaluation.run_arrays import run_arrays
from ..objective import Objective
from .metric import score
from .prompt_state import Wording, Wordings, digest_of, wordings_of
from .wording_evaluator import Bench, Tried

FINALISTS = 3  # wordings that were tried on some cases only, and are judged on all before the choice
PRIOR_CASES = 8  # cases at the unchanged judge's mean that are added to each wording's: few cases prove little
LOST = 0.02  # of the cases: a wording that leaves so many more unscored than the unchanged judge cannot win


class Trial(Record):
    """One wording that was tried; number 0 is the unchanged one.

    Attributes:
        stages: the wording of the stages that may change, by path.
        judged: cases of either part; `unscored` of them have no verdict.
        value: the objective over the cases to select by; None where it did not judge all of them.
        mean: of the metric over the judged cases, in [0, 1].
    """

    number: int
    stages: dict[str, Wording]
    judged: int
    unscored: int
    value: float | None
    mean: float | None

    def told(self) -> str:
        """One line about it."""
        demos = sum(len(wording.demos) for wording in self.stages.values())
        figure = "not judged on all cases" if self.value is None else f"{self.value:.3f} on the select part"
        return f"wording {self.number}: {figure}, {demos} demos"


class Contest:
    """Wordings of one judge compared on the same cases.

    Args:
        bench: where they were, or are, judged.
        cases: all labelled cases, by id; `select` are those that decide.
    """

    def __init__(
        self, bench: Bench, objective: Objective, train: Sequence[Case], select: Sequence[Case], tuned: Sequence[str]
    ) -> None:
        self.bench, self.objective, self.select, self.tuned = bench, objective, select, tuned
        self.cases = {case.id: case for case in (*train, *select)}
        before = wordings_of(bench.judge)
        self.unchanged = digest_of({path: before[path] for path in tuned})
        if self.unchanged not in bench.tried:  # it was judged with the wording of all stages
            bench.rename(digest_of(before), {path: before[path] for path in tuned})
        if math.isnan(self.value(bench.tried[self.unchanged])):
            raise DeclarationError(
                f"prompts: {objective.name} is not defined for judge {bench.judge.name!r} on these {len(select)} "
                "cases. Give another objective, or more cases."
            )

    def finish(self, returned: Wordings | None, *, workers: int) -> None:
        """Judge the most promising of the wordings that have not judged all cases to select by.

        Raises:
            BudgetSpent, Infrastructure, KeyboardInterrupt: as `Bench.judge_case`; what is complete is kept.
        """
        hopeful = [tried for tried in self.bench.tried.values() if tried.verdicts and not self.complete(tried)]
        hopeful = sorted(hopeful, key=self._promise, reverse=True)[:FINALISTS]
        wordings = [tried.wordings for tried in hopeful]
        if returned is not None and digest_of(returned) not in map(digest_of, wordings):
            wordings.insert(0, returned)
        for one in wordings:
            self.bench.judge_all(one, self.select, workers=workers)

    def best(self) -> str:
        """The digest of the wording to take; the unchanged one unless another is better, the earliest of equals."""
        chosen = self.unchanged
        most = self._unscored(self.bench.tried[chosen]) + LOST * len(self.select)
        able = [
            (digest, self.value(tried))
            for digest, tried in self.bench.tried.items()
            if self.complete(tried) and self._unscored(tried) <= most
        ]
        for digest, value in able:
            if self.objective.is_better(value, self.value(self.bench.tried[chosen])):
                chosen = digest
        return chosen

    def value(self, tried: Tried) -> float:
        """The objective over the cases to select by; NaN where it is not defined, or not all were judged."""
        if not self.complete(tried):
            return math.nan
        return self.objective.value(run_arrays(self._selected(tried)))

    def complete(self, tried: Tried) -> bool:
        return all(case.id in tried.verdicts for case in self.select)

    def trial(self, digest: str) -> Trial:
        tried = self.bench.tried[digest]
        value, mean = self.value(tried), self._mean(tried)
        return Trial(
            number=list(self.bench.tried).index(digest),
            stages=dict(tried.wordings),
            judged=len(tried.verdicts),
            unscored=sum(verdict.status != "scored" for verdict in tried.verdicts.values()),
            value=None if math.isnan(value) else value,
            mean=None if math.isnan(mean) else mean,
        )

    def _selected(self, tried: Tried) -> list[Judged]:
        return [tried.verdicts[case.id] for case in self.select]

    def _unscored(self, tried: Tried) -> int:
        return sum(verdict.status != "scored" for verdict in self._selected(tried))

    def _promise(self, tried: Tried) -> float:
        n, before = len(tried.verdicts), self._mean(self.bench.tried[self.unchanged])
        return (n * self._mean(tried) + PRIOR_CASES * before) / (n + PRIOR_CASES)

    def _mean(self, tried: Tried) -> float:
        scale = self.bench.judge.score_scale
        scores = [
            score(self.cases[case_id], verdict, self.objective, scale=scale)
            for case_id, verdict in sorted(tried.verdicts.items())
        ]
        return math.fsum(scores) / len(scores) if scores else math.nan
