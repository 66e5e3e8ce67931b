"""PREF: general guideline -> weighted by one person's preference -> a score per answer (arXiv 2508.10028).

The guideline of a question is the same for everybody and is asked once; weights are asked once per (question, person).
Two invariants hold by construction: an answer with a factual error scores at most `FACTUAL_CAP`, whatever the person
likes, and a factor that the person adds carries its reason or the answer is asked for again.
"""

from dataclasses import dataclass
from typing import Any

import dspy

from ..data import Case, Finding, Verdict
from ..engines.concurrency import concurrently
from ..signatures import pref as signatures
from .direct import expected_level
from .hparam import HParam
from .judge import Judge, show, verdict_of
from .stage import Stage

MOST_FACTORS = 10
NEUTRAL_WEIGHT = 5  # of a factor that the model gave no weight
TOP_SCORE = 10.0
FACTUAL_CAP = 3.0  # on the scale 0..10; a design choice, the paper gives no number


@dataclass(frozen=True)
class Weighted:
    """One factor of the personalised guideline; `reason` is there when the person's profile added it."""

    name: str
    test: str
    weight: int
    reason: str = ""

    def __str__(self) -> str:
        why = f" [added: {self.reason}]" if self.reason else ""
        return f"{self.name} (weight {self.weight}){': ' + self.test if self.test else ''}{why}"


class Pref(Judge):
    """Scores every answer 0..10 by the question's factors, weighted for the person of the case.

    Calls for n answers: 1 coverage + 1 preference (with a profile) + n scores; with the probability readout 2 n
    one-token calls instead of n.

    Args:
        factors: factors of the general guideline at most, 1..15.
        personalise: weigh the factors by the profile; off is the paper's ablation.
        readout: "generate" or "probability", for the scores.
        tie_threshold: score differences of at most this many points are ties.
        factual_threshold: with the probability readout, an answer is held factual from this probability on.
    """

    name = "pref"

    def __init__(
        self,
        *,
        factors: int = MOST_FACTORS,
        personalise: bool = True,
        readout: str = "generate",
        tie_threshold: float = 0.0,
        factual_threshold: float = 0.5,
    ) -> None:
        super().__init__()
        self.factors = HParam(factors, range(1, 16))
        self.personalise = HParam(personalise, (True, False))
        self.readout = HParam(readout, ("generate", "probability"))
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.factual_threshold = HParam(factual_threshold)
        self.cover = Stage(signatures.Cover, "coverage", max_tokens=700, check=_some_factor)
        self.prefer = Stage(signatures.Personalise, "preference", max_tokens=600)
        self.score = Stage(signatures.ScoreAnswer, "score", max_tokens=240)
        self.score_probability = Stage(signatures.ScoreAnswerProbability, "score")

    def assess(self, case: Case) -> Verdict:
        shown = show(case)
        question, person = shown.request, shown.profile if self.personalise.value else ""
        guideline = "\n".join(str(factor) for factor in self.guideline(question, person))
        readings = concurrently(lambda response: self._score(question, person, guideline, response), shown.responses)
        scores, explanations, coverages = zip(*readings, strict=True)
        told = [f"({index + 1}) {text}" for index, text in enumerate(explanations) if text]
        finding = Finding(
            criterion="personalised guideline" if person else "general guideline",
            guideline=guideline,
            scores=scores,
            coverage=min(coverages) if None not in coverages else None,
            explanation=" ".join(told),
        )
        return verdict_of(case, [finding], tie_threshold=self.tie_threshold.value)

    def guideline(self, question: str, profile: str) -> list[Weighted]:
        """The weighted factors, heaviest first; equal weights keep the order of the general guideline."""
        factors = self.cover(question=question, count=self.factors.value).factors[: self.factors.value]
        if not profile:
            return [Weighted(factor.name, factor.test, NEUTRAL_WEIGHT) for factor in factors]
        listed = "\n".join(f"{number}. {factor.name}: {factor.test}" for number, factor in enumerate(factors, start=1))
        answer = self.prefer(question=question, profile=profile, factors=listed)
        given = {weight.number: weight.weight for weight in answer.weights}
        weighted = [
            Weighted(factor.name, factor.test, given.get(number, NEUTRAL_WEIGHT))
            for number, factor in enumerate(factors, start=1)
        ]
        known = {factor.name.casefold() for factor in factors}
        added = [Weighted(f.name, "", f.weight, f.reason) for f in answer.added if f.name.casefold() not in known]
        return sorted([*weighted, *added], key=lambda factor: -factor.weight)

    def _score(self, question: str, person: str, guideline: str, answer: str) -> tuple[float, str, float | None]:
        inputs = {"question": question, "profile": person, "guideline": guideline, "answer": answer}
        if self.readout.value == "probability":
            read: Any = self.score_probability(**inputs)
            score = (expected_level(read.score) - 1) / 4 * TOP_SCORE
            return capped(score, read.factual.probability >= self.factual_threshold.value), "", read.coverage
        told = self.score(**inputs)
        return capped(float(told.score), told.factual == "yes"), told.explanation.strip(), None


def capped(score: float, factual: bool) -> float:
    """The score, held under the cap when the answer has a factual error."""
    return score if factual else min(score, FACTUAL_CAP)


def _some_factor(prediction: dspy.Prediction) -> None:
    if not prediction.factors:
        raise ValueError("no factor was given")
