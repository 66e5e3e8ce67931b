"""Selective prediction: the gain of keeping only verdicts with a high certainty.

Verdicts enter by certainty, the highest first. Equal certainties enter together: a judge that says 80 for half of all
cases has no order among them, and a curve in the file's order would depend on the file. Certainties are in [0, 1];
verdicts without a certainty or a label are left out before they come here.

    risk-coverage curve   accuracy of the kept verdicts against the proportion that is kept (El-Yaniv and Wiener 2010)
    AURC                  mean proportion of errors over all coverages; the selective judge is that of Geifman and
                          El-Yaniv (2017, arXiv 1705.08500), the area of Geifman, Uziel and El-Yaniv (2019, arXiv
                          1805.08206)
    excess AURC           that above the best order of the same verdicts (the same paper, section 2)
    AUROC                 how often a correct verdict is surer than a wrong one; half for equals
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .calibration import checked
from .proportions import Proportion

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RiskCoverage:
    """One point a distinct certainty, the highest first; the last one keeps everything.

    Args:
        threshold: (points,) certainties; kept is what is at or above.
        coverage: (points,) proportion of all verdicts that is kept, in (0, 1].
        accuracy: (points,) of the kept verdicts.
        n: (points,) how many are kept.
        hits: (points,) how many of these are correct.
    """

    threshold: Floats
    coverage: Floats
    accuracy: Floats
    n: Counts
    hits: Counts


@dataclass(frozen=True)
class ThresholdSplit:
    """The correct verdicts among those at or above a threshold, and below."""

    threshold: float
    accepted: Proportion
    rejected: Proportion


def risk_coverage(certainty: Floats, correct: NDArray[np.bool_]) -> RiskCoverage:
    """Accuracy over threshold; no points for no verdicts.

    Args:
        certainty: (n,) in [0, 1].
        correct: (n,).

    Raises:
        DataError: lengths differ, or a certainty is outside of [0, 1] or missing.
    """
    sure, right = checked("risk_coverage", certainty, correct)
    order = np.argsort(-sure)
    sure = sure[order]
    last = np.flatnonzero(np.append(sure[1:] < sure[:-1], len(sure) > 0))  # of each certainty
    n, hits = last + 1, np.cumsum(right[order], dtype=np.int64)[last]
    return RiskCoverage(sure[last], n / max(len(sure), 1), hits / n, n, hits)


def aurc(certainty: Floats, correct: NDArray[np.bool_]) -> float:
    """The area under the risk-coverage curve, in [0, 1], lower is better; NaN for no verdicts.

    The mean over k = 1..n of the proportion of errors among the k surest verdicts. Among equal certainties it is the
    expected value over all orders of them: each position then holds an error with the group's proportion of errors.
    A judge that is equally sure of everything has its proportion of errors. Arguments as `risk_coverage`.
    """
    curve = risk_coverage(certainty, correct)
    if not len(curve.n):
        return math.nan
    group = _steps(curve.n)
    errors = np.repeat(1 - _steps(curve.hits) / group, group)
    return float(np.mean(np.cumsum(errors) / np.arange(1, len(errors) + 1)))


def excess_aurc(certainty: Floats, correct: NDArray[np.bool_]) -> float:
    """AURC less that of the same verdicts with all correct ones first, at least 0; NaN for no verdicts.

    The best order is counted exactly; Geifman et al. approximate it by r + (1 - r) ln(1 - r) at a proportion of errors
    r. Arguments as `risk_coverage`.
    """
    best = np.asarray(correct, dtype=np.float64)  # surest exactly where it is right
    # rounding may fall below 0; numpy's maximum keeps NaN
    return float(np.maximum(aurc(certainty, correct) - aurc(best, correct), 0.0))


def auroc(certainty: Floats, correct: NDArray[np.bool_]) -> float:
    """Of a correct and a wrong verdict drawn at random, how often the correct one is surer; half for equals.

    In [0, 1], .5 for certainty that says nothing (Mann and Whitney 1947); NaN unless there are correct and wrong ones.
    Arguments as `risk_coverage`.
    """
    curve = risk_coverage(certainty, correct)
    hits = _steps(curve.hits)
    wrong = _steps(curve.n) - hits
    if not hits.sum() or not wrong.sum():
        return math.nan
    less_sure = wrong.sum() - np.cumsum(wrong)
    return float((hits @ less_sure + hits @ wrong / 2) / (hits.sum() * wrong.sum()))


def split_at_threshold(certainty: Floats, correct: NDArray[np.bool_], threshold: float = 0.8) -> ThresholdSplit:
    """Accuracy at or above a certainty, and below (arXiv 2406.11657, table 2, with 80 of 100).

    Arguments as `risk_coverage`.
    """
    sure, right = checked("split_at_threshold", certainty, correct)
    high = sure >= threshold
    return ThresholdSplit(
        threshold,
        Proportion(int(right[high].sum()), int(high.sum())),
        Proportion(int(right[~high].sum()), int((~high).sum())),
    )


def _steps(totals: Counts) -> Counts:
    """What each point adds to running totals; numpy's `diff` takes several times as long for it."""
    steps = totals.copy()
    steps[1:] -= totals[:-1]
    return steps
