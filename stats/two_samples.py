"""Differences of two independent proportions, each of cases that come in groups.

Newcombe's hybrid (1998, Statistics in Medicine 17, method 10) squares and adds the distances of each proportion to the
end of its interval. Each interval is Wilson's at the effective sample size, with Student's quantile for its
number of groups (the same construction for any two intervals: Zou & Donner 2008, Statistics in Medicine 27).

Of four ways tried on 40,000 simulated worlds each (groups of 6, intraclass correlation .33, proportions .6 to .9, 10 to
300 groups), this one erred at 5 % in 3.9 to 5.9 % on the low side; with one quantile by Satterthwaite 4.1 to 7.0 %,
Welch's t 1.0 to 15 %, adding a success and a failure (Agresti & Caffo 2000) 2.1 to 7.3 %.
"""

import math

from .resampling import Estimate, quantile, wilson


def difference_interval(first: Estimate, second: Estimate, level: float = 0.9) -> tuple[float, float]:
    """The interval of `second` less `first`, in [-1, 1]; all of it where either has no interval.

    Args:
        first: a proportion, with its effective sample size.
        second: a proportion of other cases.
        level: of the two-sided interval; each end is a one-sided test at (1 - level) / 2.
    """
    if first.effective_n is None or second.effective_n is None:
        return -1.0, 1.0
    difference = second.value - first.value
    (low_first, high_first), (low, high) = interval(first, level), interval(second, level)
    return (
        difference - math.hypot(second.value - low, high_first - first.value),
        difference + math.hypot(high - second.value, first.value - low_first),
    )


def interval(proportion: Estimate, level: float) -> tuple[float, float]:
    """Wilson's interval of a proportion at its effective sample size and another level than its own."""
    assert proportion.effective_n is not None
    freedom = proportion.freedom if proportion.groups < proportion.n else math.inf
    low, high = wilson(proportion.value, proportion.effective_n, quantile(level, freedom))
    return max(0.0, low), min(1.0, high)


def effective_n_of_interval(low: float, high: float, value: float, level: float = 0.95) -> float:
    """The independent cases whose Wilson interval is as wide as [low, high], which must be narrower than 1.

    Its inverse solves a quadratic equation: with a = z^2 / n, half of the width is
    sqrt(a p (1 - p) + a^2 / 4) / (1 + a).
    """
    square, variance = ((high - low) / 2) ** 2, value * (1 - value)
    quadratic, linear = square - 0.25, 2 * square - variance
    root = (-linear - math.sqrt(linear * linear - 4 * quadratic * square)) / (2 * quadratic)
    return quantile(level) ** 2 / root
