"""What a paired test could have shown, the smallest difference, and how many groups would show what was seen.

Two accuracies go by McNemar's exact test at the discordance that was seen (`stats.power`). Where cases come in groups,
the design effect is the variance that the interval has over that of independent cases (Kish 1965). Any other measure,
and accuracies of few groups, go by the interval's standard error: with 80 % power a difference is shown at 1.96 + 0.84
of them, more by Student's quantiles where there are few groups.

How many labels would show the difference that was observed (`groups_needed`) is a guess: their number goes with its
inverse square, and the difference of an inconclusive test is hardly known. With a true .04 in 45 groups such numbers
ran from 640 to 15,600 labels (10 to 90 %). So it comes with the number at the largest difference that the interval
allows.

Tests that exchange whole groups, as well as McNemar's, have no p-value below 2^(1 - G) with G groups, so that fewer
than six show nothing.
"""

import math
from dataclasses import dataclass

from ..stats.power import detectable_difference
from ..stats.resampling import quantile
from .results import Measure, PairedTest

ALPHA, POWER = 0.05, 0.8
FEWEST_GROUPS = math.ceil(1 - math.log2(ALPHA))


@dataclass(frozen=True)
class Sensitivity:
    """The smallest difference that these labels show with a power of 80 %.

    Attributes:
        detectable: None where no difference could be shown.
        groups: how many groups any test needs; None where there are enough.
    """

    detectable: float | None
    groups: int | None = None


def sensitivity(test: PairedTest) -> Sensitivity | None:
    """None for what is not tested, or has neither discordant cases nor an interval."""
    measure = test.difference
    if test.p is None or measure.value is None or not measure.n:
        return None
    if _groups(measure) < FEWEST_GROUPS:
        return Sensitivity(None, FEWEST_GROUPS)
    return _of_interval(measure) if test.discordant is None else _of_accuracies(measure, sum(test.discordant))


@dataclass(frozen=True)
class GroupsNeeded:
    """Groups of cases (prompts, persons; cases, where each is alone) that show a difference with a power of 80 %.

    Attributes:
        have: groups of the test.
        seen: groups in all, if the difference is as large as it looks.
        best: groups in all, if it is the largest in the interval.
    """

    have: int
    seen: int
    best: int


def groups_needed(test: PairedTest) -> GroupsNeeded | None:
    """None for what is not tested, has no interval, or differs by nothing.

    The error of the interval falls with the root of the number of groups, whatever their sizes.
    """
    measure = test.difference
    if test.p is None or not measure.value or measure.low is None or measure.high is None:
        return None
    if measure.high <= measure.low:
        return None
    error, have = _error(measure.low, measure.high, measure), _groups(measure)
    shown = (quantile(1 - ALPHA, math.inf) + quantile(2 * POWER - 1, math.inf)) * error

    def number(difference: float) -> int:
        return max(FEWEST_GROUPS, math.ceil(have * (shown / difference) ** 2))

    largest = max(abs(measure.low), abs(measure.high), abs(measure.value))
    return GroupsNeeded(have, number(abs(measure.value)), number(largest))


def _of_accuracies(measure: Measure, discordant: int) -> Sensitivity | None:
    if not discordant:
        return None
    discordance = discordant / measure.n
    independent = max(1, round(measure.n / _design_effect(measure, discordance)))
    result = detectable_difference(independent, discordance, power=POWER)
    if math.isnan(result):
        return Sensitivity(None)
    whole = _of_interval(measure) if measure.groups is not None else None
    return Sensitivity(max(result, whole.detectable or 0.0) if whole else result)


def _design_effect(measure: Measure, discordance: float) -> float:
    """At least 1: that groups help is not counted on."""
    if measure.groups is None or measure.low is None or measure.high is None:
        return 1.0
    of_independent = (discordance - (measure.value or 0.0) ** 2) / measure.n
    return max(1.0, _error(measure.low, measure.high, measure) ** 2 / of_independent) if of_independent > 0 else 1.0


def _of_interval(measure: Measure) -> Sensitivity | None:
    if measure.low is None or measure.high is None or measure.high <= measure.low:
        return None
    error, freedom = _error(measure.low, measure.high, measure), measure.freedom
    return Sensitivity((quantile(1 - ALPHA, freedom) + quantile(2 * POWER - 1, freedom)) * error)


def _error(low: float, high: float, measure: Measure) -> float:
    """The standard error that the interval was computed from, by Student's quantile."""
    return (high - low) / 2 / quantile(1 - ALPHA, measure.freedom)


def _groups(measure: Measure) -> int:
    return measure.n if measure.groups is None else measure.groups
