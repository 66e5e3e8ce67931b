"""A judge as DSPy's optimizers see it: predictors that hold only the wording of its stages.

To judge a case, the wording of the predictors is put into a copy of the judge. So an optimizer's resets, copies and LM
assignments cannot reach structure, LMs or head, and the judge gets exactly the wording that was measured.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import dspy

from ...data import Case, Verdict
from ...judging.judge import Judge
from ...judging.stage import Stage
from .limits import Stopped
from .prompt_state import Wording, stages_of, wording_of
from .wording_evaluator import StageCall, WordingEvaluator


class JudgeProxy(dspy.Module):
    """A judge of texts. Each predictor is one question that the judge puts to its model; only wording may change.

    Args:
        judge: the judge whose stages the predictors stand for.
        stages: paths of the stages whose wording may change; None means all.
        evaluator: judges the cases.
    """

    def __init__(self, judge: Judge, stages: Collection[str] | None = None, *, evaluator: WordingEvaluator) -> None:
        super().__init__()
        self._evaluator, self._sample = evaluator, 0
        for path, stage in stages_of(judge).items():
            if stages is None or path in stages:
                setattr(self, path, _predictor(path, stage))

    def forward(self, case: Case) -> dspy.Prediction:
        trace = dspy.settings.trace
        try:
            with self._evaluator.running():
                verdict, steps = self._evaluator.judge_case(
                    self.wordings(), case, sample=self._sample, steps=trace is not None
                )
            if trace is not None:
                trace.extend(self._traced(steps))
        except Exception as error:  # DSPy would count any exception as a score of 0
            raise Stopped(error) from error
        return dspy.Prediction(verdict=verdict)

    def calls(self, case: Case) -> tuple[Verdict, list[StageCall]]:
        """The verdict with the present wording, and the stage calls."""
        return self._evaluator.judge_case(self.wordings(), case, steps=True)

    def judge_all(self, cases: Sequence[Case], *, workers: int) -> None:
        """Judge all of the cases with the present wording, so that it can be selected."""
        self._evaluator.judge_all(self.wordings(), cases, workers=workers)

    @property
    def judge(self) -> Judge:
        """The judge whose stages the predictors represent, with its first wording."""
        return self._evaluator.judge

    def _traced(self, steps: Iterable[StageCall]) -> Iterator[tuple[Any, dict[str, Any], dspy.Prediction]]:
        """The stage calls as DSPy records calls of predictors."""
        predictors = dict(self.named_predictors())
        for step in steps:
            if step.stage in predictors:
                yield predictors[step.stage], step.inputs, dspy.Prediction(**step.outputs)

    def wordings(self) -> dict[str, Wording]:
        return {path: wording_of(predictor) for path, predictor in self.named_predictors()}

    def get_lm(self) -> "SampleNumber":
        return SampleNumber(self._sample)

    def set_lm(self, lm: "SampleNumber") -> None:
        self._sample = lm.number


@dataclass(frozen=True)
class SampleNumber:
    """Takes the place of the program's LM for SIMBA, which copies the LM for every trajectory and sets it on all roles.

    A copy is the number of a sample of the judge's answers, by the LMs of its stages.
    """

    number: int = 0

    @property
    def kwargs(self) -> Mapping[str, int]:
        return {}

    def copy(self, *, rollout_id: int, **_: Any) -> "SampleNumber":
        return SampleNumber(rollout_id)


def _predictor(path: str, stage: Stage) -> dspy.Predict:
    """A predictor with the stage's wording, and the stage's path in its signature, which no prompt shows.

    GEPA identifies predictors by their signature, so stages of the same signature would get mixed feedback.
    """
    signature = stage.ask.signature
    predictor = dspy.Predict(signature.with_updated_fields(next(iter(signature.fields)), stage=path))
    predictor.demos = [dspy.Example(**demo) for demo in stage.plain_demos()]
    predictor.pool = stage.nearest
    return predictor
