"""Two judges on the same cases: the difference with its interval, and tests of it.

    difference             of two means or accuracies, Student's interval over groups; two accuracies get half a
                           discordant case on each side (Agresti & Min 2005, Statistics in Medicine 24), so that
                           judges that never differed are not taken to be equal for sure
    mcnemar                the exact test of two accuracies (McNemar 1947); its mid-p form (Fagerland, Lydersen &
                           Laake 2013, BMC Medical Research Methodology 13) is less careful and stronger
    permutation            which judge gave which output is exchanged, whole groups at once: the test of a mean
                           difference, or of any statistic that both judges have, a correlation with people say
    p_of_interval          the test that the difference is 0 that a Student interval makes; `larger_p` takes the larger
                           of both where groups are of unequal size
    non_inferior           whether the first is worse by less than a margin, for a student that replaces its teacher
    holm                   p-values adjusted for being many (Holm 1979)

A permutation p-value counts the data as one permutation: (1 + more extreme permutations) / (1 + sampled permutations)
(Phipson & Smyth 2010, arXiv 1603.05766), so it is never 0 and the test never rejects too often.

That holds where outputs could be exchanged within every group. Where differences go with the size of the group, one
judge being better in the large groups and the other in the small ones, two judges can be equally good over all cases
and the exchange rejects too often; a test by the interval's error does not need it. So groups of unequal size must show
a difference by both. Studentised sign flips (Canay, Romano & Shaikh 2017, Econometrica 85; MacKinnon, Nielsen & Webb
2023, J. Applied Econometrics 38) were tried too: docs/results/intervals.md has the levels.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, DeclarationError
from .jackknife import LEAST, effective_groups, variance_of_mean
from .resampling import CHUNK, Estimate, Groups, group_codes, quantile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class McNemar:
    """Cases that one judge alone has right, and the two-sided p-value."""

    only_first: int
    only_second: int
    p: float


@dataclass(frozen=True)
class NonInferiority:
    """The test of difference <= -margin against difference > -margin.

    Attributes:
        difference: of first - second; its interval has level 1 - 2 alpha, so `low` is the one-sided bound.
        p: one-sided.
        holds: whether the first is shown not to be worse by the margin: p <= alpha.
    """

    difference: Estimate
    margin: float
    p: float
    holds: bool


def difference(first: ArrayLike, second: ArrayLike, groups: Groups = None, *, level: float = 0.95) -> Estimate:
    """The mean of first - second, with an interval.

    Args:
        first: (n,) scores of one judge, or whether it is right.
        second: (n,) the other's, of the same cases in the same order.
        groups: (n,) the group of each case; None: independent cases.
        level: of confidence, in (0, 1).

    Returns:
        NaN without cases; the interval is NaN when all cases, or nearly all, are of one group.

    Raises:
        DataError: sides or groups of different length.
    """
    left, right = _sides("difference", first, second)
    codes, count = group_codes(groups, len(left))
    value, equal = _mean(left - right), effective_groups(codes, count) if count else 0.0
    shown = equal if equal < count else None
    if equal < LEAST:
        return Estimate(value, math.nan, math.nan, len(left), count, None, shown)
    centre, error, reach = _centre(left, right, codes, count)
    half = quantile(level, equal - 1) * error
    return Estimate(value, max(centre - half, -reach), min(centre + half, reach), len(left), count, None, shown)


def mcnemar(first_correct: ArrayLike, second_correct: ArrayLike, *, mid_p: bool = False) -> McNemar:
    """The exact test of two accuracies on independent cases; cases in groups need `permutation`.

    Args:
        first_correct: (n,) truth values: whether one judge is right.
        second_correct: (n,) the other's.
        mid_p: count the observed outcome by half; p can then be too small by a little.

    Returns:
        p = 1 when the judges never differ.

    Raises:
        DataError: sides of different length.
    """
    left, right = _sides("mcnemar", first_correct, second_correct)
    only_first, only_second = int(np.count_nonzero(left > right)), int(np.count_nonzero(left < right))
    if only_first == only_second:
        return McNemar(only_first, only_second, 1.0)
    from scipy.stats import binom

    discordant, fewer = only_first + only_second, min(only_first, only_second)
    p = 2 * binom.cdf(fewer, discordant, 0.5)
    return McNemar(only_first, only_second, float(p - binom.pmf(fewer, discordant, 0.5) if mid_p else p))


def permutation(
    first: ArrayLike, second: ArrayLike, groups: Groups = None, *, resamples: int = 10_000, seed: int = 0
) -> float:
    """The two-sided p-value of a mean difference, by flipping the sign of whole groups.

    Exact, over all flips, where these are no more than `resamples`: up to 14 groups in which the judges differ. With
    groups of unequal size take `larger_p` of it and of `difference`.

    Args:
        first: (n,) scores of one judge, or whether it is right.
        second: (n,) the other's.
        groups: (n,) the group of each case; None: independent cases.
        resamples: flips to draw.

    Returns:
        1 where the judges never differ; NaN without cases, or for a NaN among the scores.

    Raises:
        DataError: sides or groups of different length.
    """
    left, right = _sides("permutation", first, second)
    codes, count = group_codes(groups, len(left))
    sums = np.bincount(codes, weights=left - right, minlength=count)
    if not count or np.isnan(sums).any():
        return math.nan
    seen = abs(math.fsum(sums)) - 1e-12 * float(np.abs(sums).sum())
    sums = np.sort(np.abs(sums[sums != 0]))  # so that neither the order of cases nor that of the judges matters
    extreme, drawn, exact = 0, 0, _is_exact(len(sums), resamples)
    for flips in _flips(len(sums), resamples, seed):
        extreme += int(np.count_nonzero(np.abs(sums.sum() - 2 * (flips @ sums)) >= seen))
        drawn += len(flips)
    return _p(extreme, drawn, exact)


def permutation_statistic(
    statistic: Callable[[NDArray[Any]], float],
    first: ArrayLike,
    second: ArrayLike,
    groups: Groups = None,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> float:
    """The two-sided p-value of statistic(first) - statistic(second), by swapping the outputs of whole groups.

    With groups of unequal size take `larger_p` of it and of the interval of the difference. Under the hypothesis the
    two outputs of a case could be exchanged, so they must be on one scale: rank the scores of each judge first where
    the judges use theirs differently and only the order matters.

    Args:
        statistic: (n,) outputs of one judge, in the order of the cases -> its figure, a correlation with people say.
        first: (n,) outputs of one judge.
        second: (n,) the other's.
        groups: (n,) the group of each case; None: independent cases.
        resamples: swaps to draw; all swaps are tried where there are no more.

    Returns:
        NaN where the statistic of either side is; swaps on which it is not defined count as extreme.

    Raises:
        DataError: sides or groups of different length.
    """
    left, right = np.asarray(first), np.asarray(second)
    _check_sides("permutation_statistic", left, right)
    codes, count = group_codes(groups, len(left))
    seen = abs(statistic(left) - statistic(right)) if count else math.nan
    if math.isnan(seen):
        return math.nan
    extreme, drawn, exact = 0, 0, _is_exact(count, resamples)
    for flips in _flips(count, resamples, seed):
        for flip in flips.astype(bool):
            swapped = flip[codes]
            result = statistic(np.where(swapped, right, left)) - statistic(np.where(swapped, left, right))
            extreme += not abs(result) < seen - 1e-12 * max(1.0, seen)
        drawn += len(flips)
    return _p(extreme, drawn, exact)


def p_of_interval(difference: Estimate, *, bounds: tuple[float, float] | None = None, level: float = 0.95) -> float:
    """The two-sided p-value of a difference of 0, by the error and the degrees of freedom of its interval.

    It is at most 1 - level where the interval does not hold 0; NaN without an interval.

    Args:
        difference: with the interval of `difference` or `bootstrap`.
        bounds: of the statistic, symmetrical around 0, as `bootstrap` took them; None: the interval has none.
        level: of the interval, in (0, 1).
    """
    low, high = difference.low, difference.high
    if math.isnan(low) or not low < high:
        return math.nan
    if bounds is not None:
        inside = (math.nextafter(-1, 0), math.nextafter(1, 0))
        low, high = (math.atanh(min(max(end / bounds[1], inside[0]), inside[1])) for end in (low, high))
    from scipy.special import stdtr

    errors = abs(low + high) / (high - low) * quantile(level, difference.freedom)
    return float(2 * stdtr(difference.freedom, -errors))


def larger_p(exchanged: float, difference: Estimate, *, bounds: tuple[float, float] | None = None) -> float:
    """The p-value of an exchange of whole groups, or that of the interval where groups are unequal and it is larger.

    Args:
        exchanged: p-value of `permutation` or `permutation_statistic`.
        difference: of the same means or statistics, with its 95 % interval.
        bounds: as for `p_of_interval`.
    """
    if difference.effective_groups is None or math.isnan(exchanged):
        return exchanged
    by_interval = p_of_interval(difference, bounds=bounds)
    if math.isnan(by_interval):
        return exchanged if difference.effective_groups >= LEAST else 1.0
    return max(exchanged, by_interval)


def non_inferior(
    first: ArrayLike, second: ArrayLike, margin: float, groups: Groups = None, *, alpha: float = 0.05
) -> NonInferiority:
    """Whether the first judge is worse than the second by less than `margin`, tested on one side.

    The level is that of Student's interval: about alpha. Simulated accuracies at the margin were called not inferior in
    5.2 % of the draws of 200 cases, 5.4 % in 50 groups and 5.9 % in 13 (`benchmarks/coverage.py`).

    Args:
        first: (n,) scores of the judge that would replace, or whether it is right.
        second: (n,) those of the judge that would be replaced.
        margin: the loss that would matter, above 0, in the unit of the scores; choose it before looking.
        groups: (n,) the group of each case; None: independent cases.
        alpha: the risk of calling a worse judge not inferior, in (0, 0.5).

    Returns:
        p is NaN, and nothing is shown, where all cases, or nearly all, are of one group.

    Raises:
        DataError: sides or groups of different length.
        DeclarationError: a margin or an alpha out of range.
    """
    if not (margin > 0 and 0 < alpha < 0.5):
        raise DeclarationError(
            f"non_inferior: margin {margin}, alpha {alpha}. Give a margin above 0 and an alpha in (0, 0.5)."
        )
    result = difference(first, second, groups, level=1 - 2 * alpha)
    if result.freedom < LEAST - 1:
        return NonInferiority(result, margin, math.nan, False)
    from scipy.special import stdtr

    left, right = _sides("non_inferior", first, second)
    codes, count = group_codes(groups, len(left))
    centre, error, _ = _centre(left, right, codes, count)
    surplus = centre + margin
    p = float(stdtr(result.freedom, -surplus / error)) if error > 0 else float(surplus <= 0)
    return NonInferiority(result, margin, p, p <= alpha)


def holm(p_values: ArrayLike) -> Floats:
    """The p-values of a table, (m,), adjusted so that one wrong rejection anywhere stays as rare as one test's.

    NaN, a test that was not possible, stays NaN and does not count.
    """
    p_array = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full_like(p_array, np.nan)
    known = np.flatnonzero(~np.isnan(p_array))
    order = known[np.argsort(p_array[known], kind="stable")]
    steps = p_array[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _sides(who: str, first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    _check_sides(who, left, right)
    return left, right


def _check_sides(who: str, left: NDArray[Any], right: NDArray[Any]) -> None:
    if left.shape != right.shape or left.ndim != 1:
        raise DataError(f"{who}: {left.shape} outputs against {right.shape}. Give one of each judge a case.")


def _mean(values: Floats) -> float:
    return math.fsum(values) / len(values) if len(values) else math.nan


def _centre(left: Floats, right: Floats, codes: NDArray[np.intp], count: int) -> tuple[float, float, float]:
    """The middle of the interval, the standard error, and how far from 0 the difference can be."""
    apart = left - right
    if not (np.isin(left, (0, 1)).all() and np.isin(right, (0, 1)).all()):
        centre = _mean(apart)
        return centre, math.sqrt(variance_of_mean(apart - centre, codes, count)), math.inf
    # Agresti & Min: half a case in each of the four cells, so the two discordant ones and one case without difference.
    # Judges that never differ say nothing of the groups: each counts as one case, as if its cases were copies.
    n = len(apart) if apart.any() else effective_groups(codes, count)
    centre = float(apart.sum()) / (n + 2)
    of_groups = variance_of_mean(apart - centre, codes, count) * n**2 if apart.any() else 0.0
    of_halves = 0.5 * (1 - centre) ** 2 + 0.5 * (1 + centre) ** 2 + centre**2
    return centre, math.sqrt(of_groups + count / (count - 1) * of_halves) / (n + 2), 1.0


def _is_exact(count: int, resamples: int) -> bool:
    return count < 63 and 1 << max(count - 1, 0) <= resamples


def _flips(count: int, resamples: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """Which groups to flip, (some, count) of 0 and 1: every way once where these are few, else `resamples` drawn.

    Flipping all groups only turns the sign, so in every way the last group stays.
    """
    if _is_exact(count, resamples):
        ways = np.arange(1 << max(count - 1, 0))[:, None]
        yield (ways >> np.arange(count) & 1).astype(np.int8)
        return
    rng = np.random.default_rng(seed)
    size = max(1, CHUNK // count)
    for start in range(0, resamples, size):
        yield rng.integers(2, size=(min(size, resamples - start), count), dtype=np.int8)


def _p(extreme: int, drawn: int, exact: bool) -> float:
    return extreme / drawn if exact else (1 + extreme) / (1 + drawn)
