"""Select among wordings: by the objective on all select cases, against the unchanged judge."""

import math
from collections.abc import Sequence

from pydantic import Field

from ...data import Case, Judged
from ...data.case import Record
from ...errors import DeclarationError
from ...evaluation.run_arrays import run_arrays
from ..objective import Objective
from .metric import score
from .prompt_state import Wording, Wordings, digest_of, wordings_of
from .wording_evaluator import EvaluatedWording, WordingEvaluator

FINALISTS = 3  # wordings that were tried on some cases only, and are judged on all before the selection
PRIOR_CASES = 8  # cases at the unchanged judge's mean that shrink the mean of a wording with few cases
LOST = 0.02  # of the cases: a wording that leaves so many more unscored than the unchanged judge is never selected


class PromptTrial(Record):
    """One wording and its results."""

    number: int = Field(description="0 is the unchanged wording")
    stages: dict[str, Wording] = Field(description="the wording of the stages that may change, by path; without pools")
    nearest: int = Field(default=0, description="demos that a prompt shows by nearness to the case")
    judged: int = Field(description="judged cases of both parts")
    unscored: int = Field(description="judged cases without a verdict")
    value: float | None = Field(description="the objective on the select cases; None if it did not judge all of them")
    mean: float | None = Field(description="mean metric of the judged cases, in [0, 1]")

    def summary(self) -> str:
        """One line for the terminal."""
        demos = sum(len(wording.demos) for wording in self.stages.values())
        value = "not judged on all cases" if self.value is None else f"{self.value:.3f} on the select part"
        nearest = f", the {self.nearest} nearest of the labelled cases" if self.nearest else ""
        return f"wording {self.number}: {value}, {demos} demos{nearest}"


class CandidateSelection:
    """Compares wordings of one judge on the same cases.

    Args:
        evaluator: judges cases with any wording.
        select: the cases that decide.
        tuned: the paths of the stages whose wording may change.
    """

    def __init__(
        self,
        evaluator: WordingEvaluator,
        objective: Objective,
        train: Sequence[Case],
        select: Sequence[Case],
        tuned: Sequence[str],
    ) -> None:
        self.evaluator, self.objective, self.select, self.tuned = evaluator, objective, select, tuned
        self.cases = {case.id: case for case in (*train, *select)}
        before = wordings_of(evaluator.judge)
        self.unchanged = digest_of({path: before[path] for path in tuned})
        if self.unchanged not in evaluator.tried:  # it was judged under the wording of all stages
            evaluator.rename(digest_of(before), {path: before[path] for path in tuned})
        if math.isnan(self.value(evaluator.tried[self.unchanged])):
            raise DeclarationError(
                f"prompts: {objective.name} is not defined for judge {evaluator.judge.name!r} on these {len(select)} "
                "cases. Give another objective, or more cases."
            )

    def finish(self, returned: Wordings | None, *, workers: int) -> None:
        """Judge the select cases with the most promising wordings that have not judged all of them.

        Raises:
            BudgetSpent, Infrastructure, KeyboardInterrupt: as in `WordingEvaluator.judge_case`; complete trials stay.
        """
        hopeful = [tried for tried in self.evaluator.tried.values() if tried.verdicts and not self.complete(tried)]
        hopeful = sorted(hopeful, key=self._promise, reverse=True)[:FINALISTS]
        wordings = [tried.wordings for tried in hopeful]
        if returned is not None and digest_of(returned) not in map(digest_of, wordings):
            wordings.insert(0, returned)
        for wording in wordings:
            self.evaluator.judge_all(wording, self.select, workers=workers)

    def best(self) -> str:
        """The digest of the best wording; the unchanged one unless another is better, the earliest of equal ones."""
        chosen = self.unchanged
        most = self._unscored(self.evaluator.tried[chosen]) + LOST * len(self.select)
        able = [
            (digest, self.value(tried))
            for digest, tried in self.evaluator.tried.items()
            if self.complete(tried) and self._unscored(tried) <= most
        ]
        for digest, value in able:
            if self.objective.is_better(value, self.value(self.evaluator.tried[chosen])):
                chosen = digest
        return chosen

    def value(self, tried: EvaluatedWording) -> float:
        """The objective on the select cases; NaN if it is not defined or not all cases were judged."""
        if not self.complete(tried):
            return math.nan
        return self.objective.value(run_arrays(self._selected(tried)))

    def complete(self, tried: EvaluatedWording) -> bool:
        return all(case.id in tried.verdicts for case in self.select)

    def trial(self, digest: str) -> PromptTrial:
        tried = self.evaluator.tried[digest]
        value, mean = self.value(tried), self._mean(tried)
        return PromptTrial(
            number=list(self.evaluator.tried).index(digest),
            stages={path: wording.model_copy(update={"pool": None}) for path, wording in tried.wordings.items()},
            nearest=max((wording.pool.most for wording in tried.wordings.values() if wording.pool), default=0),
            judged=len(tried.verdicts),
            unscored=sum(verdict.status != "scored" for verdict in tried.verdicts.values()),
            value=None if math.isnan(value) else value,
            mean=None if math.isnan(mean) else mean,
        )

    def _selected(self, tried: EvaluatedWording) -> list[Judged]:
        return [tried.verdicts[case.id] for case in self.select]

    def _unscored(self, tried: EvaluatedWording) -> int:
        return sum(verdict.status != "scored" for verdict in self._selected(tried))

    def _promise(self, tried: EvaluatedWording) -> float:
        n, before = len(tried.verdicts), self._mean(self.evaluator.tried[self.unchanged])
        return (n * self._mean(tried) + PRIOR_CASES * before) / (n + PRIOR_CASES)

    def _mean(self, tried: EvaluatedWording) -> float:
        scale = self.evaluator.judge.score_scale
        scores = [
            score(self.cases[case_id], verdict, self.objective, scale=scale)
            for case_id, verdict in sorted(tried.verdicts.items())
        ]
        return math.fsum(scores) / len(scores) if scores else math.nan
