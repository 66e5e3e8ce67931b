"""`direct`: one plain question, the baseline to beat (single and pairwise grading, arXiv 2306.05685).

`grading` says what is asked: `pairwise` which of the two is better, `single` a score 1..5 of each candidate alone, or
`both`, whose log-odds are added. With the `probability` readout a pair costs 2, 2 or 4 calls of one token.
"""

from typing import Any

from ..data import Case, Finding, Verdict
from ..data.task_descriptions import OVERALL
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.evidence import ScoreReading, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..signatures import direct as signatures


@register(
    "direct",
    summary="one plain question: which is better, how good is each, or both",
    source="arXiv 2306.05685",
    inputs="pairs, single texts",
    calls="a pair: 4, of one token each; a text: 1",
)
class Direct(Judge):
    """Asks one question and reads the answer.

    Args:
        grading: "pairwise", "single" or "both".
        readout: "generate" (the model writes the answer) or "probability" (one token's probabilities are read).
        order: "one" or "both"; single scores are asked of each candidate alone and have no order.
        tie_threshold: margins up to this many log-odds are ties.
        score_weight: log-odds per point of difference between two single scores.
    """

    name = "direct"

    def __init__(
        self,
        *,
        grading: str = "both",
        readout: str = "probability",
        order: str = "both",
        tie_threshold: float = 0.0,
        score_weight: float = 1.0,
    ) -> None:
        super().__init__()
        self.grading = HParam(grading, ("pairwise", "single", "both"))
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"), idle_when={"grading": "single"})
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.score_weight = HParam(score_weight, least=0.0)
        self.prefer = Question(signatures.Prefer, "judgment", max_tokens=32)
        self.grade = Question(signatures.Grade, "judgment", max_tokens=32)

    def assess(self, case: Case) -> Verdict:
        grading = self.grading.value if case.is_pair else "single"
        if grading != "single" and not case.is_pair:
            raise DeclarationError(f"judge 'direct': case {case.id!r} is no pair; use grading=single.")
        asks: list[Any] = []
        if grading != "single":
            asks += [lambda order=order: self._preference(case, order) for order in orders(self.order.value)]
        if grading != "pairwise":
            asks.append(lambda: self._grades(case))
        findings = concurrently(lambda ask: ask(), asks)
        return verdict_of(case, findings, tie_threshold=self.tie_threshold.value, score_weight=self.score_weight.value)

    def _preference(self, case: Case, order: Order) -> Finding:
        shown = present(case, order)
        answer = self.prefer(
            readout=self.readout.value,
            request=shown.request,
            response_a=shown.responses[0],
            response_b=shown.responses[1],
            aspect=shown.aspect,
        )
        finding = Finding(
            criterion=case.aspect or OVERALL, distribution=answer.preference("better"), coverage=answer.coverage
        )
        return in_case_order(finding, order)

    def _grades(self, case: Case) -> Finding:
        shown = present(case)
        readings = concurrently(lambda response: self._grade(shown.request, response, shown.aspect), shown.responses)
        return side_by_side(case.aspect or OVERALL, readings)

    def _grade(self, request: str, response: str, aspect: str) -> ScoreReading:
        answer: Answer = self.grade(readout=self.readout.value, request=request, response=response, aspect=aspect)
        return answer.reading("score")
