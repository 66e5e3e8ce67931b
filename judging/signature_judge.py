"""Your own judge: a `dspy.Signature` and a readout.

The signature's inputs say what the judge is shown, its outputs what it is asked for, its docstring what to do. One
signature serves both readouts (see `Question`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self, get_args

import dspy

from ..data import Case, Finding, Verdict
from ..data.task_descriptions import OVERALL
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from .answer_types import Levels, Options, OutputType
from .evidence import ScoreReading, side_by_side
from .hparam import HParam
from .judge import Judge, PresentedCase, in_case_order, orders, present, verdict_of
from .question import READABLE, Answer, Question, output_types
from .reading_floor import min_mass_parameter
from .reading_ways import with_ways

PAIR, SINGLE, SCORES = ("response_a", "response_b"), ("response",), ("score_a", "score_b")
ROLE = "judgment"  # of its only question


class SignatureJudge(Judge):
    """Asks what a signature asks.

    A signature with `response_a` and `response_b` judges pairs: it asks for a letter, or for `score_a` and `score_b`.
    One with `response` asks for a score of each candidate alone, and judges single texts, pairs and choices. Both may
    take `request`, `aspect` and `profile`. Instructions that do not mention the fence `<<<` get a sentence about it.
    Calls: one an order of a pair, or one a text; two an order where two scores are read from probabilities.

    Args:
        signature: the contract; see the module.
        name: the judge's name in verdicts and messages; empty for the signature's name.
        readout: "generate" or "probability"; None is the first of the two that the signature allows.
        order: "one" or "both"; texts judged alone have no order.
        tie_threshold: margins up to this much are ties, in points of the scale, or in log-odds of letters.
        levels: names of the scale's levels, lowest first, for the probability readout.

    Raises:
        DeclarationError: an input that the judge cannot fill, outputs that give no verdict, or a wrong parameter.
    """

    scores_only = True

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
        who = f"judge {self.name!r}"
        self.inputs = _checked_inputs(signature, who, self.fills)
        outputs = _checked_outputs(signature, who, levels)
        self.score_outputs = [name for name, kind in sorted(outputs.items()) if isinstance(kind, Levels)]
        explanations = len(signature.output_fields) - len(outputs)
        self.question = Question(signature, ROLE, levels=levels, who=who, max_tokens=64 + 240 * explanations)
        readouts = self.question.readouts
        self.readout = HParam(readouts[0], readouts)
        self.min_mass = min_mass_parameter()
        self.order = HParam("both", ("one", "both"), search=None if self.is_pair else ())
        self.tie_threshold = HParam(0.0, least=0.0)
        self.set(readout=readout or readouts[0], order=order, tie_threshold=tie_threshold)

    @property
    def is_pair(self) -> bool:
        return "response_a" in self.inputs

    @property
    def pairs_only(self) -> bool:
        return self.is_pair

    def set(self, **values: Any) -> Self:
        values = with_ways(values)
        if values.get("readout") in ("generate", "probability"):
            self.question.check_readout(values["readout"])
        return super().set(**values)

    def assess(self, case: Case) -> Verdict:
        criterion = (case.aspect or OVERALL) if "aspect" in self.inputs else self.name
        return self.verdict(case, self.findings(case, criterion))

    def verdict(self, case: Case, findings: Sequence[Finding]) -> Verdict:
        kind = next(iter(self.question.outputs.values()))
        point = kind.log_odds_per_point if isinstance(kind, Levels) else 1.0
        return verdict_of(case, findings, tie_threshold=self.tie_threshold.value * point, score_weight=point)

    def findings(self, case: Case, criterion: str, /, **more: str) -> list[Finding]:
        """One finding for each order of a pair, or one of all candidates read alone; `more` are further inputs."""
        if self.is_pair:
            return concurrently(lambda order: self._compare(case, order, criterion, more), orders(self.order.value))
        shown = present(case)
        return [side_by_side(criterion, concurrently(lambda text: self._grade(shown, text, more), shown.responses))]

    def _compare(self, case: Case, order: Order, criterion: str, more: Mapping[str, str]) -> Finding:
        shown = present(case, order)
        answer = self._ask(shown, dict(zip(PAIR, shown.responses, strict=True)), more)
        if self.score_outputs:
            finding = side_by_side(criterion, [answer.reading(name) for name in self.score_outputs])
        else:
            (letters,) = self.question.outputs
            finding = Finding(criterion=criterion, distribution=answer.preference(letters), mass_read=answer.mass_read)
        return in_case_order(finding.model_copy(update={"explanation": answer.explanation}), order)

    def _grade(self, shown: PresentedCase, text: str, more: Mapping[str, str]) -> ScoreReading:
        answer = self._ask(shown, dict(zip(SINGLE, (text,), strict=True)), more)
        (score,) = self.score_outputs
        return answer.reading(score, answer.explanation)

    def _ask(self, shown: PresentedCase, texts: Mapping[str, str], more: Mapping[str, str]) -> Answer:
        known = {"request": shown.request, "aspect": shown.aspect, "profile": shown.profile, **texts, **more}
        answer: Answer = self.question(readout=self.readout.value, **{name: known[name] for name in self.inputs})
        return answer


def _checked_inputs(signature: type[dspy.Signature], who: str, fills: Collection[str]) -> tuple[str, ...]:
    inputs = tuple(signature.input_fields)
    for name in inputs:
        if name not in (*fills, *PAIR, *SINGLE):
            known = ", ".join([*fills, *SINGLE])
            raise DeclarationError(
                f"{who}: nothing fills the input {name!r}. Known are {known}, or response_a and response_b."
            )
    texts = tuple(sorted({*PAIR, *SINGLE} & set(inputs)))
    if texts not in (PAIR, SINGLE):
        texts_found = ", ".join(texts) or "no response"
        raise DeclarationError(
            f"{who}: its inputs hold {texts_found}. Take response alone, or response_a and response_b."
        )
    return inputs


def _checked_outputs(signature: type[dspy.Signature], who: str, levels: Sequence[str]) -> Mapping[str, OutputType]:
    """The outputs of a verdict; raises DeclarationError when they give none."""
    outputs = output_types(signature, who, levels)
    for name, kind in outputs.items():
        if isinstance(kind, Options) and kind.labels is None:
            offered = ", ".join(map(repr, kind.names))
            raise DeclarationError(f"{who}: the output {name!r} offers {offered}. {READABLE}")
    is_pair = PAIR[0] in signature.input_fields
    kinds = list(outputs.values())
    if is_pair:
        letters = len(kinds) == 1 and isinstance(kinds[0], Options)
        scores = set(outputs) == set(SCORES) and all(isinstance(kind, Levels) for kind in kinds)
        fits, needed = letters or scores, "one output of A and B, or score_a and score_b"
        if scores and len({(kind.lo, kind.hi) for kind in kinds if isinstance(kind, Levels)}) > 1:
            raise DeclarationError(f"{who}: score_a and score_b have different scales. Give both the same type.")
    else:
        fits, needed = len(kinds) == 1 and isinstance(kinds[0], Levels), "one output of whole numbers"
    if not fits:
        asked_for = ", ".join(outputs) or "nothing"
        shown = "pairs" if is_pair else "single texts"
        raise DeclarationError(
            f"{who}: it judges {shown} and asks for {asked_for}. Declare {needed}; str outputs explain."
        )
    types = [signature.output_fields[name].annotation for name in outputs]
    if levels and not all(type(value) is int for type_ in types for value in get_args(type_) or ("",)):
        raise DeclarationError(
            f"{who}: levels name whole numbers such as Literal[1, 2, 3], and {', '.join(outputs)} asks for none. "
            "Leave levels out, or declare such an output."
        )
    return outputs
