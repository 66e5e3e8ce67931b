"""Precision and recall of a positive category over all thresholds of its probability.

    precision   of the cases at or above a threshold, the proportion that are positive
    recall      of the positive cases, the proportion at or above the threshold

Average precision is the mean of precision over the steps in recall, without interpolation (Manning, Raghavan and
Schütze 2008, section 8.4). Equal probabilities are one threshold: they are passed together.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .selective import risk_coverage

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PrecisionRecall:
    """Each threshold, the highest first; (m,) each.

    Attributes:
        threshold: a probability, inclusive.
        precision: in [0, 1].
        recall: in [0, 1], rising to 1.
        passed: cases at or above the threshold.
        hits: positive ones among them.
    """

    threshold: Floats
    precision: Floats
    recall: Floats
    passed: NDArray[np.int64]
    hits: NDArray[np.int64]


def precision_recall(probability: Floats, positive: NDArray[np.bool_]) -> PrecisionRecall:
    """Precision and recall at every threshold; recall is NaN where no case is positive.

    Args:
        probability: (n,) of the positive category, in [0, 1].
        positive: (n,) whether people give it.

    Raises:
        DataError: lengths differ, or a probability is outside of [0, 1] or missing.
    """
    curve = risk_coverage(probability, positive)
    total = int(curve.hits[-1]) if len(curve.hits) else 0
    recall = curve.hits / total if total else np.full(len(curve.hits), math.nan)
    return PrecisionRecall(curve.threshold, curve.hits / curve.n, recall, curve.n, curve.hits)


def average_precision(probability: Floats, positive: NDArray[np.bool_]) -> float:
    """The mean precision over the steps in recall, in [0, 1]; NaN without a positive case. Arguments as above.

    Example:
        >>> average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]))
        0.8333333333333333
    """
    curve = precision_recall(probability, positive)
    if not len(curve.hits) or not curve.hits[-1]:
        return math.nan
    return float(np.diff(curve.recall, prepend=0.0) @ curve.precision)
