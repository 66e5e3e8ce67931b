"""A run by answers: where cases count by halves (`verdict_rules`), each order of a case is a row of the same group.

So there is one way to compute a measure: every statistic is that of the answers, intervals take whole groups, and n is
the number of cases.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import lru_cache, wraps
from typing import Any

import numpy as np

from .metric import Measurement, MetricOptions
from .results import Measure
from .run_arrays import OF_CASES, RunArrays

EVIDENCE = ("factors", "corrections", "mass_read")


@lru_cache(maxsize=4)
def by_answer(run: RunArrays) -> RunArrays:
    """The run with a row for each answer of a case; itself where every case has one. The evidence is left out."""
    m = run.answers.shape[1]
    if m == 1:
        return run
    index, answers = np.repeat(np.arange(run.n), m), run.answers.ravel()
    none = np.zeros(run.n, dtype=np.bool_)
    values: dict[str, Any] = {field.name: getattr(run, field.name) for field in fields(run)}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and name not in OF_CASES:
            values[name] = value[index]
        elif name in EVIDENCE:
            values[name] = value.rows(none)
    values["attributes"] = replace(run.attributes, codes=run.attributes.codes[index])
    values["ids"] = tuple(run.ids[position] for position in index.tolist())
    return RunArrays(**values | {"judge": answers, "answers": answers[:, None]})


def of_cases(measures: Iterable[Measure], run: RunArrays) -> Iterator[Measure]:
    """Measures of `by_answer(run)` with n cases, and without groups where no case shares its group."""
    m = run.answers.shape[1]
    for measure in measures:
        n = math.ceil(measure.n / m)
        of_groups = measure.groups is not None and measure.groups < n
        groups = {} if of_groups else {"groups": None, "effective_groups": None}
        yield measure if m == 1 else measure.model_copy(update={"n": n, **groups})


def of_answers(metric: Measurement) -> Measurement:
    """The metric, measured on the answers of a run."""

    @wraps(metric)
    def measured(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
        return of_cases(metric(by_answer(run), options), run)

    return measured
