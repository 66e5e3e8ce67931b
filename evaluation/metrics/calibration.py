"""Calibration: whether stated certainties are the proportions of correct verdicts."""

import math
from collections.abc import Iterator

import numpy as np

from ...stats import calibration
from ...stats.resampling import bootstrap, mean
from ..answers import by_answer, of_answers, of_cases
from ..measure_factories import clip_interval, difference_measure, point_measure, proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Bin, Measure
from ..run_arrays import RunArrays

ROUNDING = 1e-6  # of probabilities that sum to 1


@register("calibration", "overconfidence", "ECE", "ECE debiased", "Brier", "log-loss")
@of_answers
def calibration_errors(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Overconfidence, expected calibration error, Brier score and log-loss."""
    verdicts = run.with_certainty
    if verdicts.n:
        certainty, correct, groups = verdicts.certainty, verdicts.judge == verdicts.human, verdicts.group
        description = "mean certainty less accuracy; above 0 is overconfident"
        yield difference_measure("overconfidence", mean(certainty - correct, groups), description)
        error = bootstrap(
            lambda rows: calibration.ece(certainty[rows], correct[rows]),
            verdicts.n,
            groups,
            seed=options.seed,
            bounds=(0.0, 1.0),
        )
        description = "expected calibration error, 10 bins of equal width; biased upward on few cases"
        yield to_measure("ECE", error, description)
        debiased = calibration.ece_debiased(certainty, correct)
        yield point_measure("ECE debiased", debiased, verdicts.n, "ECE less its expected bias (Kumar et al. 2019)")
        brier = clip_interval(mean((certainty - correct) ** 2, groups), 0, 1)
        yield to_measure("Brier", brier, "squared distance of certainty and correctness; .25 for a constant .5")
    both = run.labelled
    both = both.rows(np.abs(both.distribution.sum(axis=1) - 1) <= ROUNDING)
    if both.n:
        losses = calibration.log_losses(both.distribution, both.human)
        estimate = clip_interval(mean(losses, both.group), 0, math.inf)
        yield to_measure("log-loss", estimate, "nats, of the label's probability; ln(labels) for equal probabilities")


def reliability(run: RunArrays) -> tuple[Bin, ...]:
    """Accuracy by bins of certainty."""
    verdicts = by_answer(run).with_certainty
    certainty, correct = verdicts.certainty, verdicts.judge == verdicts.human
    bins = []
    for part in calibration.reliability_bins(certainty, correct):
        inside = (certainty <= part.high) & ((certainty > part.low) | (part.low == 0))
        (accuracy,) = of_cases(
            [proportion_measure("accuracy", correct[inside], verdicts.group[inside], "in the bin")], run
        )
        bins.append(Bin(low=part.low, high=part.high, certainty=part.confidence, accuracy=accuracy))
    return tuple(bins)
