"""Intervals that respect groups: cases of one prompt or one person are not independent.

    proportion Wilson's interval (1927). Clustered cases count for their effective sample size (Korn & Graubard 1998,
               Survey Methodology 24; compared by Dean & Pagano 2015 and, who recommend Wilson's, by Franco et al. 2019,
               J. Survey Statistics and Methodology 3 and 7).
    mean       Student's interval.
    bootstrap  any other statistic: the standard error goes to the scale of the statistic's bounds by the delta method
               (for correlations that is Fisher's z), and Student's quantile gives the interval there. Of eight ways
               tried, percentiles and BCa among them, this one and the jackknife covered best at n = 50.

In groups every standard error is a jackknife's, which leaves out one group at a time, and Student's degrees of freedom
are one less than the effective number of groups (`stats.jackknife`): groups may be of any sizes. Independent cases are
drawn again (Efron & Tibshirani 1993), and so are whole groups where these are too many to leave out one at a time.

`benchmarks/coverage.py` measures how often each interval holds the truth, and docs/results/intervals.md has the table.

Groups have any names; groups of one case each are the same as none. Where every case is alone, `mean` and `share` do
not depend on the order of the cases, to the last bit; with named groups nothing here does but for rounding. A
`bootstrap` of independent cases draws positions: sort the cases, by id say, before.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, DeclarationError
from .jackknife import LEAST, effective_groups, jackknife_error, variance_of_mean

Groups = Iterable[Hashable] | None
RESAMPLES = 400  # the width of an interval varies by 1 / sqrt(2 * 400) = 3.5 % from seed to seed
DRAWN_CASES = 5000  # about; resamples of larger sets hold fewer groups than there are, at least `DRAWN_GROUPS`
DRAWN_GROUPS = 30
PRIOR = 0.5  # intraclass correlation of the group that is added to those that hold the rarer outcome
CHUNK = 1 << 21  # numbers in memory at once: 16 MB


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval; NaN where it is not defined.

    Attributes:
        n: cases.
        groups: independent groups among them; n for independent cases.
        effective_n: of a proportion: the number of independent cases that would give the same variance.
        effective_groups: groups of equal size that the groups count for; None: all have one size, or are not known.
        design_effect: of a proportion in groups: how many times the variance of as many independent cases it has, by
            the jackknife, without the bounds of `effective_n`; None: independent cases, or not known.
    """

    value: float
    low: float
    high: float
    n: int
    groups: int
    effective_n: float | None = None
    effective_groups: float | None = None
    design_effect: float | None = None

    @property
    def freedom(self) -> float:
        """Student's degrees of freedom of the interval: one less than there are effective groups."""
        return (self.groups if self.effective_groups is None else self.effective_groups) - 1


def proportion(hits: ArrayLike, groups: Groups = None, *, level: float = 0.95) -> Estimate:
    """The proportion of hits, in [0, 1], with Wilson's interval.

    In groups, n is divided by the design effect v n / (p (1 - p)) of the jackknife's variance v, but never by less
    than 1, and the normal quantile becomes Student's. Where few groups hold the rarer outcome, v is most often too
    small; one group is added to their number whose design effect is that of an intraclass correlation of `PRIOR`. Where
    all cases are hits, or none, v says nothing: n becomes the effective number of groups, as if the cases of a group
    were copies of one another.

    Args:
        hits: (n,) truth values.
        groups: (n,) the group of each case; None: independent cases.
        level: of confidence, in (0, 1).

    Returns:
        NaN without cases; the interval is NaN when all cases, or nearly all, are of one group.

    Raises:
        DataError: groups of another length.
    """
    values = np.asarray(hits, dtype=bool)
    n = len(values)
    codes, count = group_codes(groups, n)
    if not n:
        return _undefined(math.nan, 0, 0)
    value = int(np.count_nonzero(values)) / n
    if count == n:
        return Estimate(value, *wilson(value, n, quantile(level)), n, count, float(n))
    equal = effective_groups(codes, count)
    if equal < LEAST:
        return _undefined(value, n, count, equal)
    effect, effective = None, equal
    if value not in (0, 1):
        residuals = np.asarray(values - value, dtype=np.float64)
        effect = variance_of_mean(residuals, codes, count) * n / (value * (1 - value))
        effective = n / _bounded(effect, values, value, codes, equal)
    low, high = wilson(value, effective, quantile(level, equal - 1))
    return Estimate(value, low, high, n, count, effective, equal if equal < count else None, effect)


def _bounded(effect: float, values: NDArray[np.bool_], value: float, codes: NDArray[np.intp], equal: float) -> float:
    """The design effect, at least 1, with one group more that has an intraclass correlation of `PRIOR`."""
    seen = max(1.0, effect)
    in_groups = np.bincount(codes[values == (value < 0.5)]).astype(np.float64)
    rarer = float(in_groups.sum() ** 2 / (in_groups @ in_groups))  # groups that hold as many each, as effective_groups
    prior = 1 + PRIOR * (len(values) / equal - 1)
    return max(seen, (rarer * seen + prior) / (rarer + 1))


def mean(values: ArrayLike, groups: Groups = None, *, level: float = 0.95) -> Estimate:
    """The mean with Student's interval by groups, of one degree of freedom less than there are effective groups.

    Args:
        values: (n,) numbers; one NaN makes everything NaN.
        groups: (n,) the group of each case; None: independent cases.
        level: of confidence, in (0, 1).

    Returns:
        NaN without cases; the interval is NaN when all cases, or nearly all, are of one group.

    Raises:
        DataError: groups of another length.
    """
    numbers = np.asarray(values, dtype=np.float64)
    n = len(numbers)
    codes, count = group_codes(groups, n)
    if not n:
        return _undefined(math.nan, 0, 0)
    if count == n:
        numbers = np.sort(numbers)  # else rounding would depend on the order of the cases
    value = math.fsum(numbers) / n
    equal = effective_groups(codes, count)
    if equal < LEAST:
        return _undefined(value, n, count, equal)
    half = quantile(level, equal - 1) * math.sqrt(variance_of_mean(numbers - value, codes, count))
    return Estimate(value, value - half, value + half, n, count, None, equal if equal < count else None)


def bootstrap(
    statistic: Callable[[NDArray[np.intp]], float],
    n: int,
    groups: Groups = None,
    *,
    seed: int = 0,
    resamples: int | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    """A statistic of the cases with its interval; for smooth statistics whose error falls as 1 / sqrt(n).

    Groups are left out one at a time, which draws nothing. Where that were more work than the resamples are (over 400
    groups, or 2 million cases to read), whole groups are drawn instead. Sets of more than `DRAWN_CASES` cases are drawn
    in part, m of G groups, and the error is multiplied by sqrt(m / G) (m out of n; Bickel, Götze & van Zwet 1997), so
    that 100,000 cases cost about what 5,000 do.

    Args:
        statistic: positions of cases (m,), with repetitions -> the figure of these cases; NaN, without a warning,
            where it is not defined.
        n: cases.
        groups: (n,) the group of each case; None: independent cases.
        resamples: how often to draw, where cases or groups are drawn; None: 400, down to 200 where a few groups hold
            tens of thousands of cases.
        level: of confidence, in (0, 1).
        bounds: of the statistic, infinite where it has none; the interval stays inside.

    Returns:
        NaN where the statistic is; the interval is NaN when all cases, or nearly all, are of one group, or the
        statistic is not defined on most resamples. A statistic on a bound gets the interval of a proportion of as many
        cases as there are effective groups, stretched to the bounds: with no variation seen nothing better is known.

    Raises:
        DataError: groups of another length.
        DeclarationError: a value outside the bounds.

    Example:
        >>> judge, people = np.array([1, 2, 3, 4, 5, 6.0]), np.array([1, 3, 2, 5, 4, 6.0])
        >>> found = bootstrap(lambda cases: float((judge * people)[cases].mean()), 6, bounds=(0, 36))
        >>> round(found.value, 2), 0 < found.low < found.high < 36
        (14.83, True)
    """
    codes, count = group_codes(groups, n)
    value = float(statistic(np.arange(n))) if n else math.nan
    equal = effective_groups(codes, count) if n else 0.0
    if equal < LEAST or math.isnan(value):
        return _undefined(value, n, count, equal)
    if count < n and count <= RESAMPLES and count * n <= RESAMPLES * DRAWN_CASES:
        without = np.array([statistic(np.flatnonzero(codes != group)) for group in range(count)], dtype=np.float64)
        return interval_from_error(value, jackknife_error(value, without), (n, count, equal), level, bounds)
    drawn = min(count, max(DRAWN_GROUPS, DRAWN_CASES * count // n))
    rng = np.random.default_rng(seed)
    samples = _draw_groups(rng, codes, count, drawn) if count < n else _draw_cases(rng, n, drawn)
    times = resamples or max(RESAMPLES // 2, min(RESAMPLES, 800 * DRAWN_CASES // (drawn * n // count)))
    replicates = np.array([statistic(next(samples)) for _ in range(times)], dtype=np.float64)
    error = math.sqrt(drawn / count) * _deviation(replicates)
    if count < n:
        error *= math.sqrt(equal / (equal - 1))
    return interval_from_error(value, error, (n, count, equal), level, bounds)


def bootstrap_table(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    human: ArrayLike,
    judge: ArrayLike,
    k: int,
    groups: Groups = None,
    *,
    seed: int = 0,
    resamples: int | None = None,
    level: float = 0.95,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    """As `bootstrap`, of a statistic of confusion tables; does not depend on the order of the cases.

    Groups are left out one at a time, those with equal tables once. Of independent cases a resample is one multinomial
    draw of how often each cell comes, and all resamples are weighed into tables at once.

    Args:
        statistic: tables (..., k, k), rows people, columns judge -> figures (...).
        human: (n,) label codes 0..k-1.
        judge: (n,) codes as `human`.

    Raises:
        DataError: codes that are not in 0..k-1, sides or groups of another length.
        DeclarationError: a value outside the bounds.
    """
    kinds, often = _kinds_of_groups(np.asarray(human), np.asarray(judge), k, groups)
    total = often @ kinds
    n, count = int(total.sum()), int(often.sum())
    value = float(statistic(total.reshape(k, k))) if n else math.nan
    sizes = kinds.sum(axis=1)
    equal = float(count) if np.ptp(sizes) == 0 else n**2 / float(often @ sizes**2)
    if equal < LEAST or math.isnan(value):
        return _undefined(value, n, count, equal)
    if count < n:
        without = np.concatenate([statistic((total - part).reshape(-1, k, k)) for part in _chunks(kinds)])
        return interval_from_error(value, jackknife_error(value, without, often), (n, count, equal), level, bounds)
    rng = np.random.default_rng(seed)
    left, replicates = resamples or RESAMPLES, []
    while left:
        size = min(left, max(1, CHUNK // len(kinds)))
        weights = rng.multinomial(count, often / count, size=size)
        replicates.append(statistic((weights @ kinds).reshape(size, k, k)))
        left -= size
    return interval_from_error(value, _deviation(np.concatenate(replicates)), (n, count, equal), level, bounds)


def _chunks(kinds: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    rows = max(1, CHUNK // kinds.shape[1])
    return (kinds[start : start + rows] for start in range(0, len(kinds), rows))


def group_codes(groups: Groups, n: int) -> tuple[NDArray[np.intp], int]:
    """The number of each case's group, (n,), and how many groups there are; numbered by value, names by their `repr`.

    Raises:
        DataError: not one name for each case.
    """
    if groups is None:
        return np.arange(n), n
    if isinstance(groups, np.ndarray) and groups.dtype.kind in "iu" and groups.shape == (n,):
        values, codes = np.unique(groups, return_inverse=True)
        return np.asarray(codes, dtype=np.intp), len(values)
    names = groups.tolist() if isinstance(groups, np.ndarray) else list(groups)
    if len(names) != n:
        raise DataError(f"groups: {len(names)} names for {n} cases. Give one for each case.")
    numbers = {name: number for number, name in enumerate(sorted(set(names), key=repr))}
    return np.array([numbers[name] for name in names], dtype=np.intp), len(numbers)


def quantile(level: float, freedom: float = math.inf) -> float:
    """Student's two-sided quantile; the normal one for infinitely many degrees of freedom.

    Raises:
        DeclarationError: a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise DeclarationError(f"interval: level {level} is not in (0, 1). Give 0.95, say.")
    if math.isinf(freedom):
        return NormalDist().inv_cdf((1 + level) / 2)  # scipy's import takes a seventh of the start of a run
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + level) / 2))


def _undefined(value: float, n: int, count: int, equal: float = math.inf) -> Estimate:
    return Estimate(value, math.nan, math.nan, n, count, None, equal if equal < count else None)


def _deviation(replicates: NDArray[np.float64]) -> float:
    """The standard deviation of the resamples on which the statistic is defined; NaN where it is not on most."""
    known = replicates[np.isfinite(replicates)]
    return float(known.std(ddof=1)) if len(known) >= max(2, len(replicates) / 2) else math.nan


def wilson(value: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's interval (1927) of a proportion.

    Args:
        value: the proportion, in [0, 1].
        n: independent cases, above 0; may be a fraction.
        z: quantile, such as 1.96.
    """
    centre = (value + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    return (centre - half if value > 0 else 0.0), (centre + half if value < 1 else 1.0)


def _draw_cases(rng: np.random.Generator, n: int, drawn: int) -> Iterator[NDArray[np.intp]]:
    while True:
        yield rng.integers(n, size=drawn)


def _draw_groups(
    rng: np.random.Generator, codes: NDArray[np.intp], count: int, drawn: int
) -> Iterator[NDArray[np.intp]]:
    members = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=count)
    starts = np.cumsum(sizes) - sizes
    while True:
        picked = rng.integers(count, size=drawn)
        ends = np.cumsum(sizes[picked])
        # Within a drawn group the place in `members` runs from the group's start.
        yield members[np.arange(ends[-1]) + np.repeat(starts[picked] - ends + sizes[picked], sizes[picked])]


def _kinds_of_groups(
    human: NDArray[np.intp], judge: NDArray[np.intp], k: int, groups: Groups
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct tables of groups, flat (kinds, k * k), and how many groups have each (kinds,)."""
    if human.shape != judge.shape or human.ndim != 1:
        raise DataError(f"bootstrap: {human.shape} labels against {judge.shape} verdicts. Give one of each a case.")
    n = len(human)
    if n and not (min(human.min(), judge.min()) >= 0 and max(human.max(), judge.max()) < k):
        raise DataError(f"bootstrap: a label code is not in 0..{k - 1}. Leave such cases out.")
    codes, count = group_codes(groups, n)
    cells = human * k + judge
    if count == n:
        often = np.bincount(cells.astype(np.intp), minlength=k * k)
        return np.eye(k * k), often
    places, counts = np.unique(codes * k * k + cells, return_counts=True)
    tables = np.zeros((count, k * k))
    tables.ravel()[places] = counts
    kinds, often = np.unique(tables, axis=0, return_counts=True)
    return kinds, often


def interval_from_error(
    value: float, error: float, size: tuple[int, int, float], level: float, bounds: tuple[float, float]
) -> Estimate:
    """From a standard error, NaN where it is not known; `size` is cases, groups and effective groups."""
    n, count, equal = size
    lower, upper = bounds
    if math.isnan(error):
        return _undefined(value, n, count, equal)
    z = quantile(level, equal - 1)
    step, shown = z * error, equal if equal < count else None
    if math.isinf(lower) and math.isinf(upper):
        return Estimate(value, value - step, value + step, n, count, None, shown)
    if math.isinf(lower) or math.isinf(upper):
        raise DeclarationError(f"bootstrap: bounds {bounds} are half infinite. Give two finite or two infinite ones.")
    place = round((value - lower) / (upper - lower), 12)  # a correlation of 1.0000000000000002 is one of 1
    if not 0 <= place <= 1:
        raise DeclarationError(f"bootstrap: {value} is outside of the bounds {bounds}. Give wider ones.")
    if place in (0, 1):
        low, high = wilson(place, equal, z)
    elif step <= 1e-12 * (upper - lower):  # resamples that never differ say nothing of the error
        return _undefined(value, n, count, equal)
    else:
        # atanh(2 place - 1) is Fisher's z of the place; its derivative by the value is half of 1 / spread.
        spread = 2 * place * (1 - place) * (upper - lower)
        centre = math.atanh(2 * place - 1)
        low, high = ((1 + math.tanh(centre + side * step / spread)) / 2 for side in (-1, 1))
    return Estimate(value, lower + (upper - lower) * low, lower + (upper - lower) * high, n, count, None, shown)
