"""Objectives of the winners or categories that a judge names.

both-orders accuracy   both orders, each by itself, name the human winner; inconsistent is wrong (arXiv 2405.12163,
             4.1)
accuracy     the merged verdict is the human label; it is symmetric in the two candidates, so no order can matter
kappa        agreement beyond chance (Cohen 1960); 0 for a judge that names the same winner in every case
balanced accuracy   mean recall of the categories that people give
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...evaluation.run_arrays import Codes, Floats, RunArrays
from ...stats import agreement
from ..objective import CATEGORIES, LABELS, PAIRS, mean_objective, register, statistic_objective


def _correct(run: RunArrays) -> Floats:
    return _where((run.judge >= 0) & (run.human >= 0), run.judge == run.human)


def _correct_in_both_orders(run: RunArrays) -> Floats:
    return _where((run.judge >= 0) & (run.human >= 0) & (run.consistent >= 0), run.both_orders_correct)


def _kappa(judge: Codes, human: Codes) -> float:
    if len(set(human.tolist())) > 1 and len(set(judge.tolist())) == 1:
        return 0.0
    k = 1 + max([*human.tolist(), *judge.tolist()], default=0)
    return float(agreement.kappa(agreement.confusion(human, judge, k)))


def _where(known: NDArray[np.bool_], values: NDArray[Any]) -> Floats:
    """The values; NaN where they are not known."""
    return np.where(known, values.astype(np.float64), math.nan)


register(
    mean_objective(
        "both-orders accuracy",
        _correct_in_both_orders,
        kinds=PAIRS,
        summary="each order by itself names the human winner",
    )
)


def _balanced(judge: Codes, human: Codes) -> float:
    k = 1 + max([*human.tolist(), *judge.tolist()], default=0)
    return float(agreement.balanced_accuracy(agreement.confusion(human, judge, k)))


register(
    statistic_objective(
        "balanced accuracy", _balanced, kinds=CATEGORIES, summary="mean over categories of the texts rightly named"
    )
)
register(mean_objective("accuracy", _correct, kinds=LABELS, summary="the verdict equals the human label"))
register(statistic_objective("kappa", _kappa, kinds=LABELS, summary="agreement beyond chance (Cohen's kappa)"))
