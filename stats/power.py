"""How many labels a question needs, and what a number of labels can show; planned before people label.

    labels_for_proportion         for an accuracy within a width (Wilson's interval, solved for n)
    power_of_mcnemar         the chance that n cases show a difference of two judges, by McNemar's exact test; summed
                             over all outcomes, where Connor (1987, Biometrics 43) approximates
    labels_for_difference    for that chance to be 80 %, say
    detectable_difference    the smallest difference that n cases show with that chance
    design_effect            how many times as many cases are needed when they come in groups (Kish 1965)
    intraclass_correlation   how similar the cases of a group are, from a pilot (one-way ANOVA, Donner 1986)

Discordance is the proportion of cases that only one of two judges has right; their accuracies differ by at most that.
Numbers are of independent labelled cases; multiply by the design effect, and add the judgments that will fail.
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DeclarationError
from .resampling import Groups, group_codes, quantile

TAIL = 1e-12  # probability of discordant counts that the summation leaves out, on each side
MOST_LABELS = 10_000_000


def labels_for_proportion(p: float, width: float, *, level: float = 0.95) -> int:
    """Labels for Wilson's interval to reach no further than `width` to each side, on average.

    Half of the interval's length at a proportion of exactly p is z / (n + z^2) sqrt(n p (1 - p) + z^2 / 4); this is the
    least n where it is at most `width`.

    Args:
        p: the share that is expected, in [0, 1]; 0.5 needs the most.
        width: half of the interval's length, in (0, 0.5).
        level: of confidence, in (0, 1).

    Raises:
        DeclarationError: a share or a width out of range.

    Example:
        >>> labels_for_proportion(0.8, 0.05), labels_for_proportion(0.5, 0.03)
        (245, 1064)
    """
    if not (0 <= p <= 1 and 0 < width < 0.5):
        raise DeclarationError(
            f"labels_for_proportion: p {p}, width {width}. Give p in [0, 1] and a width in (0, 0.5)."
        )
    z = quantile(level)
    # Squared, that is a quadratic in m = n + z^2: width^2 m^2 - z^2 p (1 - p) m - z^4 (1/4 - p (1 - p)) = 0.
    spread = p * (1 - p)
    m = z**2 * (spread + math.sqrt(spread**2 + width**2 * (1 - 4 * spread))) / (2 * width**2)
    return max(1, math.ceil(m - z**2 - 1e-9))


def power_of_mcnemar(n: int, p01: float, p10: float, *, alpha: float = 0.05) -> float:
    """The chance that McNemar's exact two-sided test rejects, summed over all outcomes.

    Args:
        n: labelled cases that both judges judge.
        p01: share that the second judge alone has right.
        p10: share that the first alone has right.
        alpha: level of the test.

    Raises:
        DeclarationError: shares below 0 or above 1 together, or an alpha out of (0, 1).
    """
    if n < 0 or min(p01, p10) < 0 or p01 + p10 > 1 + 1e-12:
        raise DeclarationError(
            f"power_of_mcnemar: n {n}, p01 {p01}, p10 {p10}. Give proportions (of n cases) that are at most 1 together."
        )
    if not 0 < alpha < 1:
        raise DeclarationError(f"power_of_mcnemar: alpha {alpha} is not in (0, 1). Give 0.05, say.")
    discordance = min(1.0, p01 + p10)
    if n == 0 or discordance == 0:
        return 0.0
    from scipy.stats import binom

    first, last = float(binom.ppf(TAIL, n, discordance)), float(binom.ppf(1 - TAIL, n, discordance))
    discordant = np.arange(max(first, 1), last + 1)
    # The largest count of the rarer side that the test rejects, -1 for none: cdf(count) <= alpha / 2.
    rejected = np.asarray(binom.ppf(alpha / 2, discordant, 0.5))
    rejected = rejected - (np.asarray(binom.cdf(rejected, discordant, 0.5)) > alpha / 2)
    share = min(1.0, p10 / discordance)
    rejects = np.asarray(binom.cdf(rejected, discordant, share)) + binom.cdf(rejected, discordant, 1 - share)
    return min(1.0, float(np.asarray(binom.pmf(discordant, n, discordance)) @ rejects))


def labels_for_difference(discordance: float, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Labels for McNemar's exact test to show a difference of two accuracies.

    Args:
        discordance: proportion of cases that only one judge has right, in (0, 1].
        difference: of the accuracies, not 0, at most the discordance.
        power: the chance to show it, in (0, 1).
        alpha: level of the two-sided test.

    Returns:
        An n that has the power where n - 1 has not. It is the only one but for a discordance near 1, where the exact
        power goes up and down a little with n.

    Raises:
        DeclarationError: an argument out of range, or a need of over ten million labels.

    Example:
        >>> labels_for_difference(0.2, 0.1), labels_for_difference(0.2, 0.05)
        (168, 658)
    """
    if not (0 < abs(difference) <= discordance <= 1 and 0 < power < 1):
        raise DeclarationError(
            f"labels_for_difference: discordance {discordance}, difference {difference}, power {power}. "
            "Give a difference of at most the discordance, not 0, and a power in (0, 1)."
        )
    p10, p01 = (discordance + difference) / 2, (discordance - difference) / 2
    enough = 1
    while power_of_mcnemar(enough, p01, p10, alpha=alpha) < power:
        enough *= 2
        if enough > MOST_LABELS:
            raise DeclarationError(
                f"labels_for_difference: {difference} needs over {MOST_LABELS} labels. Ask for less."
            )
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        if power_of_mcnemar(middle, p01, p10, alpha=alpha) < power:
            few = middle
        else:
            enough = middle
    return enough


def detectable_difference(n: int, discordance: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest difference of two accuracies that n labelled cases show by McNemar's exact test.

    Args:
        n: labelled cases that both judges judge.
        discordance: proportion of cases that only one judge has right, in (0, 1].
        power: the chance to show it, in (alpha, 1).
        alpha: level of the two-sided test.

    Returns:
        In (0, discordance]; NaN where even judges that differ only to one side are not distinguished.

    Raises:
        DeclarationError: an argument out of range.
    """
    if not (0 < discordance <= 1 and alpha < power < 1):
        raise DeclarationError(
            f"detectable_difference: discordance {discordance}, power {power}. "
            f"Give a discordance in (0, 1] and a power in ({alpha}, 1)."
        )

    def surplus(difference: float) -> float:
        return power_of_mcnemar(n, (discordance - difference) / 2, (discordance + difference) / 2, alpha=alpha) - power

    if surplus(discordance) < 0:
        return math.nan
    from scipy.optimize import brentq

    return float(brentq(surplus, 0, discordance))


def design_effect(sizes: ArrayLike, correlation: float) -> float:
    """The variance of a mean over groups, in units of that over independent cases: 1 + (m - 1) correlation.

    Args:
        sizes: cases of each group, (groups,) or one number; m is their mean weighted by size.
        correlation: of two cases of a group, in [-1, 1]; see `intraclass_correlation`.

    Raises:
        DeclarationError: no group, or one without cases.
    """
    cases = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
    if not (len(cases) and (cases > 0).all()):
        raise DeclarationError(f"design_effect: sizes {cases}. Give one or more groups of one or more cases.")
    return float(1 + ((cases**2).sum() / cases.sum() - 1) * correlation)


def intraclass_correlation(values: ArrayLike, groups: Groups) -> float:
    """How similar two cases of one group are, as a correlation; around 0 where groups do not matter.

    Args:
        values: (n,) scores, or whether a judge is right.
        groups: (n,) the group of each case.

    Returns:
        At most 1; NaN with fewer than two groups, where every case is alone, and for equal values.

    Raises:
        DataError: groups of another length.
    """
    numbers = np.asarray(values, dtype=np.float64)
    codes, count = group_codes(groups, len(numbers))
    n = len(numbers)
    if count < 2 or count == n:
        return math.nan
    sizes = np.bincount(codes)
    means = np.bincount(codes, weights=numbers) / sizes
    between = float(sizes @ (means - numbers.mean()) ** 2) / (count - 1)
    within_groups = float(((numbers - means[codes]) ** 2).sum()) / (n - count)
    size = (n - float((sizes**2).sum()) / n) / (count - 1)
    total = between + (size - 1) * within_groups
    return (between - within_groups) / total if total > 1e-12 * float(numbers @ numbers) / n else math.nan
