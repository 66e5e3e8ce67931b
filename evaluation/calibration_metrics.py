"""The figures of certainties: do they tell how often the judge is right, and what does keeping the sure ones gain."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats import calibration, selective
from ..stats.resampling import bootstrap, mean
from .label_metrics import correct, labelled
from .measure_factories import gap, plain, rate, told, within
from .results import Bin, CurvePoint, Measure
from .run_arrays import Columns

ROUNDING = 1e-6  # of probabilities that sum to 1
MOST_POINTS = 200  # of the accuracy-coverage curve; more cannot be seen


def calibrated(run: Columns, seed: int) -> Iterator[Measure]:
    """Whether 80 % sure means right 80 % of the time."""
    kept, right, groups = correct(run)
    if kept.n:
        sure = kept.certainty
        what = "mean certainty less accuracy; above 0 is overconfident"
        yield gap("overconfidence", mean(sure - right, groups), what)
        error = bootstrap(
            lambda rows: calibration.ece(sure[rows], right[rows]), kept.n, groups, seed=seed, bounds=(0.0, 1.0)
        )
        yield told("ECE", error, "expected calibration error, 10 bins of equal width; biased upward on few cases")
        debiased = calibration.ece_debiased(sure, right)
        yield plain("ECE debiased", debiased, kept.n, "less the part that chance alone makes (Kumar et al. 2019)")
        brier = within(mean((sure - right) ** 2, groups), 0, 1)
        yield told("Brier", brier, "squared distance of certainty and truth; .25 knows nothing")
    both = labelled(run)
    both = both.rows(np.abs(both.distribution.sum(axis=1) - 1) <= ROUNDING)
    if both.n:
        losses = calibration.log_losses(both.distribution, both.human)
        yield told(
            "log-loss",
            within(mean(losses, both.group), 0, math.inf),
            "nats, of the label's probability; ln(labels) knows nothing",
        )


def reliability(run: Columns) -> tuple[Bin, ...]:
    kept, right, groups = correct(run)
    found = []
    for one in calibration.reliability_bins(kept.certainty, right):
        inside = (kept.certainty <= one.high) & ((kept.certainty > one.low) | (one.low == 0))
        accuracy = rate("accuracy", right[inside], groups[inside], "in the bin")
        found.append(Bin(low=one.low, high=one.high, certainty=one.confidence, accuracy=accuracy))
    return tuple(found)


def selected(run: Columns, seed: int, threshold: float) -> Iterator[Measure]:
    """What is gained by keeping only sure verdicts."""
    kept, right, groups = correct(run)
    if not kept.n:
        return
    sure = kept.certainty
    high = sure >= threshold
    what = "accuracy of the verdicts with certainty"
    yield rate("high", right[high], groups[high], f"{what} at or above {threshold:g}")
    yield rate("low", right[~high], groups[~high], f"{what} below {threshold:g}")
    yield rate("kept", high, groups, f"verdicts with certainty at or above {threshold:g}")

    def resampled(statistic: Any) -> Any:
        return bootstrap(lambda rows: statistic(sure[rows], right[rows]), kept.n, groups, seed=seed, bounds=(0.0, 1.0))

    yield told("AURC", resampled(selective.aurc), "mean share of errors over all coverages; lower is better")
    excess = selective.excess_aurc(sure, right)
    yield plain("excess AURC", excess, kept.n, "AURC less that of certainties that put every error last")
    what = "a correct verdict is surer than a wrong one; .5 says nothing"
    yield told("AUROC", resampled(selective.auroc), what, neutral=0.5)


def curve(run: Columns) -> tuple[CurvePoint, ...]:
    """Accuracy over coverage, the surest first; at most MOST_POINTS points, evenly spaced in coverage."""
    kept, right, groups = correct(run)
    points = selective.risk_coverage(kept.certainty, right)
    return tuple(
        CurvePoint(
            threshold=float(points.threshold[index]),
            coverage=float(points.coverage[index]),
            accuracy=_at(points.threshold[index], kept.certainty, right, groups),
        )
        for index in _spaced(points.coverage)
    )


def _at(threshold: float, sure: NDArray[Any], right: NDArray[Any], groups: NDArray[Any]) -> Measure:
    high = sure >= threshold
    return rate("accuracy", right[high], groups[high], f"certainty at or above {threshold:g}")


def _spaced(coverage: NDArray[np.float64]) -> list[int]:
    if len(coverage) <= MOST_POINTS:
        return list(range(len(coverage)))
    wanted = np.searchsorted(coverage, np.linspace(coverage[0], 1, MOST_POINTS))
    return sorted({*wanted.clip(max=len(coverage) - 1).tolist(), len(coverage) - 1})
