"""A judge as DSPy's optimizers see it: predictors of nothing but the stages' wording.

To judge a case, the predictors' wording is put into a copy of the judge. So resets, copies and LM assignments of an
optimizer cannot reach structure, LMs or head, and what was measured is what is kept.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import dspy

from ...data import Case
from ...judging.judge import Judge
from ...judging.stage import Stage
from .limits import Stopped
from .prompt_state import Wording, stages_of, wording_of
from .wording_evaluator import Bench, Step


class Judging(dspy.Module):
    """A judge of texts. Each predictor is one question that the judge puts to its model; only wording may change.

    Args:
        judge: what judges.
        stages: paths of the stages whose wording may change; None means all.
        bench: where it judges.
    """

    def __init__(self, judge: Judge, stages: Collection[str] | None = None, *, bench: Bench) -> None:
        super().__init__()
        self._bench, self._draw = bench, 0
        for path, stage in stages_of(judge).items():
            if stages is None or path in stages:
                setattr(self, path, _predictor(path, stage))

    def forward(self, case: Case) -> dspy.Prediction:
        trace = dspy.settings.trace
        try:
            with self._bench.running():
                verdict, steps = self._bench.judge_case(self.wordings(), case, draw=self._draw, steps=trace is not None)
            if trace is not None:
                trace.extend(self._traced(steps))
        except Exception as error:  # DSPy would take any for a score of 0
            raise Stopped(error) from error
        return dspy.Prediction(verdict=verdict)

    def _traced(self, steps: Iterable[Step]) -> Iterator[tuple[Any, dict[str, Any], dspy.Prediction]]:
        """The steps as DSPy records calls of the predictors."""
        predictors = dict(self.named_predictors())
        for step in steps:
            if step.stage in predictors:
                yield predictors[step.stage], step.inputs, dspy.Prediction(**step.outputs)

    def wordings(self) -> dict[str, Wording]:
        return {path: wording_of(predictor) for path, predictor in self.named_predictors()}

    def get_lm(self) -> "Draws":
        return Draws(self._draw)

    def set_lm(self, lm: "Draws") -> None:
        self._draw = lm.number


@dataclass(frozen=True)
class Draws:
    """What SIMBA takes for the program's LM: it copies one a trajectory and sets it everywhere, all roles alike.

    Each copy stands for one draw of the judge's answers, by the LMs that its stages have.
    """

    number: int = 0

    @property
    def kwargs(self) -> Mapping[str, int]:
        return {}

    def copy(self, *, rollout_id: int, **_: Any) -> "Draws":
        return Draws(rollout_id)


def _predictor(path: str, stage: Stage) -> dspy.Predict:
    """A predictor with the stage's wording and a mark of its own, which no prompt shows.

    GEPA matches predictors by equal signatures, types aside, and stages of one signature would get mixed feedback.
    """
    signature = stage.ask.signature
    predictor = dspy.Predict(signature.with_updated_fields(next(iter(signature.fields)), stage=path))
    predictor.demos = [dspy.Example(**demo) for demo in wording_of(stage.ask).demos]
    return predictor
