"""How well verdicts agree with people: metrics of a run, comparisons, drift. Numbers only, no model."""

from .compare import compare
from .evaluate import evaluate
from .metric import METRICS, Metric, MetricOptions
from .results import Comparison, Evaluation, Measure
from .run_arrays import RunArrays, run_arrays
from .run_signature import signature_line
from .running_counts import RunningCounts

__all__ = [
    "METRICS",
    "Comparison",
    "Evaluation",
    "Measure",
    "Metric",
    "MetricOptions",
    "RunArrays",
    "RunningCounts",
    "compare",
    "evaluate",
    "run_arrays",
    "signature_line",
]
