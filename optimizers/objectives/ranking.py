"""nDCG: 1 / log2(1 + rank of the right answer) by the judge's probabilities (arXiv 2508.10028, section 4)."""

import math

import numpy as np

from ...evaluation.run_arrays import Floats, RunArrays
from ...stats.choice_ranking import ndcg
from ..objective import CHOICES, mean_objective, register


def _gains(run: RunArrays) -> Floats:
    known = (run.judge >= 0) & (run.human >= 0)
    both = run.rows(known)
    named = np.arange(len(both.labels)) == both.judge[:, None]
    scores = np.where(np.isnan(both.distribution), named, both.distribution)
    gains = np.full(run.n, math.nan)
    gains[known] = [ndcg(row, {human}) for row, human in zip(scores.tolist(), both.human.tolist(), strict=True)]
    return gains


register(mean_objective("ndcg", _gains, kinds=CHOICES, summary="discounted rank of the right answer"))
