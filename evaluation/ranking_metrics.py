"""How high the right answer stands among several: rank, nDCG, squared error (PREF, arXiv 2508.10028, section 4).

    rank            places of the right answer, 1 the best
    nDCG            sum of 1 / log2(1 + rank) over the right answers, divided by the same sum when they stand on top;
                    for one right answer 1 / log2(1 + rank), in (0, 1]
    squared error   of each answer's score 0..10 against 10 for the right one and 0 for the others

Equal scores share their places: rank and gain are the means over the orders that they could stand in, as in
scikit-learn's `ndcg_score`. nDCG is told twice: the mean over questions, and once over the answers of all questions in
one list. The paper does not say which it takes; its figures (.9980 at an accuracy of 97 %) are beyond the mean over
questions, which is at most .97 + .03 / log2(3) = .989 there.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data import Judged, Winner
from ..stats.proportions import Mean

Scale = tuple[float, float]
TEN: Scale = (0.0, 10.0)  # the one scale on which the paper's squared errors are comparable


def rank(scores: Sequence[float], right: int) -> float:
    """The place of the right answer among `scores`, from 1; the middle place of equal scores."""
    above, equal = _standing(scores, right)
    return above + (equal + 1) / 2


def ndcg(scores: Sequence[float], right: Collection[int]) -> float:
    """The normalised discounted cumulative gain of the right answers' indices (at least one), in (0, 1].

    Example:
        >>> round(ndcg([4, 9, 2, 1], {0}), 4)
        0.6309
    """
    return _ndcg(Counter((score, index in right) for index, score in enumerate(scores)))


def squared_errors(scores: Sequence[float], right: int) -> list[float]:
    """One an answer, in [0, 100] for scores 0..10."""
    return [(score - (10.0 if index == right else 0.0)) ** 2 for index, score in enumerate(scores)]


@dataclass
class Choices:
    """Counts over verdicts with one right index and a score per answer; others are passed over.

    Args:
        scale: of the judge's scores; squared errors are taken on 0..10 alone.
    """

    scale: Scale | None = None
    ranks: Mean = field(default_factory=Mean)
    gains: Mean = field(default_factory=Mean)  # nDCG, question by question
    errors: Mean = field(default_factory=Mean)  # squared, answer by answer
    answers: Counter[tuple[float, bool]] = field(default_factory=Counter, repr=False)  # (score, right): how many

    def add(self, judged: Judged) -> None:
        if not (isinstance(judged.label, Winner) and isinstance(judged.label.value, int) and judged.scores):
            return
        scores, right = judged.scores, judged.label.value
        self.ranks.add(rank(scores, right))
        self.gains.add(ndcg(scores, {right}))
        self.answers.update((score, index == right) for index, score in enumerate(scores))
        if self.scale == TEN:
            for error in squared_errors(scores, right):
                self.errors.add(error)

    @property
    def pooled_ndcg(self) -> float:
        """nDCG of the answers of all questions in one list; NaN without any."""
        return _ndcg(self.answers) if self.answers else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Empty when nothing was counted."""
        if not self.gains.n:
            return {}
        told = {"n": self.gains.n, "rank": self.ranks.value, "ndcg": self.gains.value, "ndcg_pooled": self.pooled_ndcg}
        return told | ({"mse": self.errors.value} if self.errors.n else {})


def _standing(scores: Sequence[float], right: int) -> tuple[int, int]:
    """How many answers score higher than the right one, and how many the same, itself among them."""
    return sum(score > scores[right] for score in scores), sum(score == scores[right] for score in scores)


def _ndcg(answers: Counter[tuple[float, bool]]) -> float:
    places = iter(range(1, answers.total() + 1))
    gains = []
    for score in sorted({score for score, _ in answers}, reverse=True):
        right, equal = answers[score, True], answers[score, True] + answers[score, False]
        shared = math.fsum(_discount(next(places)) for _ in range(equal))
        gains.append(right * shared / equal)
    ideal = math.fsum(map(_discount, range(1, sum(n for (_, right), n in answers.items() if right) + 1)))
    return min(1.0, math.fsum(gains) / ideal)  # rounding may leave 1 by one last bit


def _discount(place: int) -> float:
    return 1 / math.log2(1 + place)
