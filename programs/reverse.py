"""The reverse program: a judgment without criterion and guideline gets both (Fennec, arXiv 2405.12163, section 3).

It runs the chain backwards: from request, responses and judgment the criterion; from all of these the guideline. What
is known already is not asked.
"""

from collections.abc import Mapping
from typing import ClassVar

import dspy

from ..judging.delimiters import Fence
from ..judging.judge import fenced
from ..judging.module_base import StagedModule
from ..judging.stage import Stage
from ..signatures import bridging as signatures
from .fennec import GUIDELINE_TOKENS, MARKS, guideline_text


class Reverse(StagedModule):
    """Finds the criterion and the guideline of judgments, of one response or of two."""

    name = "reverse"
    kind: ClassVar[str] = "program"

    def __init__(self) -> None:
        super().__init__()
        self.criterion_of_pair = Stage(signatures.CriterionOfPair, "criteria", max_tokens=80, check=_some_criterion)
        self.criterion_of_text = Stage(signatures.CriterionOfText, "criteria", max_tokens=80, check=_some_criterion)
        self.guideline_of_pair = Stage(signatures.GuidelineOfPair, "guideline", max_tokens=GUIDELINE_TOKENS)
        self.guideline_of_text = Stage(signatures.GuidelineOfText, "guideline", max_tokens=GUIDELINE_TOKENS)
        for stage in self.stages():
            stage.task = f"reverse-{stage.role}"

    def criterion_stage(self, responses: int) -> Stage:
        """What asks for the criterion of a judgment of one response, or of two."""
        return self.criterion_of_pair if responses == 2 else self.criterion_of_text

    def guideline_stage(self, responses: int) -> Stage:
        """What asks for the guideline."""
        return self.guideline_of_pair if responses == 2 else self.guideline_of_text

    def forward(
        self, request: str, responses: tuple[str, ...], judgment: str, criterion: str = "", guideline: str = ""
    ) -> tuple[str, str]:
        """The criterion and the guideline; those that are known stay.

        Raises:
            ExecutionError, ModelError: see `Stage.forward`.
        """
        inputs = judged_inputs(request, responses, judgment)
        if not criterion:
            criterion = self.criterion_stage(len(responses))(**inputs).criterion.strip(MARKS)
        if not guideline:
            guideline = guideline_text(self.guideline_stage(len(responses))(**inputs, criterion=criterion))
        return criterion, guideline


def judged_inputs(request: str, responses: tuple[str, ...], judgment: str) -> Mapping[str, str]:
    """The inputs that all reverse questions share, fenced."""
    fence = Fence(responses)
    names = ("response_a", "response_b") if len(responses) == 2 else ("response",)
    texts = {name: fence(text) for name, text in zip(names, responses, strict=True)}
    return {"request": fenced(request), **texts, "judgment": fenced(judgment)}


def _some_criterion(prediction: dspy.Prediction) -> None:
    if not prediction.criterion.strip(MARKS):
        raise ValueError("no criterion was given")
