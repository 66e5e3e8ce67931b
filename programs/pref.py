"""PREF: general guideline -> weighted by one person's preference -> a score per answer (arXiv 2508.10028).

The guideline of a question is the same for everybody and is asked once; weights are asked once per (question, person).
Two invariants of the paper, in forms of ours. What the person likes excuses no factual error: facts are asked apart
from the score, and an answer with an error scores below `factual_cap`; without a cap the score itself counts errors.
An added factor contradicts no general one without a reason: it carries its reason or the answer is asked for again,
and where it goes against a general factor, the guideline says so to the scorer and it weighs at most as much.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import dspy

from ..data import Case, Finding, Verdict
from ..data.exclusions import asks_to_leave_out
from ..engines.parallel import concurrently
from ..judging.evidence import ScoreReading, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, fenced, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.stage import Stage
from ..signatures import pref as signatures

MOST_FACTORS = 10
NEUTRAL_WEIGHT = 5.0  # of a factor that the model gave no weight
TOP_SCORE = 10.0
FACTUAL_CAP = 3  # on the scale 0..10; a design choice, the paper gives no number
NO_CAP = "off"
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class GuidelineFactor:
    """One factor of a guideline with its weight 0..10.

    `reason` is there when the person's profile added it, `against` is the general factor that it contradicts.
    """

    name: str
    test: str
    weight: float = NEUTRAL_WEIGHT
    reason: str = ""
    against: str = ""
    explained_weight: float | None = None

    @property
    def why(self) -> str:
        """The reason of an added factor, and what it contradicts."""
        return self.reason + (f'; it goes against "{self.against}", which counts first' if self.against else "")

    def __str__(self) -> str:
        why = f" [added: {self.why}]" if self.reason else ""
        return f"{self.name} (weight {self.weight:g}){': ' + self.test if self.test else ''}{why}"


@register(
    "pref",
    summary="general factors, weighted for one person, a score 0..10 per answer",
    source="PREF, arXiv 2508.10028",
    inputs="choices, pairs, single texts; a profile",
    calls="2 + 1 an answer",
)
class Pref(Judge):
    """Scores every answer 0..10 by the question's factors, weighted for the person of the case.

    Calls for n answers: 1 coverage + 1 preference (with a profile) + n scores; with the probability readout 2 n
    one-token calls instead of n (n without a cap). `explain` adds one preference call.

    Args:
        factors: factors of the general guideline at most, 1..15.
        personalise: weigh the factors by the profile; off is the paper's ablation.
        weighting: "weights" (0..10 for each factor) or "permutation" (an order; weights fall evenly from 10).
        explain: also weigh the factors by the case's own explanation of the right answer (`meta.explanation`), the
            paper's check of the weights; scores do not change.
        readout: "generate" or "probability", for the scores.
        tie_threshold: score differences of at most this many points are ties.
        factual_threshold: an answer counts as factual from this probability on; written answers have 1 or 0.
        factual_cap: answers with a factual error keep their order below this score, 1..10; "off" does not ask for facts
            apart, which is a call less an answer where probabilities are read. The paper gives no number.
    """

    name = "pref"
    scores_only = True
    score_scale = (0.0, TOP_SCORE)

    def __init__(
        self,
        *,
        factors: int = MOST_FACTORS,
        personalise: bool = True,
        weighting: str = "weights",
        explain: bool = False,
        readout: str = "generate",
        tie_threshold: float = 0.0,
        factual_threshold: float = 0.5,
        factual_cap: int | str = FACTUAL_CAP,
    ) -> None:
        super().__init__()
        self.factors = HParam(factors, range(1, 16), search=(5, 10))
        self.personalise = HParam(personalise, (True, False))
        self.weighting = HParam(weighting, ("weights", "permutation"))
        self.explain = HParam(explain, (True, False), affects_verdict=False)
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.factual_threshold = HParam(factual_threshold, idle_when={"factual_cap": NO_CAP})
        self.factual_cap = HParam(factual_cap, (NO_CAP, *range(1, 11)), search=(), implied=True)
        self.cover = Stage(signatures.Cover, "coverage", max_tokens=700, check=_some_factor)
        self.prefer = Stage(signatures.Personalise, "preference", max_tokens=600)
        self.rerank = Stage(signatures.Rerank, "preference", max_tokens=400)
        self.rerank.task = "ranking"
        self.score = Question(signatures.ScoreAnswer, "score", max_tokens=240)

    def lacks(self, case: Case) -> str:
        is_explained = "explanation" in case.meta and isinstance(case.meta["explanation"], str | None)
        if is_explained or not self.explain.value:
            return ""
        return f"judge 'pref', explain: case {case.id!r} has no meta.explanation. Use explain=false."

    def assess(self, case: Case) -> Verdict:
        shown = present(case)
        question, person = shown.request, shown.profile if self.personalise.value else ""
        general = self.general_guideline(question)
        factors, notes = self.personalised(question, person, general) if person else (general, [])
        if self.explain.value:
            factors, more = self._explained(case, question, general, factors)
            notes = [*notes, *more]
        guideline = "\n".join(map(str, factors))
        readings = concurrently(lambda response: self._score(question, person, guideline, response), shown.responses)
        criterion = "personalised guideline" if person else "general guideline"
        finding = side_by_side(criterion, readings, guideline=guideline)
        findings = [*map(_as_finding, factors), finding]
        return verdict_of(case, findings, notes=notes, tie_threshold=self.tie_threshold.value)

    def general_guideline(self, question: str) -> list[GuidelineFactor]:
        """The factors of any good answer to the question, in the model's order, without repeats."""
        named: dict[str, GuidelineFactor] = {}
        for factor in self.cover(question=question, count=self.factors.value).factors:
            named.setdefault(factor.name.casefold(), GuidelineFactor(factor.name, factor.test))
        return list(named.values())[: self.factors.value]

    def personalised(
        self, question: str, person: str, general: Sequence[GuidelineFactor]
    ) -> tuple[list[GuidelineFactor], list[str]]:
        """The factors weighted for one person, heaviest first, with those that the person adds; and notes.

        Equal weights keep the order of the general guideline.
        """
        permute = self.weighting.value == "permutation"
        ask = self.rerank if permute else self.prefer
        listed = "\n".join(f"{number}. {factor.name}: {factor.test}" for number, factor in enumerate(general, start=1))
        answer = ask(question=question, profile=person, factors=listed)
        weights = (
            weights_of_order(answer.order, len(general)) if permute else {w.number: w.weight for w in answer.weights}
        )
        unweighted = [factor.name for number, factor in enumerate(general, start=1) if number not in weights]
        rest = 0.0 if permute else NEUTRAL_WEIGHT
        weighted = [replace(factor, weight=weights.get(number, rest)) for number, factor in enumerate(general, start=1)]
        known = {factor.name.casefold() for factor in general}
        new = {f.name.casefold(): f for f in reversed(answer.added) if f.name.casefold() not in known}
        added = [added_factor(factor, weighted) for factor in reversed(new.values())]
        notes = [f"preference: no weight was given to {', '.join(unweighted)}; {rest:g} was taken"] * bool(unweighted)
        notes += [f"preference: the added {f.name!r} goes against {f.against!r}" for f in added if f.against]
        return sorted([*weighted, *added], key=lambda factor: -factor.weight), notes

    def _explained(
        self, case: Case, question: str, general: Sequence[GuidelineFactor], factors: Sequence[GuidelineFactor]
    ) -> tuple[list[GuidelineFactor], list[str]]:
        """The factors with their weights by the case's explanation of the right answer beside the person's."""
        explanation = case.meta.get("explanation")
        if explanation is None or not explanation.strip():
            return list(factors), ["explanation: the case has none"]
        oracle, notes = self.personalised(question, fenced(explanation), general)
        weights = {factor.name: factor.weight for factor in oracle if not factor.reason}
        beside = [replace(f, explained_weight=weights.get(f.name)) if not f.reason else f for f in factors]
        return beside, [note.replace("preference:", "explanation:") for note in notes]

    def _score(self, question: str, person: str, guideline: str, answer: str) -> ScoreReading:
        cap = self.factual_cap.value
        judged: Answer = self.score(
            readout=self.readout.value,
            signature=signatures.without_facts(self.score.ask.signature) if cap == NO_CAP else None,
            question=question,
            profile=person,
            guideline=guideline,
            answer=answer,
        )
        reading = judged.reading("score", judged.explanation)
        if cap == NO_CAP or judged.reading("factual").score >= self.factual_threshold.value:
            return reading
        return replace(reading, score=below_cap(reading.score, cap))


def weights_of_order(order: Sequence[int], count: int) -> dict[int, float]:
    """Weights that fall evenly from 10 for the first of `count` factors; repeats and unknown numbers are passed over.

    Example:
        >>> weights_of_order([2, 1, 2, 9], 4)
        {2: 10.0, 1: 7.5}
    """
    named = [number for number in dict.fromkeys(order) if 1 <= number <= count]
    return {number: TOP_SCORE * (count - rank) / count for rank, number in enumerate(named)}


def added_factor(factor: signatures.AddedFactor, general: Sequence[GuidelineFactor]) -> GuidelineFactor:
    """The factor with its reason; where it contradicts a general one, with the name of that and at most its weight.

    The model names that factor by its number. Where it does not, an added factor that asks to leave out all that the
    name of a general one says ("Ignore accuracy") contradicts it.
    """
    named = general[factor.contradicts - 1 : factor.contradicts] if factor.contradicts else ()
    contradicted = [*named, *(known for known in general if _leaves_out(factor.name, known.name))]
    if not contradicted:
        return GuidelineFactor(factor.name, "", factor.weight, factor.reason)
    against = contradicted[0]
    return GuidelineFactor(factor.name, "", min(factor.weight, against.weight), factor.reason, against=against.name)


def _leaves_out(name: str, general: str) -> bool:
    words = set(WORD.findall(general.casefold()))
    return bool(words) and asks_to_leave_out(name) and words <= set(WORD.findall(name.casefold()))


def below_cap(score: float, cap: float) -> float:
    """The score 0..10 of an answer with a factual error, moved linearly below the cap.

    Unequal scores stay unequal, and a whole score never meets that of an answer without an error, but for 0.

    Example:
        >>> below_cap(10, 3) < 3, below_cap(9, 3) > below_cap(4, 3), below_cap(0, 3)
        (True, True, 0.0)
    """
    return score * cap / (TOP_SCORE + 1)


def _as_finding(factor: GuidelineFactor) -> Finding:
    return Finding(
        criterion=factor.name,
        guideline=factor.test,
        weight=factor.weight,
        added=bool(factor.reason),
        explained_weight=factor.explained_weight,
        explanation=factor.why,
    )


def _some_factor(prediction: dspy.Prediction) -> None:
    if not prediction.factors:
        raise ValueError("no factor was given")
