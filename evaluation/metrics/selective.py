"""Selective prediction: the gain of keeping only verdicts with a high certainty."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...stats import selective
from ...stats.resampling import Estimate, bootstrap
from ..answers import by_answer, of_answers, of_cases
from ..measure_factories import mean_proportion_measure, point_measure, proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import CurvePoint, Measure
from ..run_arrays import RunArrays

MOST_POINTS = 200  # of the accuracy-coverage curve; more cannot be seen


@register(
    "selective",
    "selective accuracy",
    "rejected accuracy",
    "coverage at threshold",
    "mean certainty",
    "AURC",
    "excess AURC",
    "AUROC",
)
@of_answers
def selective_prediction(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Accuracy at and below the threshold of certainty, and areas over all thresholds."""
    verdicts = run.with_certainty
    if not verdicts.n:
        return
    certainty, correct, groups = verdicts.certainty, verdicts.judge == verdicts.human, verdicts.group
    high, threshold = certainty >= options.threshold, f"{options.threshold:g}"
    description = "accuracy of the verdicts with certainty"
    yield proportion_measure("selective accuracy", correct[high], groups[high], f"{description} at least {threshold}")
    yield proportion_measure("rejected accuracy", correct[~high], groups[~high], f"{description} below {threshold}")
    description = f"verdicts with certainty at least {threshold}"
    yield proportion_measure("coverage at threshold", high, groups, description)
    yield mean_proportion_measure("mean certainty", certainty, groups, "mean certainty of the verdicts, 0 to 1")

    def resampled(statistic: Callable[[Any, Any], float]) -> Estimate:
        return bootstrap(
            lambda rows: statistic(certainty[rows], correct[rows]),
            verdicts.n,
            groups,
            seed=options.seed,
            bounds=(0.0, 1.0),
        )

    yield to_measure("AURC", resampled(selective.aurc), "mean proportion of errors over all coverages; lower is better")
    excess = selective.excess_aurc(certainty, correct)
    yield point_measure("excess AURC", excess, verdicts.n, "AURC less that of certainties that put every error last")
    description = "a correct verdict has a higher certainty than a wrong one; .5 is chance"
    yield to_measure("AUROC", resampled(selective.auroc), description, null_value=0.5)


def curve(run: RunArrays) -> tuple[CurvePoint, ...]:
    """Accuracy over coverage, the highest certainty first; at most MOST_POINTS points, evenly spaced in coverage."""
    verdicts = by_answer(run).with_certainty
    certainty, correct, groups = verdicts.certainty, verdicts.judge == verdicts.human, verdicts.group
    points = selective.risk_coverage(certainty, correct)
    return tuple(
        CurvePoint(
            threshold=float(points.threshold[index]),
            coverage=float(points.coverage[index]),
            accuracy=next(of_cases([_accuracy_from(points.threshold[index], certainty, correct, groups)], run)),
        )
        for index in _spaced(points.coverage)
    )


def _accuracy_from(
    threshold: float, certainty: NDArray[Any], correct: NDArray[Any], groups: NDArray[Any]
) -> Measure:  # fmt: skip
    high = certainty >= threshold
    return proportion_measure("accuracy", correct[high], groups[high], f"certainty at least {threshold:g}")


def _spaced(coverage: NDArray[np.float64]) -> list[int]:
    if len(coverage) <= MOST_POINTS:
        return list(range(len(coverage)))
    places = np.searchsorted(coverage, np.linspace(coverage[0], 1, MOST_POINTS))
    return sorted({*places.clip(max=len(coverage) - 1).tolist(), len(coverage) - 1})
