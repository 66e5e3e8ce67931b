"""`direct`: one plain question, the baseline to beat (single and pairwise grading, arXiv 2306.05685).

`grading` says what is asked: `pairwise` which of the two is better, `single` a score 1..5 of each candidate alone, or
`both`, whose log-odds are added. With the `probability` readout a pair costs 2, 2 or 4 calls of one token.
A text with categories is asked which of them it belongs to, with the categories in their order and in the reverse one.
`layout=shared` writes both questions so that a text alone is the beginning of the prompt of the pair that it leads: a
server that keeps prefixes computes about a third fewer tokens. An optimizer's own wording for one question ends that.
"""

from collections.abc import Callable, Sequence
from functools import partial

import dspy

from ..data import Case, Finding, Verdict
from ..data.task_descriptions import OVERALL
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.category_question import ask_category
from ..judging.category_verdict import category_verdict
from ..judging.evidence import ScoreReading, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.turned_scale import SCALES, both_directions, turned
from ..signatures import direct as signatures
from ..signatures.categories import Classify

Ask = Callable[[], Finding | ScoreReading]


@register(
    "direct",
    summary="one plain question: which is better, how good is each, or both",
    source="arXiv 2306.05685",
    inputs="pairs, single texts, categories",
    calls="a pair: 4, of one token each; a text: 1; of categories 2",
)
class Direct(Judge):
    """Asks one question and reads the answer.

    Args:
        grading: "pairwise" (which of two texts is better), "single" (each text gets a score by itself) or "both".
        readout: "generate" (the model writes the answer) or "probability" (one token's probabilities are read); scores
            of scale=both are always read.
        order: "one" or "both", of the texts of a pair, or of categories; single scores are asked of each candidate
            alone and have no order.
        tie_threshold: margins up to this many log-odds are ties.
        score_weight: log-odds per point of difference between two single scores.
        scale: "up", 1 very poor to 5 excellent; or "both", asked a second time with 1 excellent to 5 very poor, which
            costs another call a text, of one token.
        layout: "separate" (a system prompt for each question) or "shared" (one, and the same beginning of the texts).
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
        scale: str = "up",
        layout: str = "separate",
    ) -> None:
        super().__init__()
        self.grading = HParam(grading, ("pairwise", "single", "both"), of_pairs=True)
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"), idle_when={"grading": "single"})
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.score_weight = HParam(score_weight, least=0.0)
        self.scale = HParam(scale, SCALES, search=(), implied=True)
        self.layout = HParam(layout, ("separate", "shared"), search=(), implied=True)
        self.prefer = Question(signatures.Prefer, "judgment", max_tokens=32)
        self.grade = Question(signatures.Grade, "judgment", max_tokens=32)
        self.prefer_shared = Question(signatures.SharedPrefer, "judgment", max_tokens=32)
        self.grade_shared = Question(signatures.SharedGrade, "judgment", max_tokens=32)
        self.classify = Question(Classify, "judgment", max_tokens=32)
        for stage in (self.prefer_shared, self.grade_shared, self.classify):
            stage.imply()

    def assess(self, case: Case) -> Verdict:
        if case.categories:
            ways = {"readout": self.readout.value, "order": self.order.value}
            return category_verdict(case, ask_category(self.classify, case, **ways))
        grading = self.grading.value if case.is_pair else "single"
        if grading != "single" and not case.is_pair:
            raise DeclarationError(f"judge 'direct': case {case.id!r} is no pair; use grading=single.")
        shown = present(case)
        texts: list[Ask] = []
        pairs: list[Ask] = []
        if grading != "pairwise":
            texts = [partial(self._grade, shown.request, response, shown.aspect) for response in shown.responses]
        if grading != "single":
            pairs = [partial(self._preference, case, order) for order in orders(self.order.value)]
        answers = concurrently(lambda ask: ask(), alternating(texts, pairs))
        findings = [answer for answer in answers if isinstance(answer, Finding)]
        readings = [answer for answer in answers if isinstance(answer, ScoreReading)]
        if readings:
            findings.append(side_by_side(case.aspect or OVERALL, readings))
        return verdict_of(case, findings, tie_threshold=self.tie_threshold.value, score_weight=self.score_weight.value)

    def _preference(self, case: Case, order: Order) -> Finding:
        shown = present(case, order)
        ask = self.prefer_shared if self.layout.value == "shared" else self.prefer
        answer = ask(
            readout=self.readout.value,
            request=shown.request,
            response_a=shown.responses[0],
            response_b=shown.responses[1],
            aspect=shown.aspect,
        )
        finding = Finding(
            criterion=case.aspect or OVERALL, distribution=answer.preference("better"), mass_read=answer.mass_read
        )
        return in_case_order(finding, order)

    def _grade(self, request: str, response: str, aspect: str) -> ScoreReading:
        is_shared = self.layout.value == "shared"
        ask = self.grade_shared if is_shared else self.grade
        name = "response_a" if is_shared else "response"
        inputs = {"request": request, "aspect": aspect, name: response}

        def read(form: type[dspy.Signature] | None) -> ScoreReading:
            readout = self.readout.value if self.scale.value == "up" else "probability"
            answer: Answer = ask(readout=readout, signature=form, **inputs)
            return answer.reading("score")

        if self.scale.value == "up":
            return read(None)
        up, down = concurrently(read, [None, turned(ask.ask.signature, "score")])
        return both_directions(up, down, 1)


def alternating(texts: Sequence[Ask], pairs: Sequence[Ask]) -> list[Ask]:
    """Each question about a text before the one about the pair that begins with it.

    Asked in this order one after the other, the second of the two reads on where the first one ended.
    """
    places = range(max(len(texts), len(pairs)))
    return [ask for place in places for ask in (*texts[place : place + 1], *pairs[place : place + 1])]
