"""What a paired test could have shown: the smallest difference, and the labels that would show the one that was seen.

Two accuracies go by McNemar's exact test at the discordance that was seen (`statistics.power`). Where cases come in
groups, the design effect is the variance that the interval has over that of independent cases (Kish 1965). Any other
figure, and accuracies of few groups, go by the interval's standard error: with 80 % power a difference is shown at
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
    """With a power of 80 %: the smallest difference that these labels show, and labels to show the one seen.

    `detectable` is None where no difference could be shown, `labels` where none, or next to none, was seen. With too
    few groups both are None, and `groups` says how many any test needs.
    """

    detectable: float | None
    labels: int | None
    groups: int | None = None


def sensitivity(test: PairedTest) -> Sensitivity | None:
    """None for what is not tested, or has neither discordant cases nor an interval."""
    figure = test.difference
    if test.p is None or figure.value is None or not figure.n:
        return None
    if _groups(figure) < FEWEST_GROUPS:
        return Sensitivity(None, None, FEWEST_GROUPS)
    found = _of_interval(figure) if test.discordant is None else _of_accuracies(figure, sum(test.discordant))
    if found is None or found.labels is None:
        return found
    return Sensitivity(found.detectable, max(found.labels, math.ceil(FEWEST_GROUPS * figure.n / _groups(figure))))


def _of_accuracies(figure: Measure, discordant: int) -> Sensitivity | None:
    if not discordant:
        return None
    discordance, effect = discordant / figure.n, _design_effect(figure, discordant / figure.n)
    found = detectable_difference(max(1, round(figure.n / effect)), discordance, power=POWER)
    difference = abs(figure.value or 0.0)
    enough = labels_for_difference(discordance, difference, power=POWER) if difference >= SMALLEST else None
    labels = None if enough is None else math.ceil(enough * effect)
    if math.isnan(found):
        return Sensitivity(None, labels)
    whole = _of_interval(figure) if figure.groups is not None else None
    return Sensitivity(max(found, whole.detectable or 0.0) if whole else found, labels)


def _design_effect(figure: Measure, discordance: float) -> float:
    """At least 1: that groups help is not counted on."""
    if figure.groups is None or figure.low is None or figure.high is None:
        return 1.0
    alone = (discordance - (figure.value or 0.0) ** 2) / figure.n
    return max(1.0, _error(figure.low, figure.high, figure) ** 2 / alone) if alone > 0 else 1.0


def _of_interval(figure: Measure) -> Sensitivity | None:
    if figure.low is None or figure.high is None or figure.high <= figure.low:
        return None
    error, freedom = _error(figure.low, figure.high, figure), _groups(figure) - 1
    shown = (quantile(1 - ALPHA, freedom) + quantile(2 * POWER - 1, freedom)) * error
    difference = abs(figure.value or 0.0)
    if difference < SMALLEST:
        return Sensitivity(shown, None)
    with_many = (quantile(1 - ALPHA) + quantile(2 * POWER - 1)) * error
    return Sensitivity(shown, math.ceil(figure.n * (with_many / difference) ** 2))


def _error(low: float, high: float, figure: Measure) -> float:
    """The standard error that the interval is made of; all are Student's."""
    return (high - low) / 2 / quantile(1 - ALPHA, _groups(figure) - 1)


def _groups(figure: Measure) -> int:
    return figure.n if figure.groups is None else figure.groups
