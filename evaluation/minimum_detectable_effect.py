"""What a paired test could have shown: the smallest difference, and the labels that would show the observed difference.

Two accuracies go by McNemar's exact test at the discordance that was seen (`statistics.power`). Where cases come in
groups, the design effect is the variance that the interval has over that of independent cases (Kish 1965). Any other
measure, and accuracies of few groups, go by the interval's standard error: with 80 % power a difference is shown at
1.96 + 0.84 of them, more by Student's quantiles where there are few groups.

Tests that exchange whole groups, as well as McNemar's, have no p-value below 2^(1 - G) with G groups, so that fewer
than six show nothing.
"""

import math
from dataclasses import dataclass

from ..stats.power import detectable_difference, labels_for_difference
from ..stats.resampling import quantile
from .results import Measure, PairedTest

ALPHA, POWER = 0.05, 0.8
SMALLEST = 0.01  # difference for which labels are counted: they grow with its inverse square
FEWEST_GROUPS = math.ceil(1 - math.log2(ALPHA))


@dataclass(frozen=True)
class Sensitivity:
    """With a power of 80 %: the smallest difference that these labels show, and labels to show the observed one.

    `detectable` is None where no difference could be shown, `labels` where none, or next to none, was seen. With too
    few groups both are None, and `groups` says how many any test needs.
    """

    detectable: float | None
    labels: int | None
    groups: int | None = None


def sensitivity(test: PairedTest) -> Sensitivity | None:
    """None for what is not tested, or has neither discordant cases nor an interval."""
    measure = test.difference
    if test.p is None or measure.value is None or not measure.n:
        return None
    if _groups(measure) < FEWEST_GROUPS:
        return Sensitivity(None, None, FEWEST_GROUPS)
    result = _of_interval(measure) if test.discordant is None else _of_accuracies(measure, sum(test.discordant))
    if result is None or result.labels is None:
        return result
    return Sensitivity(result.detectable, max(result.labels, math.ceil(FEWEST_GROUPS * measure.n / _groups(measure))))


def _of_accuracies(measure: Measure, discordant: int) -> Sensitivity | None:
    if not discordant:
        return None
    discordance, effect = discordant / measure.n, _design_effect(measure, discordant / measure.n)
    result = detectable_difference(max(1, round(measure.n / effect)), discordance, power=POWER)
    difference = abs(measure.value or 0.0)
    enough = labels_for_difference(discordance, difference, power=POWER) if difference >= SMALLEST else None
    labels = None if enough is None else math.ceil(enough * effect)
    if math.isnan(result):
        return Sensitivity(None, labels)
    whole = _of_interval(measure) if measure.groups is not None else None
    return Sensitivity(max(result, whole.detectable or 0.0) if whole else result, labels)


def _design_effect(measure: Measure, discordance: float) -> float:
    """At least 1: that groups help is not counted on."""
    if measure.groups is None or measure.low is None or measure.high is None:
        return 1.0
    of_independent = (discordance - (measure.value or 0.0) ** 2) / measure.n
    return max(1.0, _error(measure.low, measure.high, measure) ** 2 / of_independent) if of_independent > 0 else 1.0


def _of_interval(measure: Measure) -> Sensitivity | None:
    if measure.low is None or measure.high is None or measure.high <= measure.low:
        return None
    error, freedom = _error(measure.low, measure.high, measure), _groups(measure) - 1
    shown = (quantile(1 - ALPHA, freedom) + quantile(2 * POWER - 1, freedom)) * error
    difference = abs(measure.value or 0.0)
    if difference < SMALLEST:
        return Sensitivity(shown, None)
    with_many = (quantile(1 - ALPHA) + quantile(2 * POWER - 1)) * error
    return Sensitivity(shown, math.ceil(measure.n * (with_many / difference) ** 2))


def _error(low: float, high: float, measure: Measure) -> float:
    """The standard error that the interval was computed from, by Student's quantile."""
    return (high - low) / 2 / quantile(1 - ALPHA, _groups(measure) - 1)


def _groups(measure: Measure) -> int:
    return measure.n if measure.groups is None else measure.groups
