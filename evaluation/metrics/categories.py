"""Figures of categories: balanced accuracy; of two categories either error, precision, and curves over all thresholds.

Of two categories the second is the positive one. What a judge says may be right often and still be of no use: where
nine texts of ten pass, "pass" is right in 90 %. So each category has its own figure:

    TPR   of the texts that people call positive, those that the judge does too (sensitivity, recall)
    TNR   of those that people call negative, those that the judge does too (specificity)
    precision, NPV   of the texts that the judge calls positive (negative), those that people do too

Average precision and ROC AUC are of the probability of the positive category, whatever the threshold.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ...stats import agreement as tables
from ...stats import selective
from ...stats.precision_recall import average_precision, precision_recall
from ...stats.resampling import Estimate, bootstrap, bootstrap_table
from ..measure_factories import proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure, PassPoint
from ..run_arrays import RunArrays

MOST_POINTS = 200  # of the precision-recall curve; more cannot be seen
NEGATIVE, POSITIVE = 0, 1  # codes of two categories


@register("categories", "balanced accuracy", "TPR", "TNR", "precision", "NPV", "F1", "average precision", "ROC AUC")
def categories(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Balanced accuracy of categories; of two of them the rates of either error, precision and F1."""
    both = run.labelled
    if not run.of_categories or not both.n:
        return
    description = "mean over the categories of the texts that are rightly named; .5 is chance of two"

    def of_table(name: str, statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], words: str) -> Measure:
        k, bounds = len(run.labels), (0.0, 1.0)
        estimate = bootstrap_table(statistic, both.human, both.judge, k, both.group, seed=options.seed, bounds=bounds)
        return to_measure(name, estimate, words, is_proportion=True)

    yield of_table("balanced accuracy", tables.balanced_accuracy, description)
    if not run.is_of_two_categories:
        return
    negative, positive = run.labels[:2]
    hits = both.judge == both.human
    for name, rows, words in (
        ("TPR", both.human == POSITIVE, f"of the texts that people call {positive}, the judge does too"),
        ("TNR", both.human == NEGATIVE, f"of the texts that people call {negative}, the judge does too"),
        ("precision", both.judge == POSITIVE, f"of the texts that the judge calls {positive}, people do too"),
        ("NPV", both.judge == NEGATIVE, f"of the texts that the judge calls {negative}, people do too"),
    ):
        yield proportion_measure(name, hits[rows], both.group[rows], words)
    yield of_table(
        "F1", lambda table: tables.f1(table)[..., POSITIVE], f"harmonic mean of precision and TPR, {positive}"
    )
    yield from _of_probabilities(run, options.seed)


def _of_probabilities(run: RunArrays, seed: int) -> Iterator[Measure]:
    probability, is_positive, groups = _probabilities(run)
    if not len(probability):
        return

    def resampled(statistic: Callable[[NDArray[np.float64], NDArray[np.bool_]], float]) -> Estimate:
        n = len(probability)
        return bootstrap(
            lambda rows: statistic(probability[rows], is_positive[rows]), n, groups, seed=seed, bounds=(0.0, 1.0)
        )

    name = run.labels[POSITIVE]
    words = f"mean precision over all thresholds; {is_positive.mean():.3f}, the part of {name}, is chance"
    yield to_measure("average precision", resampled(average_precision), words)
    words = f"a text that people call {name} has a higher probability of it than another; .5 is chance"
    yield to_measure("ROC AUC", resampled(selective.auroc), words, null_value=0.5)


def _probabilities(run: RunArrays) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]:
    """Of the labelled texts with a distribution, (n,) each: the positive's probability, whether it is the label, group.

    Rounding may take a sum of probabilities a little beyond 1.
    """
    both = run.labelled
    known = ~np.isnan(both.distribution).any(axis=1)
    return np.clip(both.distribution[known, POSITIVE], 0, 1), both.human[known] == POSITIVE, both.group[known]


def positive_category(run: RunArrays) -> str:
    """The positive of two categories; an empty text for any other run."""
    return run.labels[POSITIVE] if run.is_of_two_categories else ""


def pass_points(run: RunArrays) -> tuple[PassPoint, ...]:
    """Precision and recall of the positive of two categories, at no more than `MOST_POINTS` thresholds."""
    if not run.is_of_two_categories:
        return ()
    probability, is_positive, _ = _probabilities(run)
    if not is_positive.any():
        return ()
    curve = precision_recall(probability, is_positive)
    spaced = np.unique(np.linspace(0, len(curve.threshold) - 1, MOST_POINTS).round().astype(np.int64))
    return tuple(
        PassPoint(
            threshold=float(curve.threshold[place]),
            precision=float(curve.precision[place]),
            recall=float(curve.recall[place]),
            passed=int(curve.passed[place]),
        )
        for place in spaced.tolist()
    )
