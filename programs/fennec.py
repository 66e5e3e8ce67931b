"""Fennec: criteria -> guideline -> judgment per criterion -> sum -> correction of weak responses (arXiv 2405.12163).

Criteria come from the request alone and guidelines from request and criterion, so cases that share a request share
them: equal calls are made once. Branches run at once. Scores are summed over branches and the larger sum wins; equal
sums tie. A response that scored below 3 on a criterion is rewritten from the judgments of just those criteria.
"""

from collections.abc import Sequence
from typing import Any

import dspy

from ..data import Case, Correction, Finding, Verdict
from ..data.verdict import Order
from ..engines.concurrency import concurrently
from ..signatures import fennec as signatures
from .direct import expected_level, levels_of
from .fence import unfenced
from .hparam import HParam
from .judge import Judge, Shown, in_case_order, orders, show, verdict_of
from .stage import Stage

MOST_BRANCHES = 10
WEAK_BELOW = 3  # arXiv 2405.12163, section 3.1: responses below 3 are corrected
CORRECTION_TEMPERATURE = 0.7


class Fennec(Judge):
    """Judges a pair criterion by criterion, or with `single` each candidate alone.

    Calls for one pair in both orders, generated: 1 + N guidelines + 2 N judgments (N branches). The probability
    readout reads each of the two scores of a judgment from one token: 1 + N + 4 N calls, 4 N of them of one token.

    Args:
        branches: criteria at most, 1..10.
        guideline: write a guideline per criterion, or judge by the criterion alone.
        readout: "generate" or "probability", for the judgments.
        order: "one" or "both"; single scores have no order.
        tie_threshold: summed score differences of at most this many points are ties.
        single: score each candidate alone.
        correct: rewrite weak candidates.
    """

    name = "fennec"

    def __init__(
        self,
        *,
        branches: int = 5,
        guideline: bool = True,
        readout: str = "generate",
        order: str = "both",
        tie_threshold: float = 0.0,
        single: bool = False,
        correct: bool = False,
    ) -> None:
        super().__init__()
        self.correct = correct
        self.name = "fennec-correct" if correct else "fennec-single" if single else "fennec"
        self.single = HParam(single, (True, False))
        self.branches = HParam(branches, range(1, MOST_BRANCHES + 1))
        self.guideline = HParam(guideline, (True, False))
        self.readout = HParam(readout, ("generate", "probability"))
        self.order = HParam(order, ("one", "both"))
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.find_criteria = Stage(signatures.FindCriteria, "criteria", max_tokens=320, check=_some_criterion)
        self.write_guideline = Stage(signatures.WriteGuideline, "guideline", max_tokens=400)
        self.judge_pair = Stage(signatures.JudgePair, "judgment", max_tokens=400)
        self.judge_pair_probability = Stage(signatures.JudgePairProbability, "judgment")
        self.judge_single = Stage(signatures.JudgeSingle, "judgment", max_tokens=240)
        self.judge_single_probability = Stage(signatures.JudgeSingleProbability, "judgment")
        self.rewrite = Stage(
            signatures.Correct, "correction", max_tokens=600, temperature=CORRECTION_TEMPERATURE, check=_some_text
        )

    @property
    def pairs_only(self) -> bool:
        return not (self.single.value or self.correct)

    def assess(self, case: Case) -> Verdict:
        criteria = self._criteria(show(case))
        alone = self.single.value or not case.is_pair
        branch = self._alone if alone else self._compared
        findings = [
            finding for found in concurrently(lambda criterion: branch(case, criterion), criteria) for finding in found
        ]
        verdict = verdict_of(case, findings, tie_threshold=self.tie_threshold.value)
        if self.correct:
            verdict = verdict.model_copy(update={"corrections": self._corrections(case, findings)})
        return verdict

    def _criteria(self, shown: Shown) -> list[str]:
        """At most `branches` criteria, in the model's order, without repeats."""
        answer = self.find_criteria(request=shown.request, count=self.branches.value)
        named: dict[str, str] = {}
        for line in answer.criteria:
            criterion = line.strip(" -*\t\n")
            if criterion:
                named.setdefault(criterion.casefold(), criterion)
        return list(named.values())[: self.branches.value]

    def _guideline(self, shown: Shown, criterion: str) -> str:
        if not self.guideline.value:
            return ""
        answer = self.write_guideline(request=shown.request, criterion=criterion)
        levels = [f"{level}: {answer[f'score_{level}'].strip()}" for level in range(1, 6)]
        return "\n".join([*levels, f"Look at: {answer.comparison.strip()}"])

    def _compared(self, case: Case, criterion: str) -> list[Finding]:
        """The judgment of both candidates together, in each order."""
        guideline = self._guideline(show(case), criterion)
        return concurrently(lambda order: self._compare(case, criterion, guideline, order), orders(self.order.value))

    def _compare(self, case: Case, criterion: str, guideline: str, order: Order) -> Finding:
        shown = show(case, order)
        inputs = {
            "request": shown.request,
            "response_a": shown.responses[0],
            "response_b": shown.responses[1],
            "criterion": criterion,
            "guideline": guideline,
        }
        found: dict[str, Any]
        if self.readout.value == "probability":
            answer = self.judge_pair_probability(**inputs)
            found = _read_scores([answer.score_a, answer.score_b], answer.coverage)
        else:
            answer = self.judge_pair(**inputs)
            found = {
                "scores": (float(answer.score_a), float(answer.score_b)),
                "explanation": _as_asked(answer, order),
            }
        return in_case_order(Finding(criterion=criterion, guideline=guideline, **found), order)

    def _alone(self, case: Case, criterion: str) -> list[Finding]:
        """One finding: each candidate's score, each read alone."""
        shown = show(case)
        guideline = self._guideline(shown, criterion)

        def read(response: str) -> dict[str, Any]:
            inputs = {"request": shown.request, "response": response, "criterion": criterion, "guideline": guideline}
            if self.readout.value == "probability":
                answer = self.judge_single_probability(**inputs)
                return _read_scores([answer.score], answer.coverage)
            answer = self.judge_single(**inputs)
            return {"scores": (float(answer.score),), "explanation": answer.explanation.strip()}

        return [_side_by_side(criterion, guideline, concurrently(read, shown.responses))]

    def _corrections(self, case: Case, findings: Sequence[Finding]) -> tuple[Correction, ...]:
        shown = show(case)

        def correct(index: int) -> Correction | None:
            weak = [finding for finding in findings if finding.scores and finding.scores[index] < WEAK_BELOW]
            if not weak:
                return None
            judgments = "\n".join(
                f"- {f.criterion} (score {f.scores[index]:.1f}): {f.explanation}" for f in weak if f.scores
            )
            answer = self.rewrite(request=shown.request, response=shown.responses[index], judgments=judgments)
            names = tuple(dict.fromkeys(finding.criterion for finding in weak))
            return Correction(candidate=index, text=unfenced(answer.corrected), criteria=names)

        fixes = concurrently(correct, range(len(case.candidates)))
        return tuple(fix for fix in fixes if fix is not None)


def _read_scores(scores: Sequence[Any], coverage: float) -> dict[str, Any]:
    return {
        "scores": tuple(expected_level(score) for score in scores),
        "levels": tuple(levels_of(score) for score in scores),
        "coverage": coverage,
    }


def _side_by_side(criterion: str, guideline: str, readings: Sequence[dict[str, Any]]) -> Finding:
    """One finding out of one reading per candidate."""
    levels = tuple(reading["levels"][0] for reading in readings if "levels" in reading)
    explanations = [reading["explanation"] for reading in readings if reading.get("explanation")]
    named = [f"({chr(97 + index)}) {text}" for index, text in enumerate(explanations)]
    return Finding(
        criterion=criterion,
        guideline=guideline,
        scores=tuple(reading["scores"][0] for reading in readings),
        levels=levels or None,
        coverage=min((reading["coverage"] for reading in readings if "coverage" in reading), default=None),
        explanation=" ".join(named) if len(readings) > 1 else " ".join(explanations),
    )


def _as_asked(answer: dspy.Prediction, order: Order) -> str:
    """The explanations under the case's own letters; the texts themselves may say A and B as they were shown."""
    first, second = answer.explanation_a.strip(), answer.explanation_b.strip()
    if order == "ba":
        first, second = second, first
    note = " [shown in the other order: its A is b]" if order == "ba" else ""
    return f"(a) {first} (b) {second} {answer.comparison.strip()}{note}"


def _some_criterion(prediction: dspy.Prediction) -> None:
    if not any(line.strip() for line in prediction.criteria):
        raise ValueError("no criterion was given")


def _some_text(prediction: dspy.Prediction) -> None:
    if not unfenced(prediction.corrected):
        raise ValueError("the corrected response is empty")
