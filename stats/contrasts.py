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
                 of m cases. `stats.jackknife` gives one variance about the value itself; here each group's part, about
                 the mean of the left-out values, is kept, because a group with cases on both sides moves both figures.

The errors take what groups with cases on both sides add to both. Intervals are the tests turned round: the difference
more or less the 95 % quantile of the exchanged distances, times the error. `benchmarks/subgroups.py` simulates worlds
without a difference.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .group_exchange import dealt_anew, flipped, signs_of_groups
from .jackknife import effective_groups
from .resampling import Groups, group_codes, quantile

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
DEALT = "permutation of whole groups"
FLIPPED = "sign flips of whole groups"
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
    sides = [
        tuple(_proportion_side(values[side], numbers[side], count) for side in (codes == value, codes != value))
        for value in range(k)
    ]
    usable = [min(first.freedom, second.freedom) > 0 for first, second in sides]
    references = _references(values, codes, usable, (numbers, count), seed)
    test = DEALT if is_constant(codes, numbers) else FLIPPED
    return [
        _against(first.figure - second.figure, _error(first, second), reference, test)
        for (first, second), reference in zip(sides, references, strict=True)
    ]


def _references(
    values: Floats, codes: Codes, usable: list[bool], groups: tuple[NDArray[np.intp], int], seed: int
) -> list[Floats | None]:
    """For each value the distances over their errors without a difference; None where a side has no two groups."""
    numbers, count = groups
    if not any(usable):
        return [None] * len(usable)
    if not is_constant(codes, numbers):
        signs = signs_of_groups(count, seed)
        return [
            flipped(values, codes == value, numbers, count, signs) if usable[value] else None
            for value in range(len(usable))
        ]
    places = np.cumsum([0, *usable])  # values that cannot be tested are dealt as one, which is not looked at
    merged = np.where(np.array(usable)[codes], places[codes], places[-1])
    dealt = dealt_anew(values, merged, int(places[-1]), numbers, count, seed)
    return [dealt[places[value]] if usable[value] else None for value in range(len(usable))]


def _against(difference: float, error: float, reference: Floats | None, test: str) -> Contrast:
    """The p-value by the reference, and the interval that holds 0 where p is above .05."""
    if reference is None:
        return Contrast(difference, math.nan, math.nan, math.nan, test)
    distance = 0.0 if abs(difference) < 1e-12 else abs(difference) / error if error > 0 else math.inf
    extreme, resamples = int(np.count_nonzero(reference >= distance * (1 - 1e-9))), len(reference)
    allowed = int(0.05 * (resamples + 1)) - 1  # as many resamples lie beyond the interval's ends
    quantile_of_distances = float(np.partition(reference, resamples - 1 - allowed)[resamples - 1 - allowed])
    half = quantile_of_distances * (1 + 1e-9) * error if error > 0 else math.inf
    low, high = max(-1.0, difference - half), min(1.0, difference + half)
    return Contrast(difference, low, high, (1 + extreme) / (1 + resamples), test)


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
        sides.append(_Side(statistic(rows), parts, 0.0, _freedom(numbers[rows])))
    return _student(*sides)


def _proportion_side(hits: Floats, numbers: NDArray[np.intp], count: int) -> _Side:
    n, groups = len(hits), len(np.unique(numbers))
    figure, parts, unseen = float(hits.mean()) if n else math.nan, np.zeros(count), 0.0
    if groups > 1 and figure in (0, 1):  # no variation is seen: that of as many groups with a hit and a miss more
        smoothed = (figure * groups + 1) / (groups + 2)
        unseen = smoothed * (1 - smoothed) / (groups + 2)
    elif groups > 1:
        sums = np.bincount(numbers, weights=hits - figure, minlength=count)
        parts = sums / n * math.sqrt(groups / (groups - 1))
    return _Side(figure, parts, unseen, _freedom(numbers))


def _freedom(numbers: NDArray[np.intp]) -> float:
    """Effective groups of some cases less one; 0 where they are of one group or there are none."""
    groups, codes = np.unique(numbers, return_inverse=True)
    return effective_groups(codes, len(groups)) - 1 if len(groups) else 0.0


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
