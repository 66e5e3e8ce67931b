"""Biases of a judge of pairs: the order, the length, ties, and texts of the judge's own system."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...stats import bias
from ...stats.resampling import proportion
from ..answers import of_answers
from ..measure_factories import difference_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import PAIR, RunArrays

FAIR: dict[str, Any] = {"null_value": 0.5, "is_proportion": True}
NO_BIAS = "judge less people; 0 is no bias"


@register("bias", "first position", "primacy", "recency")
def position_bias(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How often the judge names the text in the first position."""
    run = run.pairs
    first, second = np.where(run.by_order < len(PAIR), run.by_order, -1).T
    if ((first >= 0) & (second >= 0)).any():
        order = bias.position(first, second, run.group)
        yield to_measure("first position", order.first_slot, "non-tie answers that name the text shown first", **FAIR)
        yield to_measure("primacy", order.primacy, "both orders name the text shown first", is_proportion=True)
        yield to_measure("recency", order.recency, "both orders name the text shown second", is_proportion=True)
    elif (answered := (first >= 0) | (second >= 0)).any():
        shown_first = np.where(first[answered] >= 0, first[answered] == 0, second[answered] == 1)
        untied = np.maximum(first, second)[answered] != 2
        estimate = proportion(shown_first[untied], run.group[answered][untied])
        description = "non-tie answers that name the text shown first; one order per case"
        yield to_measure("first position", estimate, description, **FAIR)


@register("bias", "longer preferred", "longer above people", "length errors")
@of_answers
def length_bias(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How often the judge prefers the longer text, against people on the same cases."""
    run = run.pairs
    if not (run.human >= 0).any():
        return
    length = bias.length(run.human, run.judge, run.length_difference, run.group)
    if not length.judge.n:
        return
    description = f"names the longer text, of the non-tie verdicts; people {length.people.value:.3f} on the same cases"
    yield to_measure("longer preferred", length.judge, description, is_proportion=True)
    yield difference_measure("longer above people", length.difference, NO_BIAS)
    errors = bias.length_errors(run.human, run.judge, run.length_difference, run.group, seed=options.seed)
    description = "errors for the longer text less errors for the shorter; 0 is no bias"
    yield difference_measure("length errors", errors, description)


@register("bias", "ties", "ties above people")
@of_answers
def tie_bias(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How often the judge says tie, against people on the same cases."""
    run = run.pairs
    if not (run.human >= 0).any():
        return
    ties = bias.tie_rate(run.human, run.judge, run.group)
    if ties.judge.value or ties.people.value:
        description = f"verdicts that are ties; people {ties.people.value:.3f}"
        yield to_measure("ties", ties.judge, description, is_proportion=True)
        yield difference_measure("ties above people", ties.difference, NO_BIAS)


@register("bias", "self-preference", "self-preference above people")
@of_answers
def self_preference(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How often texts of the judge's own system win, against people on the same pairs."""
    run = run.pairs
    if not (run.human >= 0).any():
        return
    codes = [index for index, name in enumerate(run.systems) if name in options.judge_systems]
    if not codes or run.system.shape[1] != 2:
        return
    texts = bias.self_preference(run.human, run.judge, run.system, codes, run.group)
    if texts.judge.n:
        description = f"the judge's own texts win; people {texts.people.value:.3f} on the same pairs"
        yield to_measure("self-preference", texts.judge, description, is_proportion=True)
        yield difference_measure("self-preference above people", texts.difference, NO_BIAS)
