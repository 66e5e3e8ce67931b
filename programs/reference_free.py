"""Scoring without a reference: explicit scores, the implicit score, pairwise forms (arXiv 2304.00723).

What the texts are is the parameter `task`: a name of `data/tasks.yaml`, a YAML file of a user's, or plain words. The
aspect is the case's own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from ..data import Case, Finding, Verdict
from ..data.task_descriptions import DEFAULT_TASK, Task, task
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..engines.token_probabilities import TOP, YesNoLM, yes_no_mass
from ..errors import DeclarationError, Unreadable
from ..judging.delimiters import Shown, constant
from ..judging.evidence import ScoreReading, mean_reading, rescaled, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, aspect_text, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import instead, min_mass_parameter
from ..judging.registry import register
from ..judging.sampling import sample_answers
from ..judging.stage import Stage
from ..signatures import reference_free as signatures

SOURCE = "arXiv 2304.00723"
PERCENT = (0.0, 100.0)
POINT = 0.04  # log-odds per point of 0..100: one point of 1..5 weighs as much as 25 of these
SAMPLES = 5  # of the forms that reason first
MOST_SAMPLES = 20
TOP_TOKENS = 5  # whose probabilities the implicit score reads (section 3.1)
FORMS_WITH_ENDS = ("V1", "V2", "V5")


class Scoring(Judge):
    """What the three share: the task and its aspects, and texts scored one at a time."""

    scores_only = True

    asks_about_task = True

    def __init__(self, wording: str) -> None:
        super().__init__()
        self.task = HParam(wording)

    def set(self, **values: Any) -> Self:
        super().set(**values)
        task(self.task.value)  # a task that cannot be read is refused now rather than at the first case
        return self

    def aspect(self, case: Case) -> dict[str, str]:
        """The inputs that say what is judged: the task's wording and the aspect with its meaning."""
        return {"task": constant(self._task().wording), "aspect": aspect_text(self._task(), case.aspect)}

    def _task(self) -> Task:
        return task(self.task.value)


@register(
    "explicit",
    summary="a score 0..100 by an aspect, in five forms V1..V5",
    source=SOURCE,
    inputs="single texts, pairs; an aspect",
    calls="1 a text (V5: 5)",
)
class Explicit(Scoring):
    """Scores each text 0..100, written by the model.

    Forms: V1 both ends described; V2 the same in other words; V3 the aspect alone; V4 five described levels, put on
    0..100; V5 reason first, then the score, sampled and averaged. Calls: one a text and sample.

    Args:
        form: "V1" .. "V5".
        task: what the texts are (see the module).
        samples: answers per text, averaged; 0 means the form's own (V5: 5, others: 1). A single answer is greedy unless
            `temperature` is set: `samples=1, temperature=0.7` is one sampled answer, for V5 as well.
        readout: "generate", or "probability", which reads the stars of V4 from one token.
        tie_threshold: score differences of at most this many points are ties.
    """

    name = "explicit"

    def __init__(
        self,
        *,
        form: str = "V1",
        task: str = DEFAULT_TASK,
        samples: int = 0,
        readout: str = "generate",
        tie_threshold: float = 0.0,
    ) -> None:
        super().__init__(task)
        self.form = HParam(form, ("V1", "V2", "V3", "V4", "V5"))
        self.samples = HParam(samples, range(MOST_SAMPLES + 1), search=(1, 3, 5))
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.score_v1 = Stage(signatures.ExplicitV1, "score", max_tokens=16)
        self.score_v2 = Stage(signatures.ExplicitV2, "score", max_tokens=16)
        self.score_v3 = Stage(signatures.ExplicitV3, "score", max_tokens=16)
        self.score_v4 = Question(signatures.ExplicitV4, "score", max_tokens=16)
        self.score_v5 = Stage(signatures.ExplicitV5, "score", max_tokens=240)

    def assess(self, case: Case) -> Verdict:
        if self.readout.value == "probability" and self.form.value != "V4":
            raise DeclarationError(
                f"judge 'explicit': form {self.form.value} is written. Use --readout generate, or --set form=V4."
            )
        shown = present(case)
        wording = self._wording(case)
        readings = concurrently(lambda response: self._score(shown.request, response, wording), shown.responses)
        finding = side_by_side(wording["aspect"], readings)
        return verdict_of(case, [finding], tie_threshold=self.tie_threshold.value * POINT, score_weight=POINT)

    def _wording(self, case: Case) -> dict[str, str]:
        _, aspect = self._task().aspect(case.aspect)
        wording, more = self.aspect(case), {}
        if self.form.value in FORMS_WITH_ENDS:
            more = {"worst": aspect.worst, "best": aspect.best}
        if self.form.value == "V4":
            more = {"levels": "\n".join(f"{level}: {aspect.level(level)}" for level in range(1, 6))}
        is_known = isinstance(wording["aspect"], Shown)
        return wording | {name: constant(text) if is_known else text for name, text in more.items()}

    def _score(self, source: str, text: str, wording: dict[str, str]) -> ScoreReading:
        inputs = {"source": source, "text": text, **wording}
        if self.readout.value == "probability":
            return self._stars(inputs)
        score = self._stars if self.form.value == "V4" else self._number
        return mean_reading(sample_answers(lambda: score(inputs), self._samples()))

    def _stars(self, inputs: dict[str, str]) -> ScoreReading:
        answer: Answer = self.score_v4(readout=self.readout.value, **inputs)
        reading = answer.reading("stars")
        return replace(reading, score=rescaled(reading.score, (1, 5), PERCENT))

    def _number(self, inputs: dict[str, str]) -> ScoreReading:
        stage: Stage = getattr(self, f"score_{self.form.value.lower()}")
        answer = stage(**inputs)
        return ScoreReading(float(answer.score), explanation=answer.get("reason", "").strip())

    def _samples(self) -> int:
        return self.samples.value or (SAMPLES if self.form.value == "V5" else 1)


@register(
    "implicit",
    summary="how probable Yes is, asked whether the text is good",
    source=SOURCE,
    inputs="single texts, pairs; an aspect",
    calls="1 a text, of one token",
)
class Implicit(Scoring):
    """Scores each text by how probable the model finds Yes, asked whether it is good: one call of one token a text.

    With p_yes and p_no the probabilities on the yes- and no-words among the `top` most probable tokens, 0 where none is
    among them, the score is max(p_yes, 1 - p_no), in [0, 1] (section 3.1); as p_yes + p_no is at most 1, that is
    1 - p_no. Where neither word is among the tokens the formula gives the best score, 1, to a text that the model said
    nothing about; such a judgment is unscored, unless `unseen` is "formula".

    Args:
        task: what the texts are (see the module).
        top: how many of the most probable tokens count, 1..20; the paper's API gave 5. A yes or no further down is left
            out, so more than 5 changes scores.
        unseen: where neither word is among them: "unscored", or "formula" for the formula's 1.
        tie_threshold: score differences of at most this much are ties.
    """

    name = "implicit"

    def __init__(
        self,
        *,
        task: str = DEFAULT_TASK,
        top: int = TOP_TOKENS,
        unseen: str = "unscored",
        tie_threshold: float = 0.0,
    ) -> None:
        super().__init__(task)
        self.top = HParam(top, range(1, TOP + 1), search=())
        self.unseen = HParam(unseen, ("unscored", "formula"), search=(), implied=True)
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.ask_yes_no = Stage(signatures.IsGood, "score", reader=YesNoLM)

    def assess(self, case: Case) -> Verdict:
        shown = present(case)
        wording = self.aspect(case)
        readings = concurrently(lambda response: self._score(shown.request, response, wording), shown.responses)
        return verdict_of(case, [side_by_side(wording["aspect"], readings)], tie_threshold=self.tie_threshold.value)

    def _score(self, source: str, text: str, wording: dict[str, str]) -> ScoreReading:
        (evidence,) = self.ask_yes_no(source=source, text=text, **wording).evidence
        p_yes, p_no = yes_no_mass(evidence["words"], self.top.value)
        if p_yes + p_no <= 0 and self.unseen.value == "unscored":
            top = f"the {self.top.value} most probable tokens"
            raise Unreadable(
                f"stage 'score': neither yes nor no is among {top}. {instead(evidence)}Use --set top={TOP}, or another "
                "model."
            )
        return ScoreReading(min(1.0, max(p_yes, 1 - p_no)), mass_read=min(1.0, p_yes + p_no))


@register(
    "pairwise",
    summary="A, B or equal by an aspect, in four forms V1..V4",
    source=SOURCE,
    inputs="pairs; an aspect",
    calls="2 (V4: 10)",
)
class Pairwise(Scoring):
    """Asks which of two texts is better by an aspect: A, B, or C for equally good.

    Forms: V1 plain; V2 the question before the texts; V3 mirrored, which is worse; V4 reason first, sampled and voted.
    Calls: one an order and sample.

    Args:
        form: "V1" .. "V4".
        task: what the texts are (see the module).
        samples: answers per order, voted; 0 means the form's own (V4: 5, others: 1). A single answer is greedy unless
            `temperature` is set.
        readout: "generate", or "probability" (not V4).
        order: "one" or "both".
        tie_threshold: margins up to this many log-odds are ties.
    """

    name = "pairwise"

    def __init__(
        self,
        *,
        form: str = "V1",
        task: str = DEFAULT_TASK,
        samples: int = 0,
        readout: str = "generate",
        order: str = "both",
        tie_threshold: float = 0.0,
    ) -> None:
        super().__init__(task)
        self.form = HParam(form, ("V1", "V2", "V3", "V4"))
        self.samples = HParam(samples, range(MOST_SAMPLES + 1), search=(1, 3, 5))
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"))
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.compare_v1 = Question(signatures.PairwiseV1, "judgment", max_tokens=16)
        self.compare_v2 = Question(signatures.PairwiseV2, "judgment", max_tokens=16)
        self.compare_v3 = Question(signatures.PairwiseV3, "judgment", max_tokens=16)
        self.compare_v4 = Question(signatures.PairwiseV4, "judgment", max_tokens=240)

    @property
    def pairs_only(self) -> bool:
        return True

    def assess(self, case: Case) -> Verdict:
        if self.readout.value == "probability" and self.form.value == "V4":
            raise DeclarationError(
                "judge 'pairwise': form V4 writes its reason first. Use --readout generate, or another form."
            )
        findings = concurrently(lambda order: self._compare(case, order), orders(self.order.value))
        return verdict_of(case, findings, tie_threshold=self.tie_threshold.value)

    def _compare(self, case: Case, order: Order) -> Finding:
        shown = present(case, order)
        wording = self.aspect(case)
        inputs = {"source": shown.request, "text_a": shown.responses[0], "text_b": shown.responses[1], **wording}
        form, readout = self.form.value, self.readout.value
        question: Question = getattr(self, f"compare_{form.lower()}")
        samples = 1 if readout == "probability" else self.samples.value or (SAMPLES if form == "V4" else 1)
        answers: list[Answer] = sample_answers(lambda: question(readout=readout, **inputs), samples)
        shares = mean_shares([answer.shares("worse" if form == "V3" else "better") for answer in answers])
        first, second = (shares["B"], shares["A"]) if form == "V3" else (shares["A"], shares["B"])
        finding = Finding(
            criterion=wording["aspect"],
            distribution={"a": first, "b": second, "tie": shares["C"]},
            samples=samples,
            mass_read=answers[0].mass_read,
            explanation=" | ".join(answer.explanation for answer in answers if answer.explanation),
        )
        return in_case_order(finding, order)


def mean_shares(answers: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean probability of each option over several answers; of written ones the proportion of votes."""
    return {option: math.fsum(shares[option] for shares in answers) / len(answers) for option in answers[0]}
