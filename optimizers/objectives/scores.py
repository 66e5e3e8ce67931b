"""Objectives of the scores of single texts.

kendall, spearman, pearson    correlation of the judge's and people's scores; 0 for a judge of constant scores
mse                           squared distance of the scores; judge and people must be on the same scale
"""

import math
from collections.abc import Callable

import numpy as np

from ...evaluation.run_arrays import Floats, RunArrays
from ...stats.proportions import FEWEST, correlation
from ..objective import TEXTS, mean_objective, register, statistic_objective


def _correlation(name: str) -> Callable[[Floats, Floats], float]:
    def statistic(judge: Floats, people: Floats) -> float:
        value = correlation(name, judge, people)
        people_differ = len(people) >= FEWEST and np.ptp(people) > 0
        return 0.0 if people_differ and math.isnan(value) else value

    return statistic


def _squared_errors(run: RunArrays) -> Floats:
    errors: Floats = np.square(run.score - run.human_score)
    return errors


for name in ("kendall", "spearman", "pearson"):
    summary = f"{name.capitalize()} correlation of the judge's and people's scores"
    register(statistic_objective(name, _correlation(name), kinds=TEXTS, summary=summary))
register(
    mean_objective("mse", _squared_errors, kinds=TEXTS, greater_is_better=False, summary="squared error of the scores")
)
