"""Fennec: criteria -> guideline -> judgment per criterion -> sum -> correction of weak responses (arXiv 2405.12163).

Criteria come from the request alone and guidelines from request and criterion, so cases that share a request share
them: equal calls are made once. Branches run at once. Scores are summed over branches and the larger sum wins; equal
sums tie. A response that scored below 3 on a criterion is rewritten from its own judgments by just those criteria: its
score and what the judge said of it, never the other response or what was said of that one. Where a pair was judged in
both orders, these are the judgments that showed the response first.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import dspy

from ..data import Candidate, Case, Correction, Finding, Judged, Verdict
from ..data.question_bank import question_bank
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.delimiters import unfenced
from ..judging.evidence import ScoreReading, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import LearningJudge, PresentedCase, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.stage import Stage
from ..signatures import fennec as signatures
from .criterion_ranking import Priorities
from .own_judgments import of_response

SOURCE = "Fennec, arXiv 2405.12163"
MOST_BRANCHES = 10
WEAK_BELOW = 3  # arXiv 2405.12163, section 3.1: responses below 3 are corrected
GUIDELINE_TOKENS = 900  # five levels of one to three sentences, and how they differ
MARKS = " -*\t\n"  # of a list, around a criterion


@register(
    "fennec",
    summary="N criteria, a guideline each, a judgment each in both orders, summed",
    source=SOURCE,
    inputs="pairs",
    calls="1 + N + 2N",
)
class Fennec(LearningJudge):
    """Judges a pair criterion by criterion, or with `single` each candidate alone.

    Calls for one pair in both orders, generated: 1 + N guidelines + 2 N judgments (N branches). The probability
    readout reads each of the two scores of a judgment from one token: 1 + N + 4 N calls, 4 N of them of one token.
    The priority "asked" adds 1. A weak text costs 1 correction, and N single judgments each of the old and the new text
    when they are compared (with `single` those of the old text exist already).

    Args:
        branches: criteria at most, 1..10.
        keep: judge by this many of them only, those of the highest priority; 0 keeps all.
        priority: "given" (the model's own order), "asked" (one more call ranks them), or "learned" (see `learn`).
        guideline: write a guideline per criterion, or judge by the criterion alone.
        readout: "generate" or "probability", for the judgments.
        order: "one" or "both"; single scores have no order.
        tie_threshold: summed score differences of at most this many points are ties.
        single: score each candidate alone.
        correct: rewrite weak candidates.
        weak_below: a candidate is weak by a criterion on which it scored below this, 1..5.
        rejudge: score each rewritten candidate before and after, alone.
        criteria: a question bank (a name, such as "fennec", or a YAML file) whose questions about a text, those that
            speak for it, are the criteria of every case, so that a head learns a weight for each; no call finds
            criteria then. Empty: the model writes them for each request.
    """

    name = "fennec"
    scores_only = True

    def __init__(
        self,
        *,
        branches: int = 5,
        keep: int = 0,
        priority: str = "given",
        guideline: bool = True,
        readout: str = "generate",
        order: str = "both",
        tie_threshold: float = 0.0,
        single: bool = False,
        correct: bool = False,
        weak_below: float = WEAK_BELOW,
        rejudge: bool = True,
        criteria: str = "",
    ) -> None:
        super().__init__()
        self.correct = self.rewrites = correct
        self.name = "fennec-correct" if correct else "fennec-single" if single else "fennec"
        self.single = HParam(single, (True, False), search=())  # decides which cases can be judged
        self.branches = HParam(branches, range(1, MOST_BRANCHES + 1), search=())  # `keep` costs no new calls
        self.keep = HParam(keep, range(MOST_BRANCHES + 1), search=_kept_counts)
        self.priority = HParam(
            priority, ("given", "asked", "learned"), search=("given", "asked"), idle_when={"keep": 0}
        )
        self.priorities = Priorities()
        self.guideline = HParam(guideline, (True, False))
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"))
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.weak_below = HParam(weak_below, least=1, most=5, affects_verdict=False, implied=True)
        self.rejudge = HParam(rejudge, (True, False), affects_verdict=False)
        self.criteria = HParam(criteria, search=(), implied=True)
        self.find_criteria = Stage(signatures.FindCriteria, "criteria", max_tokens=320, check=_some_criterion)
        self.rank_criteria = Stage(signatures.RankCriteria, "criteria", max_tokens=64)
        self.rank_criteria.task = "ranking"
        self.write_guideline = Stage(signatures.WriteGuideline, "guideline", max_tokens=GUIDELINE_TOKENS)
        self.judge_pair = Question(signatures.JudgePair, "judgment", max_tokens=400)
        self.judge_single = Question(signatures.JudgeSingle, "judgment", max_tokens=240)
        self.rewrite = Stage(
            signatures.Correct,
            "correction",
            max_tokens=600,
            check=_some_text,
            affects_verdict=False,
        )

    @property
    def pairs_only(self) -> bool:
        return not (self.single.value or self.correct)

    def set(self, **values: Any) -> Self:
        super().set(**values)
        self._fixed_criteria()  # a bank that cannot be read is refused now rather than at the first case
        return self

    def learn(self, judged: Iterable[Judged]) -> Self:
        """Learn from labelled verdicts of this program which criteria decide, and judge by those first."""
        self.priorities.learn(judged)
        self.priority.set("learned")
        return self

    def has_seen(self, case: Case) -> bool:
        return self.priority.value == "learned" and self.priorities.has_seen(case)

    def assess(self, case: Case) -> Verdict:
        criteria = self._criteria(present(case))
        separately = self.single.value or not case.is_pair
        branch = self._alone if separately else self._compared
        judgments = _flat(concurrently(lambda criterion: branch(case, criterion), criteria))
        findings = [judgment.finding for judgment in judgments]
        verdict = verdict_of(case, findings, tie_threshold=self.tie_threshold.value)
        if self.correct:
            verdict = verdict.model_copy(update={"corrections": self._corrections(case, judgments, criteria)})
        return verdict

    def _criteria(self, shown: PresentedCase) -> list[str]:
        """At most `branches` criteria without repeats, the most decisive first, and of those at most `keep`; all that
        are fixed."""
        if fixed := self._fixed_criteria():
            return self._by_priority(shown, fixed)[: self.keep.value] if self.keep.value else fixed
        answer = self.find_criteria(request=shown.request, count=self.branches.value)
        named: dict[str, str] = {}
        for line in answer.criteria:
            criterion = line.strip(MARKS)
            if criterion:
                named.setdefault(criterion.casefold(), criterion)
        criteria = list(named.values())[: self.branches.value]
        keep = self.keep.value or len(criteria)
        if keep >= len(criteria):
            return criteria  # all are judged: their order cannot matter
        return self._by_priority(shown, criteria)[:keep]

    def _fixed_criteria(self) -> list[str]:
        """The criteria of every case, as `name: question`; none where the model writes them."""
        if not self.criteria.value:
            return []
        bank = question_bank(self.criteria.value)
        questions = [q for q in bank.questions if q.about == "text" and q.sign > 0] if bank else []
        if not questions:
            raise DeclarationError(
                f"judge {self.name!r}, criteria: {self.criteria.value!r} has no question that speaks for a text. "
                "Give another bank."
            )
        return [f"{question.name}: {question.ask}" for question in questions]

    def _by_priority(self, shown: PresentedCase, criteria: list[str]) -> list[str]:
        if self.priority.value == "learned":
            if not self.priorities.shares:
                raise DeclarationError(
                    f"judge {self.name!r}: priority=learned, but nothing was learned. Give --learn RUN."
                )
            return self.priorities.sorted(criteria)
        if self.priority.value == "given":
            return criteria
        listed = "\n".join(f"{number}. {criterion}" for number, criterion in enumerate(criteria, start=1))
        named = self.rank_criteria(request=shown.request, criteria=listed).order
        ranked = [criteria[number - 1] for number in dict.fromkeys(named) if 1 <= number <= len(criteria)]
        return [*ranked, *(criterion for criterion in criteria if criterion not in ranked)]

    def _guideline(self, shown: PresentedCase, criterion: str) -> str:
        if not self.guideline.value:
            return ""
        return guideline_text(self.write_guideline(request=shown.request, criterion=criterion))

    def _compared(self, case: Case, criterion: str) -> list["_Judgment"]:
        """The judgment of both candidates together, in each order."""
        guideline = self._guideline(present(case), criterion)
        return concurrently(lambda order: self._compare(case, criterion, guideline, order), orders(self.order.value))

    def _compare(self, case: Case, criterion: str, guideline: str, order: Order) -> "_Judgment":
        shown = present(case, order)
        answer = self.judge_pair(
            readout=self.readout.value,
            request=shown.request,
            response_a=shown.responses[0],
            response_b=shown.responses[1],
            criterion=criterion,
            guideline=guideline,
        )
        finding = side_by_side(criterion, [answer.reading("score_a"), answer.reading("score_b")], guideline=guideline)
        finding = in_case_order(finding.model_copy(update={"explanation": _explanation(answer, order)}), order)
        return _Judgment(finding, _own_explanations(answer, order))

    def _alone(self, case: Case, criterion: str) -> list["_Judgment"]:
        """One finding with the score of each candidate, judged separately."""
        shown = present(case)
        guideline = self._guideline(shown, criterion)

        def read(response: str) -> ScoreReading:
            answer: Answer = self.judge_single(
                readout=self.readout.value,
                request=shown.request,
                response=response,
                criterion=criterion,
                guideline=guideline,
            )
            return answer.reading("score", answer.explanation)

        readings = concurrently(read, shown.responses)
        finding = side_by_side(criterion, readings, guideline=guideline)
        return [_Judgment(finding, tuple(reading.explanation.strip() for reading in readings))]

    def _corrections(
        self, case: Case, judgments: Sequence["_Judgment"], criteria: Sequence[str]
    ) -> tuple[Correction, ...]:
        shown = present(case)

        def mean_alone(text: str) -> float:
            single_text = case.model_copy(update={"candidates": (Candidate(text=text),), "label": None, "votes": ()})
            results = _flat(concurrently(lambda criterion: self._alone(single_text, criterion), criteria))
            return math.fsum(judgment.score(0) for judgment in results) / len(results)

        def correct(index: int) -> Correction | None:
            shown_first = _showing_first(judgments, index)
            weak = [judgment for judgment in shown_first if judgment.score(index) < self.weak_below.value]
            if not weak:
                return None
            said = "\n".join(judgment.line(index) for judgment in weak)
            answer = self.rewrite(request=shown.request, response=shown.responses[index], judgments=said)
            text = unfenced(answer.corrected)
            names = tuple(judgment.finding.criterion for judgment in weak)
            correction = Correction(candidate=index, text=text, criteria=names)
            if not self.rejudge.value:
                return correction
            before, after = concurrently(mean_alone, (case.candidates[index].text, text))
            return correction.model_copy(update={"before": before, "after": after})

        fixes = concurrently(correct, range(len(case.candidates)))
        return tuple(fix for fix in fixes if fix is not None)


@dataclass(frozen=True)
class _Judgment:
    """The finding of one criterion in one order, with what was said of each candidate by itself."""

    finding: Finding
    explanations: tuple[str, ...]

    def score(self, index: int) -> float:
        """The candidate's score, 1..5."""
        assert self.finding.scores is not None
        return self.finding.scores[index]

    def line(self, index: int) -> str:
        """The judgment of one candidate, for its correction."""
        about = f"- {self.finding.criterion} (score {self.score(index):.3g} of 5)"
        return f"{about}: {self.explanations[index]}" if self.explanations[index] else about


def guideline_text(answer: dspy.Prediction) -> str:
    """A guideline as judges are shown it: the five levels, and how they differ."""
    levels = [f"{level}: {answer[f'score_{level}'].strip()}" for level in range(1, 6)]
    return "\n".join([*levels, f"Look at: {answer.comparison.strip()}"])


def _showing_first(judgments: Sequence[_Judgment], index: int) -> list[_Judgment]:
    """The judgments of the order that showed this candidate first; all where only one order, or none, was shown."""
    first: Order = "ba" if index else "ab"
    return [judgment for judgment in judgments if judgment.finding.order == first] or list(judgments)


def _kept_counts(judge: Fennec) -> Sequence[int]:
    """The values of `keep` that a search tries; they share the calls that find the criteria."""
    return [count for count in (0, 1, 2, 3) if count < judge.branches.value]


def _flat(results: Iterable[list[_Judgment]]) -> list[_Judgment]:
    return [judgment for judgments in results for judgment in judgments]


def _explanation(answer: Answer, order: Order) -> str:
    """The explanations under the case's own letters; empty where probabilities were read."""
    if answer.mass_read is not None:
        return ""
    first, second, comparison = (
        answer.values[name].strip() for name in ("explanation_a", "explanation_b", "comparison")
    )
    if order == "ba":
        first, second = second, first
    return f"(a) {first} (b) {second} {comparison}"


def _own_explanations(answer: Answer, order: Order) -> tuple[str, str]:
    """What was said of each candidate, in the case's order, without its letter and without the other candidate."""
    if answer.mass_read is not None:
        return "", ""
    first, second = (of_response(answer.values[f"explanation_{letter.lower()}"], letter) for letter in "AB")
    return (first, second) if order == "ab" else (second, first)


def _some_criterion(prediction: dspy.Prediction) -> None:
    if not any(line.strip(MARKS) for line in prediction.criteria):
        raise ValueError("no criterion was given")


def _some_text(prediction: dspy.Prediction) -> None:
    if not unfenced(prediction.corrected):
        raise ValueError("the corrected response is empty")


register(
    "fennec-single",
    summary="the same chain, each text scored alone",
    source=SOURCE,
    inputs="pairs, single texts",
    calls="1 + N + N a text",
    settings={"single": True},
)(Fennec)
register(
    "fennec-correct",
    summary="fennec, and weak texts are rewritten and judged anew",
    source=SOURCE,
    inputs="pairs, single texts",
    calls="fennec + 1 + 2N a weak text",
    settings={"correct": True},
)(Fennec)
