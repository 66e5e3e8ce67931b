"""Soft labels: the proportions of people's votes as the target of heads and of the objectives of probabilities.

Each case is decided by itself. Its votes count where its label is a winner of the votes, or where it has no label. Its
label counts where it has no votes, and where it contradicts the votes: then somebody decided after the votes
(adjudication), or the votes are of other people than the label (third persons, arXiv 2406.11657).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
TIED = 1e-9  # proportions this close are equal


@dataclass(frozen=True)
class SoftLabels:
    """Targets of n cases.

    Attributes:
        proportions: (n, labels), rows of sum 1; NaN for a case without label and votes.
        soft: the cases whose target is of several labels, because their voters disagree.
        against: the cases whose label contradicts their votes, and is the target.
    """

    proportions: Floats
    soft: int
    against: int


def soft_labels(label: Codes, votes: Floats) -> SoftLabels:
    """The target of each case: its votes unless its label contradicts them.

    Args:
        label: (n,) code of each label, -1 without one.
        votes: (n, labels) proportions of the votes, NaN without votes.
    """
    has_label, voted = np.asarray(label >= 0), ~np.isnan(votes).any(axis=1)
    of_label = np.take_along_axis(votes, np.maximum(label, 0)[:, None], axis=1)[:, 0]
    most = np.max(votes, axis=1, initial=0.0, where=~np.isnan(votes))
    against = has_label & voted & (of_label < most - TIED)
    indicator = np.where(has_label[:, None], np.arange(votes.shape[1]) == label[:, None], np.nan)
    proportions = np.where((voted & ~against)[:, None], votes, indicator)
    is_soft = (has_label | voted) & (np.max(proportions, axis=1, initial=0.0, where=~np.isnan(proportions)) < 1 - TIED)
    return SoftLabels(proportions, int(is_soft.sum()), int(against.sum()))
