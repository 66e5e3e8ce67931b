"""What a paired test could have shown: the smallest difference, and the labels that would show the one that was seen.

Two accuracies go by McNemar's exact test at the discordance that was seen (`statistics.power`). Where cases come in
groups, the design effect is the variance that the interval has over that of independent cases (Kish 1965). Any other
figure goes by the normal approximation: a difference is shown with 80 % power at 1.96 + 0.84 standard errors.
"""

import math
from dataclasses import dataclass

from .results import Measure, PairedTest
from .statistics.power import detectable_difference, labels_for_difference
from .statistics.resampling import quantile

POWER = 0.8
SMALLEST = 0.01  # difference for which labels are counted: they grow with its inverse square


@dataclass(frozen=True)
class Sensitivity:
    """With a power of 80 %: the smallest difference that these labels show, and labels to show the one seen.

    `detectable` is None where no difference could be shown, `labels` where none, or next to none, was seen.
    """

    detectable: float | None
    labels: int | None


def sensitivity(test: PairedTest) -> Sensitivity | None:
    """None for what is not tested, or has neither discordant cases nor an interval."""
    figure = test.difference
    if test.p is None or figure.value is None or not figure.n:
        return None
    return _of_interval(figure) if test.alone is None else _of_accuracies(figure, sum(test.alone))


def _of_accuracies(figure: Measure, discordant: int) -> Sensitivity | None:
    if not discordant:
        return None
    discordance, effect = discordant / figure.n, _design_effect(figure, discordant / figure.n)
    found = detectable_difference(max(1, round(figure.n / effect)), discordance, power=POWER)
    difference = abs(figure.value or 0.0)
    enough = labels_for_difference(discordance, difference, power=POWER) if difference >= SMALLEST else None
    return Sensitivity(None if math.isnan(found) else found, None if enough is None else math.ceil(enough * effect))


def _design_effect(figure: Measure, discordance: float) -> float:
    """At least 1: that groups help is not counted on."""
    if figure.groups is None or figure.low is None or figure.high is None:
        return 1.0
    error = (figure.high - figure.low) / 2 / quantile(0.95, figure.groups - 1)
    alone = (discordance - (figure.value or 0.0) ** 2) / figure.n
    return max(1.0, error**2 / alone) if alone > 0 else 1.0


def _of_interval(figure: Measure) -> Sensitivity | None:
    if figure.low is None or figure.high is None or figure.high <= figure.low:
        return None
    error = (figure.high - figure.low) / 2 / quantile(0.95)
    shown = (quantile(0.95) + quantile(2 * POWER - 1)) * error
    difference = abs(figure.value or 0.0)
    return Sensitivity(shown, math.ceil(figure.n * (shown / difference) ** 2) if difference >= SMALLEST else None)
