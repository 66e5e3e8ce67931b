"""What people would say on average, from few human labels and many verdicts: prediction-powered inference.

    estimate = weight * mean(verdicts without label) + mean(label - weight * verdict, over labelled cases)

The second mean takes the judge's bias out, whatever it is, so the interval is valid for any judge (Angelopoulos et al.
2023, arXiv 2301.09633). The weight makes the estimate as sure as it can be, near 0 for a judge that knows nothing
(PPI++, Angelopoulos, Duchi & Zrnic 2023, arXiv 2311.01453). Finding the weight costs as much as one label or two, so
that n labels gain where the judge goes with people at more than about 1 / sqrt(n) (arXiv 2505.20178).

This is for a mean score, and for a win rate: the mean of 1 for a win, 0.5 for a tie, 0 for a loss.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .resampling import Estimate, Groups, group_codes, mean, quantile

FEWEST = 3  # labelled groups: the mean and the weight are both estimated from them


@dataclass(frozen=True)
class PredictionPowered:
    """The mean of human labels over all cases.

    Attributes:
        estimate: from labels and verdicts.
        classical: from the labels alone.
        judge_only: from the verdicts alone, over all cases; off by the judge's bias, and its interval does not know.
        weight: lambda of the papers, 0 where verdicts are not used; above 1 or below 0 for a judge of another scale.
        worth: the labels are worth this many times as many without verdicts: 1.5 saves a third of the labels, 1 saves
            none; NaN where neither labels nor verdicts vary.
    """

    estimate: Estimate
    classical: Estimate
    judge_only: Estimate
    weight: float
    worth: float


def prediction_powered_mean(
    human: ArrayLike,
    judge_labelled: ArrayLike,
    judge_unlabelled: ArrayLike,
    groups: Groups = None,
    groups_unlabelled: Groups = None,
    *,
    level: float = 0.95,
) -> PredictionPowered:
    """The mean of human labels over all cases, from the labelled ones and the verdicts.

    The labelled cases must be drawn at random from all cases (whole groups at a time is fine), and the judge must not
    have learnt from their labels.

    Args:
        human: (n,) labels as numbers.
        judge_labelled: (n,) verdicts of the same cases, as numbers.
        judge_unlabelled: (N,) verdicts of the cases without a label.
        groups: (n,) the group of each labelled case; None: independent cases.
        groups_unlabelled: (N,) the group of each other case; a group may have cases of both kinds.
        level: of confidence, in (0, 1).

    Returns:
        Without unlabelled cases, with fewer than 3 effective groups of labels, or where all verdicts are equal, the
        estimate is the classical one, weight 0.

    Raises:
        DataError: sides or groups of different length, or groups for some cases only.
    """
    labels, seen, unseen = (np.asarray(side, dtype=np.float64) for side in (human, judge_labelled, judge_unlabelled))
    if labels.shape != seen.shape or labels.ndim != 1 or unseen.ndim != 1:
        raise DataError(
            f"prediction_powered_mean: {labels.shape} labels, {seen.shape} verdicts on them and {unseen.shape} others. "
            "Give one verdict for each label, and lists of numbers."
        )
    codes, everywhere = _all_codes(groups, groups_unlabelled, len(labels), len(unseen))
    classical = mean(labels, codes[: len(labels)], level=level)
    everything = np.concatenate([seen, unseen])
    judge_only = mean(everything, codes, level=level)
    if not len(unseen) or classical.freedom + 1 < FEWEST or not np.ptp(everything):
        return PredictionPowered(classical, classical, judge_only, 0.0, 1.0)
    # What each group moves the mean label by, and the mean verdict of the labelled less that of the other cases.
    n = len(labels)
    moves = np.bincount(codes[:n], weights=(labels - labels.mean()) / n, minlength=everywhere)
    verdicts = np.concatenate([(seen - seen.mean()) / n, (unseen.mean() - unseen) / len(unseen)])
    controls = np.bincount(codes, weights=verdicts, minlength=everywhere)
    # The variance of moves - weight * controls is a parabola in the weight; this is its lowest point.
    spread = float(controls @ controls)
    weight = float(moves @ controls) / spread if spread > 0 else 0.0
    value = float(labels.mean() + weight * (unseen.mean() - seen.mean()))
    left = moves - weight * controls
    free = classical.freedom - 1
    half = quantile(level, free) * math.sqrt((free + 2) / free * float(left @ left))
    estimate = replace(classical, value=value, low=value - half, high=value + half)
    worth = free / (free + 1) * float(moves @ moves) / float(left @ left) if left.any() else math.nan
    return PredictionPowered(estimate, classical, judge_only, weight, worth)


def _all_codes(groups: Groups, others: Groups, n: int, unlabelled: int) -> tuple[NDArray[np.intp], int]:
    """The groups of the labelled and then of the other cases, numbered together."""
    if groups is None and others is None:
        return group_codes(None, n + unlabelled)
    names = [[] if names_of is None else list(names_of) for names_of in (groups, others)]
    if [len(side) for side in names] != [n, unlabelled]:
        raise DataError(
            f"prediction_powered_mean: {len(names[0])} and {len(names[1])} groups for {n} and {unlabelled} cases. "
            "Give one for each case, labelled or not."
        )
    return group_codes(names[0] + names[1], n + unlabelled)
