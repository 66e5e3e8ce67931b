"""A rubric: yes-no criteria in a user's words, each read from one token, that together decide whether a text passes.

Each criterion is a separate question; all are asked concurrently, and the text comes before the question, so that a
server reads it once. Their log-odds are averaged by weight, or the least of them decides where every criterion must
hold. A compilation learns how much each of them says.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, Self

import dspy
from pydantic import Field, field_validator, model_validator

from ..data import Case, Finding, Verdict
from ..data.case import MOST_SCORE, NonEmpty, Record, Text
from ..data.category_words import checked, parse_categories, written
from ..data.question_bank import Line
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..signatures.categories import YesNoOfResponse
from .category_question import fitting, one_response
from .category_verdict import COMBINES, category_verdict
from .delimiters import constant
from .evidence import ScoreReading, side_by_side
from .hparam import HParam
from .judge import Judge, PresentedCase, present, verdict_of
from .question import READOUTS, Answer, Question
from .reading_floor import min_mass_parameter

ROLE = "judgment"
MOST_CRITERIA = 100
POINTS = 4.0  # log-odds of a difference of mean answers from end to end, as of 1..5 points elsewhere


class RubricCriterion(Record):
    """One yes-no question of a rubric; a YAML file may also give just the question."""

    name: Line = Field(max_length=60, description="a short name, which its finding has")
    ask: Line = Field(description="the question, which is answered by yes or no")
    weight: float = Field(default=1.0, gt=0, le=MOST_SCORE, description="relative to the other criteria")
    passes: Literal["yes", "no"] = Field(default="yes", description="the answer that speaks for the text")

    @model_validator(mode="before")
    @classmethod
    def _from_question(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value.strip()[:60], "ask": value}
        return (
            {"name": str(value["ask"]).strip()[:60], **value} if isinstance(value, dict) and "ask" in value else value
        )

    @field_validator("passes", mode="before")
    @classmethod
    def _word(cls, value: Any) -> Any:
        return {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value


class RubricDeclaration(Record):
    """The content of a YAML file that declares a rubric."""

    name: NonEmpty = Field(default="rubric", description="the judge's name in verdicts and messages")
    judges: Literal["categories"] = Field(default="categories", description="that it says which category a text is of")
    instructions: Text = Field(default="", description="the task, in words before the questions")
    criteria: tuple[RubricCriterion, ...] = Field(
        min_length=1, max_length=MOST_CRITERIA, description="each is a separate question"
    )
    categories: tuple[NonEmpty, ...] = Field(
        default=(), description="two, the positive one last, of texts that name none; as those of the cases otherwise"
    )
    combine: Literal["mean", "all"] = Field(
        default="mean", description="the weighted mean of the criteria's log-odds, or the least, as each must hold"
    )
    readout: Literal["generate", "probability"] = Field(default="probability", description="how an answer is read")

    @field_validator("categories", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return parse_categories(value) if isinstance(value, str) else [written(name) for name in value or ()]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.categories and len(checked(self.categories)) != 2:
            raise ValueError("a rubric tells two categories apart; give two, the positive one last")
        twice = [name for name, n in Counter(criterion.name.casefold() for criterion in self.criteria).items() if n > 1]
        if twice:
            raise ValueError(f"criterion {twice[0]!r} is there twice; keep one of them")
        return self


GOOD = RubricDeclaration(
    criteria=(RubricCriterion(name="good", ask="Is the response correct, and does it do what was asked?"),)
)


class RubricJudge(Judge):
    """Asks the yes-no questions of a rubric. Calls: one a criterion, of one token.

    Of a text with two categories the verdict is one of them; of a text without categories a score in 0..1, the mean
    probability of what speaks for it; a pair is judged by these scores.

    Args:
        declaration: the criteria, and how they are combined.
        combine: "mean" or "all"; None: as declared.
        readout: "probability" or "generate"; None: as declared.
    """

    name = "rubric"
    score_scale = (0.0, 1.0)

    def __init__(
        self, declaration: RubricDeclaration = GOOD, *, combine: str | None = None, readout: str | None = None
    ) -> None:
        super().__init__()
        self.name, self.declaration = declaration.name, declaration
        several = len(declaration.criteria) > 1
        self.combine = HParam(declaration.combine, COMBINES, search=None if several else ())
        self.readout = HParam(declaration.readout, READOUTS, search=("probability",))
        self.min_mass = min_mass_parameter()
        self.check = Question(_signature(declaration), ROLE, who=f"judge {self.name!r}", max_tokens=16)
        self.set(**{name: value for name, value in (("combine", combine), ("readout", readout)) if value is not None})

    @property
    def categories(self) -> tuple[str, ...]:
        return super().categories or self.declaration.categories

    def assess(self, case: Case) -> Verdict:
        criteria, shown = self.declaration.criteria, present(case)
        if case.categories and len(case.categories) != 2:
            raise DeclarationError(
                f"judge {self.name!r}: case {case.id!r} has {len(case.categories)} categories, and a rubric tells two "
                "apart. Use judge direct."
            )
        if case.categories:
            findings = concurrently(lambda criterion: self._of_categories(case, shown, criterion), criteria)
            return category_verdict(case, findings, combine=self.combine.value)
        findings = concurrently(lambda criterion: self._of_scores(shown, criterion), criteria)
        points = POINTS / sum(criterion.weight for criterion in criteria)
        verdict = verdict_of(case, findings, score_weight=points)
        if len(case.candidates) == 1:  # the levels are those of an answer, not of a score
            return verdict.model_copy(update={"distribution": None, "certainty": None})
        return verdict

    def _of_categories(self, case: Case, shown: PresentedCase, criterion: RubricCriterion) -> Finding:
        reading = self._read(shown, 0, criterion)
        return _finding(criterion).model_copy(
            update={
                "distribution": dict(zip(case.categories, (1 - reading.score, reading.score), strict=True)),
                "mass_read": reading.mass_read,
            }
        )

    def _of_scores(self, shown: PresentedCase, criterion: RubricCriterion) -> Finding:
        readings = concurrently(lambda place: self._read(shown, place, criterion), range(len(shown.responses)))
        finding = side_by_side(criterion.name, readings, guideline=criterion.ask)
        return finding.model_copy(update={"weight": criterion.weight})

    def _read(self, shown: PresentedCase, place: int, criterion: RubricCriterion) -> ScoreReading:
        """The probability that the criterion speaks for a text."""
        inputs = one_response(shown, place) | {"question": constant(criterion.ask)}
        form = fitting(self.check.ask.signature, tuple(inputs))
        answer: Answer = self.check(readout=self.readout.value, signature=form, **inputs)
        reading = answer.reading("answer")
        if criterion.passes == "yes":
            return reading
        return ScoreReading(1 - reading.score, reading.levels[::-1], reading.mass_read)


def _finding(criterion: RubricCriterion) -> Finding:
    return Finding(criterion=criterion.name, guideline=criterion.ask, weight=criterion.weight)


def _signature(declaration: RubricDeclaration) -> type[dspy.Signature]:
    """`YesNoOfResponse` with the user's task before its instructions."""
    parts: Sequence[str] = [text for text in (declaration.instructions, YesNoOfResponse.instructions) if text]
    signature: type[dspy.Signature] = YesNoOfResponse.with_instructions("\n".join(parts))
    return signature
