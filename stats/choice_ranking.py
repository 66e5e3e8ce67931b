"""Rank and nDCG of the right answers among several; equal scores share their places.

Rank and gain are the means over the orders that equal scores could have, as in scikit-learn's `ndcg_score`.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence


def rank(scores: Sequence[float], right: int) -> float:
    """The place of the right answer among `scores`, from 1; the middle place of equal scores."""
    above, equal = sum(score > scores[right] for score in scores), sum(score == scores[right] for score in scores)
    return above + (equal + 1) / 2


def ndcg(scores: Sequence[float], right: Collection[int]) -> float:
    """The normalised discounted cumulative gain of the right answers' indices (at least one), in (0, 1].

    Example:
        >>> round(ndcg([4, 9, 2, 1], {0}), 4)
        0.6309
    """
    return ndcg_of_counts(Counter((score, index in right) for index, score in enumerate(scores)))


def ndcg_of_counts(answers: Counter[tuple[float, bool]]) -> float:
    """nDCG of answers as (score, right): how many of them; at least one is right."""
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
