"""Metrics: functions from a run to measures, in a registry that `evaluate` iterates over.

A built-in metric is a function of a module in `evaluation/metrics/` with the decorator `register`. A metric of another
package is a `Metric` that an entry point of the group `dicast.metrics` names (docs/extending.md).
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import DeclarationError
from ..registry import Registry
from .results import Measure
from .run_arrays import RunArrays

THRESHOLD = 0.8  # the certainty from which arXiv 2406.11657 calls a verdict sure


@dataclass(frozen=True)
class MetricOptions:
    """What a user sets for all metrics.

    Attributes:
        threshold: certainty, in [0, 1], from which selective prediction keeps a verdict.
        judge_systems: names of the systems that are the judge itself, or of its family.
        seed: of everything that is resampled.
    """

    threshold: float = THRESHOLD
    judge_systems: frozenset[str] = frozenset()
    seed: int = 0


Measurement = Callable[[RunArrays, MetricOptions], Iterable[Measure]]


@dataclass(frozen=True)
class Metric:
    """A metric: what it is called, the section of its measures, and how they are computed.

    Attributes:
        name: unique among all metrics.
        section: a name of `evaluation.sections.SECTIONS`, or a new one.
        measure: returns the measures of a run; none when the metric does not apply to it.
        measures: names of the measures that it may return, without an aspect; * is any text. () is not declared.
    """

    name: str
    section: str
    measure: Measurement
    measures: tuple[str, ...] = ()


def _metric(name: str, loaded: Any) -> Metric:
    if not isinstance(loaded, Metric):
        raise DeclarationError(
            f"metric {name!r}: its entry point names {type(loaded).__name__} {loaded!r}. Name a dicast Metric."
        )
    return loaded


METRICS: Registry[Metric] = Registry("metric", ".evaluation.metrics", "dicast.metrics", convert=_metric)


def register(section: str, *measures: str) -> Callable[[Measurement], Measurement]:
    """Register a function of dicast, or of a notebook, as a metric under the function's name.

    Args:
        section: of its measures, as in `Metric`.
        measures: names of these, as in `Metric`.
    """

    def add(function: Measurement) -> Measurement:
        name = function.__name__
        METRICS.add(name, Metric(name, section, function, measures), module=function.__module__)
        return function

    return add


def usable_metrics() -> Iterator[Metric]:
    """All metrics; one of another package that cannot be loaded is left out with a warning."""
    for name, entry in METRICS.others().items():
        if isinstance(entry, Exception):
            warnings.warn(
                f"metric {name!r}: its package cannot be loaded ({entry}), so it is left out. "
                "Repair or remove the package.",
                stacklevel=3,
            )
    yield from METRICS


def measures_of(metric: Metric, run: RunArrays, options: MetricOptions) -> tuple[Measure, ...]:
    """The measures of one metric; an error names the metric."""
    try:
        return tuple(metric.measure(run, options))
    except Exception as error:
        error.add_note(f"raised by the metric {metric.name!r}")
        raise
