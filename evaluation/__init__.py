"""How well verdicts agree with people: metrics of a run, comparisons, drift. Numbers only, no model."""

from .compare import compare
from .evaluate import evaluate
from .measure_factories import difference_measure, point_measure, proportion_measure, to_measure
from .metric import METRICS, Metric, MetricOptions, register
from .results import Evaluation, Measure, RunComparison
from .run_arrays import RunArrays, run_arrays
from .run_signature import signature_line
from .running_counts import RunningCounts

__all__ = [
    "METRICS",
    "Evaluation",
    "Measure",
    "Metric",
    "MetricOptions",
    "RunArrays",
    "RunComparison",
    "RunningCounts",
    "compare",
    "difference_measure",
    "evaluate",
    "point_measure",
    "proportion_measure",
    "register",
    "run_arrays",
    "signature_line",
    "to_measure",
]
