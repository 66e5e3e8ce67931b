"""Each value of a field against all other cases: differences of a figure between parts of one sample, by groups.

    permutation  of proportions, where every group has one value: the values are dealt anew to whole groups. The
                 statistic is the difference over its cluster-robust error, so the test is exact where groups could be
                 exchanged, and right in large samples where only the means are equal (Janssen 1997, Statistics &
                 Probability Letters 36; Chung & Romano 2013, Annals of Statistics 41).
    sign flips   of proportions, where groups hold cases of several values: the residuals under the hypothesis of whole
                 groups change their sign, and the same statistic is computed anew (the wild cluster bootstrap-t with
                 the hypothesis imposed: Cameron, Gelbach & Miller 2008, Review of Economics and Statistics 90).
    Student's    of any other statistic: the jackknife that leaves out a group (Efron & Stein 1981) gives the error,
                 with Welch's degrees of freedom (1947) of the effective numbers of groups, n^2 / sum m^2 - 1 for groups
                 of m cases.

The errors take what groups with cases on both sides add to both. `benchmarks/subgroups.py` simulates worlds without a
difference.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .resampling import CHUNK, Groups, group_codes, proportion, quantile
from .two_samples import difference_interval

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
DEALS = 10_000  # of values to groups; fewer where there are more than 2,000 groups
FEWEST_DEALS = 2_000
DEALT_GROUPS = 20_000_000  # groups in all deals, at most
BLOCKS = 200  # more groups than these are left out some at a time


@dataclass(frozen=True)
class Contrast:
    """The figure of some cases less the figure of all others; NaN where it is not defined.

    Attributes:
        low: lower end of the 95 % interval.
        high: upper end of it.
        p: two-sided, of no difference.
        test: its name in words.
    """

    difference: float
    low: float
    high: float
    p: float
    test: str


@dataclass(frozen=True)
class _Side:
    """The figure of one side and its error.

    Attributes:
        parts: (groups,) what each group adds to the error; the sum of their squares is the variance.
        unseen: variance that is assumed where the groups show none.
        freedom: degrees of freedom.
    """

    figure: float
    parts: Floats
    unseen: float
    freedom: float

    @property
    def variance(self) -> float:
        return float(self.parts @ self.parts) + self.unseen


def is_constant(codes: Codes, groups: Groups) -> bool:
    """Whether all cases of a group have one value.

    Args:
        codes: (n,) the value of each case.
        groups: (n,) the group of each case; None: independent cases.
    """
    numbers, count = group_codes(groups, len(codes))
    return len(np.unique(np.stack([numbers, codes], axis=1), axis=0)) == count


def proportion_contrasts(
    hits: ArrayLike, codes: Codes, k: int, groups: Groups = None, *, seed: int = 0
) -> list[Contrast]:
    """The proportion of hits for each value less that for all other values.

    Args:
        hits: (n,) truth values.
        codes: (n,) the value of each case, 0..k-1.
        k: values.
        groups: (n,) the group of each case; None: independent cases.

    Returns:
        (k,) NaN where a side has fewer than two groups.
    """
    values = np.asarray(hits, dtype=np.float64)
    numbers, count = group_codes(groups, len(values))
    if not is_constant(codes, numbers):
        return _flipped(values, codes, k, numbers, count, seed)
    p_values = _permutation(values, codes, k, numbers, count, seed)
    contrasts = []
    for value, p in enumerate(p_values.tolist()):
        inside = codes == value
        figure, others = (proportion(values[side] > 0, numbers[side]) for side in (inside, ~inside))
        low, high = difference_interval(others, figure, 0.95)
        low, high = (math.nan, math.nan) if math.isnan(p) else (low, high)
        contrasts.append(Contrast(figure.value - others.value, low, high, p, "permutation of whole groups"))
    return contrasts


def statistic_contrast(
    statistic: Callable[[NDArray[np.intp]], float], inside: Flags, groups: Groups = None
) -> Contrast:
    """A statistic of the cases of one value less the statistic of all others.

    Args:
        statistic: positions of cases (m,) -> the figure of these cases, NaN where it is not defined.
        inside: (n,) whether a case has the value.
        groups: (n,) the group of each case; None: independent cases.
    """
    numbers, count = group_codes(groups, len(inside))
    if count > BLOCKS:
        numbers, count = numbers % BLOCKS, BLOCKS
    sides = []
    for side in (inside, ~inside):
        rows = np.flatnonzero(side)
        of_side = np.unique(numbers[rows])
        left_out = np.array([statistic(rows[numbers[rows] != group]) for group in of_side])
        parts = np.zeros(count)
        if len(of_side) > 1:
            parts[of_side] = math.sqrt((len(of_side) - 1) / len(of_side)) * (left_out.mean() - left_out)
        sides.append(_Side(statistic(rows), parts, 0.0, _freedom(numbers[rows], count)))
    return _student(*sides)


def _flipped(values: Floats, codes: Codes, k: int, numbers: NDArray[np.intp], count: int, seed: int) -> list[Contrast]:
    """(k,) contrasts of proportions by sign flips of whole groups, with Student's intervals."""
    signs = list(_signs(count, seed))
    contrasts = []
    for value in range(k):
        sides = [_proportion_side(values[side], numbers[side], count) for side in (codes == value, codes != value)]
        result = _student(*sides)
        if not math.isnan(result.p):
            p = _flip_p(abs(result.difference) / _error(*sides), values, codes == value, numbers, count, signs)
            result = replace(result, p=p, test="sign flips of whole groups")
        contrasts.append(result)
    return contrasts


def _proportion_side(hits: Floats, numbers: NDArray[np.intp], count: int) -> _Side:
    n, groups = len(hits), len(np.unique(numbers))
    figure, parts, unseen = float(hits.mean()) if n else math.nan, np.zeros(count), 0.0
    if groups > 1 and figure in (0, 1):  # no variation is seen: that of as many groups with a hit and a miss more
        smoothed = (figure * groups + 1) / (groups + 2)
        unseen = smoothed * (1 - smoothed) / (groups + 2)
    elif groups > 1:
        sums = np.bincount(numbers, weights=hits - figure, minlength=count)
        parts = sums / n * math.sqrt(groups / (groups - 1))
    return _Side(figure, parts, unseen, _freedom(numbers, count))


def _signs(count: int, seed: int) -> Iterator[NDArray[np.int8]]:
    """Signs of groups, (some, count), in chunks."""
    rng, left = np.random.default_rng(seed), _deals(count)
    while left:
        size = min(left, max(1, CHUNK // count))
        yield 2 * rng.integers(2, size=(size, count), dtype=np.int8) - 1
        left -= size


def _flip_p(
    seen: float, values: Floats, inside: Flags, numbers: NDArray[np.intp], count: int, signs: Sequence[NDArray[np.int8]]
) -> float:
    """The p-value of the distance of two means over its error, `seen`."""
    residuals = values - values.mean()
    sizes, sums, corrections = [], [], []
    for side in (inside, ~inside):
        sizes.append(np.bincount(numbers[side], minlength=count) / side.sum())
        sums.append(np.bincount(numbers[side], weights=residuals[side], minlength=count) / side.sum())
        groups = np.count_nonzero(sizes[-1])
        corrections.append(math.sqrt(groups / (groups - 1)))
    (x, y), (sum_x, sum_y) = (np.stack(sizes) * np.array(corrections)[:, None]), sums
    apart = sum_x * corrections[0] - sum_y * corrections[1]
    columns = np.stack([sum_x, sum_y, apart * x, apart * y], axis=1)
    extreme = drawn = 0
    for flips in signs:
        first, second, with_x, with_y = (flips.astype(np.float64) @ columns).T
        # sum over groups of (sign * apart - first * x + second * y)^2, where sign^2 = 1
        square = apart @ apart + first**2 * (x @ x) + second**2 * (y @ y)
        square += 2 * (second * with_y - first * with_x - first * second * (x @ y))
        errors = np.sqrt(np.maximum(square, 0))
        extreme += int(np.count_nonzero(np.abs(first - second) >= (seen - 1e-9) * errors))
        drawn += len(flips)
    return (1 + extreme) / (1 + drawn)


def _freedom(numbers: NDArray[np.intp], count: int) -> float:
    """Effective groups less one; 0 where the cases are of one group."""
    sizes = np.bincount(numbers, minlength=count).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes @ sizes)) - 1 if len(numbers) else 0.0


def _error(first: _Side, second: _Side) -> float:
    """The standard error of the difference; groups with cases on both sides add to both."""
    return math.sqrt(float(np.sum((first.parts - second.parts) ** 2)) + first.unseen + second.unseen)


def _student(first: _Side, second: _Side) -> Contrast:
    """Student's test of the difference."""
    test = "Student's, by whole groups"
    difference = first.figure - second.figure
    error = _error(first, second)
    if min(first.freedom, second.freedom) <= 0 or not error > 0 or math.isnan(difference):
        return Contrast(difference, math.nan, math.nan, math.nan, test)
    from scipy.special import stdtr

    sides = (first, second)
    freedom = sum(side.variance for side in sides) ** 2 / sum(side.variance**2 / side.freedom for side in sides)
    half = quantile(0.95, freedom) * error
    p = float(2 * stdtr(freedom, -abs(difference) / error))
    return Contrast(difference, difference - half, difference + half, p, test)


def _permutation(values: Floats, codes: Codes, k: int, numbers: NDArray[np.intp], count: int, seed: int) -> Floats:
    """(k,) p-values; NaN where a side has fewer than two groups."""
    sizes = np.bincount(numbers, minlength=count).astype(np.float64)
    sums = np.bincount(numbers, weights=values, minlength=count)
    of_group = np.zeros(count, dtype=np.int64)
    of_group[numbers] = codes
    moments = np.stack([np.ones(count), sizes, sums, sums * sums, sums * sizes, sizes * sizes], axis=1)
    seen = np.array([_studentised(of_group[None] == value, moments)[0] for value in range(k)])
    extreme, deals = np.zeros(k), _deals(count)
    rng, done = np.random.default_rng(seed), 0
    while done < deals:
        size = min(deals - done, max(1, CHUNK // count))
        dealt = rng.permuted(np.broadcast_to(of_group, (size, count)), axis=1)
        for value in np.flatnonzero(~np.isnan(seen)):
            extreme[value] += np.count_nonzero(_studentised(dealt == value, moments) >= seen[value] * (1 - 1e-9))
        done += size
    return np.where(np.isnan(seen), np.nan, (1 + extreme) / (1 + deals))


def _deals(count: int) -> int:
    return max(FEWEST_DEALS, min(DEALS, DEALT_GROUPS // count))


def _studentised(chosen: Flags, moments: Floats) -> Floats:
    """(deals,) the distance of the two means over its error; infinite where only the error is 0."""
    first = chosen.astype(np.float64) @ moments
    squares = np.zeros(len(first))
    means = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for groups, n, total, total2, cross, n2 in (first.T, (moments.sum(axis=0) - first).T):
            mean = total / n
            residual = np.maximum(total2 - 2 * mean * cross + mean**2 * n2, 0)
            squares += np.where(groups > 1, groups / (groups - 1), np.nan) * residual / n**2
            means.append(mean)
        apart = np.abs(means[0] - means[1])
        apart[apart < 1e-12] = 0
        squares[squares < 1e-24] = 0
        return np.where(apart == 0, np.where(np.isnan(squares), np.nan, 0), apart / np.sqrt(squares))
