"""Proper scoring rules of a judge's probabilities, for pairs and choices; lower is better.

Their targets are soft labels. In tables they are "log-loss of votes" and "Brier of votes": the measures "log-loss" and
"Brier" of an evaluation are of labels.

log-loss     nats under the proportions of the votes, or under the label (arXiv 1908.07086)
brier        squared distance of the probabilities from those proportions, summed over the labels (Brier 1950)
"""

import math

import numpy as np
from numpy.typing import NDArray

from ...evaluation.metrics.agreement import LEAST_PROBABILITY
from ...evaluation.run_arrays import Floats, RunArrays
from ...stats import agreement
from ..objective import LABELS, mean_objective, register
from ..soft_labels import soft_labels


def _log_losses(run: RunArrays) -> Floats:
    known, judge, human = _probabilities(run)
    return _scatter(known, agreement.soft_cross_entropies(judge, human, floor=LEAST_PROBABILITY))


def _squared_distances(run: RunArrays) -> Floats:
    known, judge, human = _probabilities(run)
    return _scatter(known, np.square(judge - human).sum(axis=1))


def _probabilities(run: RunArrays) -> tuple[NDArray[np.bool_], Floats, Floats]:
    """Which verdicts have both, (n,), and of these the judge's probabilities and people's, (known, labels) each.

    People's are the `soft_labels` that heads are fitted to.
    """
    if not run.labels:
        return np.zeros(run.n, dtype=np.bool_), run.distribution[:0], run.distribution[:0]
    human = soft_labels(run.human, run.vote_proportions).proportions
    sums_to_one = np.abs(run.distribution.sum(axis=1) - 1) <= 1e-6
    known = sums_to_one & ~np.isnan(human).any(axis=1)
    return known, run.distribution[known], human[known]


def _scatter(known: NDArray[np.bool_], values: Floats) -> Floats:
    """(n,): the values at the known places, NaN at the others."""
    scattered = np.full(len(known), math.nan)
    scattered[known] = values
    return scattered


for name, title, case_values, summary in (
    ("log-loss", "log-loss of votes", _log_losses, "cross-entropy in nats under people's votes or label"),
    (
        "brier",
        "Brier of votes",
        _squared_distances,
        "squared distance from people's votes or label, of probabilities",
    ),
):
    register(
        mean_objective(
            name, case_values, summary=summary, kinds=LABELS, greater_is_better=False, uses_probabilities=True,
            table_name=title,
        )
    )  # fmt: skip
