"""Your own judge: a `dspy.Signature` and a readout.

The signature's inputs say what the judge is shown, its outputs what it is asked for, its docstring what to do. One
signature serves both readouts: what the model writes as a letter or a whole number is, with `probability`, read from
one token, and explanations are then not asked for.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Self

import dspy

from ..data import Case, Finding, Verdict
from ..data.task_descriptions import OVERALL
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from .answer_types import MOST_LEVELS
from .evidence import ScoreReading, side_by_side
from .hparam import HParam
from .judge import Judge, PresentedCase, in_case_order, orders, present, verdict_of
from .signature_schema import PAIR, SINGLE, form_of
from .stage import Stage

READOUTS = ("generate", "probability")


class SignatureJudge(Judge):
    """Asks what a signature asks.

    A signature with `response_a` and `response_b` judges pairs: it asks for a letter, or for `score_a` and `score_b`.
    One with `response` asks for a score of each candidate alone, and judges single texts, pairs and choices. Both may
    take `request`, `aspect` and `profile`. Instructions that do not mention the fence `<<<` get a sentence about it.
    Calls: one an order of a pair, or one a text; two an order where two scores are read from probabilities.

    Args:
        signature: the contract; see the module.
        name: how verdicts and messages call the judge; empty means as the signature is called.
        readout: "generate" or "probability"; None is the first of the two that the signature allows.
        order: "one" or "both"; texts judged alone have no order.
        tie_threshold: margins up to this much are ties, in points of the scale, or in log-odds of letters.
        levels: names of the scale's levels, lowest first, for the probability readout.

    Raises:
        DeclarationError: an input that the judge cannot fill, outputs that give no verdict, or a wrong parameter.
    """

    fills: tuple[str, ...] = ("request", "aspect", "profile")

    def __init__(
        self,
        signature: type[dspy.Signature],
        *,
        name: str = "",
        readout: str | None = None,
        order: str = "both",
        tie_threshold: float = 0.0,
        levels: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.name = name or signature.__name__
        self.form = form_of(signature, f"judge {self.name!r}", self.fills, levels)
        written, read = self.form.written, self.form.read
        possible = [way for way, form in zip(READOUTS, (written, read), strict=True) if form]
        self.readout = HParam(possible[0], possible)
        self.order = HParam("both", ("one", "both"))
        self.tie_threshold = HParam(0.0, least=0.0)
        most = 64 + 240 * len(self.form.explanations)
        self.write = Stage(written, "judgment", max_tokens=most) if written else None
        self.read = Stage(read, "judgment") if read else None
        self.set(readout=readout or possible[0], order=order, tie_threshold=tie_threshold)

    @property
    def pairs_only(self) -> bool:
        return self.form.is_pair

    def set(self, **values: Any) -> Self:
        readout, asked = values.get("readout"), ", ".join(self.form.asked)
        if readout == "generate" and not self.form.written:
            raise DeclarationError(
                f"judge {self.name!r}: readout=generate, but {asked} has a decision type, which is always read from "
                "probabilities. Use readout=probability, or declare a Literal."
            )
        if readout == "probability" and not self.form.read:
            raise DeclarationError(
                f"judge {self.name!r}: readout=probability reads at most {MOST_LEVELS} levels from one token, and "
                f"{asked} has more. Use readout=generate, or a scale of at most {MOST_LEVELS} levels."
            )
        return super().set(**values)

    def assess(self, case: Case) -> Verdict:
        criterion = (case.aspect or OVERALL) if "aspect" in self.form.inputs else self.name
        return self.verdict(case, self.findings(case, criterion))

    def verdict(self, case: Case, findings: Sequence[Finding]) -> Verdict:
        point = self.form.point
        return verdict_of(case, findings, tie_threshold=self.tie_threshold.value * point, score_weight=point)

    def findings(self, case: Case, criterion: str, /, **more: str) -> list[Finding]:
        """One finding for each order of a pair, or one of the candidates each read alone; `more` are further inputs."""
        if self.form.is_pair:
            return concurrently(lambda order: self._compare(case, order, criterion, more), orders(self.order.value))
        shown = present(case)
        return [side_by_side(criterion, concurrently(lambda text: self._grade(shown, text, more), shown.responses))]

    def _compare(self, case: Case, order: Order, criterion: str, more: Mapping[str, str]) -> Finding:
        shown = present(case, order)
        answer, coverage = self._ask(shown, dict(zip(PAIR, shown.responses, strict=True)), more)
        told = self.form.explanation(answer)
        note = " [shown in the other order: its A is b]" if told and order == "ba" else ""
        finding = self.form.compared(criterion, answer, coverage).model_copy(update={"explanation": told + note})
        return in_case_order(finding, order)

    def _grade(self, shown: PresentedCase, text: str, more: Mapping[str, str]) -> ScoreReading:
        answer, coverage = self._ask(shown, dict(zip(SINGLE, (text,), strict=True)), more)
        (reading,) = self.form.readings(answer, coverage)
        return dataclasses.replace(reading, explanation=self.form.explanation(answer))

    def _ask(
        self, shown: PresentedCase, texts: Mapping[str, str], more: Mapping[str, str]
    ) -> tuple[dspy.Prediction, float | None]:
        """The answer, and its coverage when it was read from probabilities."""
        known = {"request": shown.request, "aspect": shown.aspect, "profile": shown.profile, **texts, **more}
        inputs = {name: known[name] for name in self.form.inputs}
        if self.readout.value == "probability" and self.read:
            answer = self.read(**inputs)
            return answer, answer.coverage
        assert self.write is not None
        return self.write(**inputs), None
