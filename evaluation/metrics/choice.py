"""How high the right answer ranks among several: rank, nDCG, squared error (PREF, arXiv 2508.10028, section 4).

    rank            place of the right answer, 1 the best
    nDCG            sum of 1 / log2(1 + rank) over the right answers, divided by the same sum when they are on top;
                    for one right answer 1 / log2(1 + rank), in (0, 1]
    squared error   of each answer's score 0..10 against 10 for the right one and 0 for the others

Equal scores share their places: rank and gain are the means over the orders that they could have, as in scikit-learn's
`ndcg_score`. nDCG is computed twice: the mean over questions, and once over the answers of all questions in one list.
The paper does not say which it takes; its values (.9980 at an accuracy of 97 %) are beyond the mean over questions,
which is at most .97 + .03 / log2(3) = .989 there.
"""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from ...stats.choice_ranking import ndcg_of_counts
from ...stats.resampling import mean
from ..measure_factories import clip_interval, point_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays, ScoreScale

TEN: ScoreScale = (0.0, 10.0)  # the one scale on which the paper's squared errors are comparable


@register("choice", "rank", "nDCG", "nDCG pooled", "MSE")
def choice_ranks(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Rank, nDCG and squared error of choices whose answers the judge scores."""
    index = np.array([int(label) if label.isdigit() else -1 for label in run.labels] + [-1])
    answer = index[run.human]
    width = run.candidate_scores.shape[1]
    questions = (answer >= 0) & (answer < width)
    questions[questions] = ~np.isnan(run.candidate_scores[questions, answer[questions]])
    if run.of_categories or not questions.any():
        return
    scores, answer, groups = run.candidate_scores[questions], answer[questions], run.group[questions]
    right = np.arange(width) == answer[:, None]
    known = ~np.isnan(scores)
    of_right = scores[right][:, None]
    above, equal = (scores > of_right).sum(axis=1), (scores == of_right).sum(axis=1)
    ranks = mean(above + (equal + 1) / 2, groups)
    yield to_measure("rank", clip_interval(ranks, 1, math.inf), "mean rank of the right answer, 1 is best")
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(2 + np.arange(width)))])
    gains = mean((discounts[above + equal] - discounts[above]) / equal, groups)
    yield to_measure("nDCG", clip_interval(gains, 0, 1), "how high the right answer ranks, mean over questions")
    pooled = Counter(zip(scores[known].tolist(), right[known].tolist(), strict=True))
    yield point_measure(
        "nDCG pooled", ndcg_of_counts(pooled), pooled.total(), "the answers of all questions in one list"
    )
    if run.score_scale == TEN:
        errors = (scores - np.where(right, TEN[1], 0.0)) ** 2
        of_question = np.broadcast_to(groups[:, None], scores.shape)
        estimate = clip_interval(mean(errors[known], of_question[known]), 0, math.inf)
        description = "squared error of scores 0..10 against 10 for the right answer, else 0"
        yield to_measure("MSE", estimate, description)
