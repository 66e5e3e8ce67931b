"""The paired test of an objective: whether one judge's figure is better than another's on the same cases."""

from collections.abc import Iterator

import numpy as np

from ..evaluation.compare import Figure, Tests, of_means, of_wholes, on_one_scale, recoded
from ..evaluation.results import PairedTest
from ..evaluation.run_arrays import Columns, Floats
from .objective import TEXTS, Objective

ALWAYS = ("accuracy", "agreement", "pearson", "spearman")  # `evaluation.compare` tests these by itself


def tests_of(objective: Objective) -> Tests:
    """The test of this objective, named as it is, that `evaluation.compare` makes beside its own."""

    def made(first: Columns, second: Columns, seed: int) -> Iterator[PairedTest]:
        if objective.name in ALWAYS:
            return
        if objective.each is not None:
            yield from _of_means(objective, objective.each(first), objective.each(second), first, seed)
        elif objective.whole is not None:
            sides = _texts if objective.kinds == TEXTS else _winners
            yield from sides(objective, objective.whole, first, second, seed)

    return made


def gain(objective: Objective, test: PairedTest) -> float:
    """By how much the first judge is better, 0 where that is not known."""
    value = test.difference.value or 0.0
    return value if objective.greater_is_better else -value


def _of_means(objective: Objective, one: Floats, two: Floats, first: Columns, seed: int) -> Iterator[PairedTest]:
    kept = ~(np.isnan(one) | np.isnan(two))
    if kept.any():
        yield of_means(objective.name, one[kept], two[kept], first.group[kept], seed, _what(objective))


def _winners(objective: Objective, figure: Figure, first: Columns, second: Columns, seed: int) -> Iterator[PairedTest]:
    other, people = recoded(second, first.labels), first.human
    kept = (first.judge >= 0) & (other >= 0) & (people >= 0)
    if kept.any():
        sides = first.judge[kept], other[kept]
        yield of_wholes(objective.name, figure, sides, people[kept], first.group[kept], seed, _what(objective))


def _texts(objective: Objective, figure: Figure, first: Columns, second: Columns, seed: int) -> Iterator[PairedTest]:
    people = first.human_score
    kept = ~(np.isnan(first.score) | np.isnan(second.score) | np.isnan(people))
    if kept.any():
        sides = on_one_scale(objective.name, first.score[kept], second.score[kept])
        yield of_wholes(objective.name, figure, sides, people[kept], first.group[kept], seed, _what(objective))


def _what(objective: Objective) -> str:
    direction = "greater" if objective.greater_is_better else "lower"
    return f"{objective.name} of the first less that of the second; {direction} is better"
