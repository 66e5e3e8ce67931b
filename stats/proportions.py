"""A proportion of independent cases with its interval, and correlations."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resampling import quantile, wilson

Floats = NDArray[np.float64]
FEWEST = 3  # points: two always lie on a line
COEFFICIENTS = ("pearson", "spearman", "kendall")


@dataclass(frozen=True)
class Proportion:
    """`hits` of `n`; the interval is Wilson's (1927), 95 %, for independent cases."""

    hits: int
    n: int

    @property
    def value(self) -> float:
        """In [0, 1]; NaN for n = 0."""
        return self.hits / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; (NaN, NaN) for n = 0."""
        if not self.n:
            return math.nan, math.nan
        return wilson(self.value, self.n, quantile(0.95))

    def as_dict(self) -> dict[str, Any]:
        low, high = self.interval
        return {"value": self.value, "low": low, "high": high, "hits": self.hits, "n": self.n} if self.n else {"n": 0}


def correlations(pairs: Iterable[tuple[float, float]]) -> dict[str, float]:
    """Pearson, Spearman and Kendall's tau-b of the two sides; empty under 3 points, NaN when either side is constant.

    Example:
        >>> correlations([(1, 2), (2, 1), (3, 4), (4, 3), (5, 5)])["kendall"]
        0.6
    """
    points = sorted(pairs)  # so that rounding does not depend on the order in which they came
    if len(points) < FEWEST:
        return {}
    left, right = np.array(points).T
    return {name: correlation(name, left, right) for name in COEFFICIENTS}


def correlation(name: str, left: Floats, right: Floats) -> float:
    """One of COEFFICIENTS over points (n,); NaN under 3, or when either side is constant or has a NaN.

    Pearson's and Spearman's are computed here: permutation tests take tens of thousands, and scipy also computes a
    p-value for each, which takes ten times as long.
    """
    if len(left) < FEWEST or _constant(left) or _constant(right) or np.isnan(left).any() or np.isnan(right).any():
        return math.nan
    if name == "kendall":
        from scipy import stats

        return float(stats.kendalltau(left, right).statistic)
    return _pearson(left, right) if name == "pearson" else _pearson(_ranks(left), _ranks(right))


def _pearson(left: Floats, right: Floats) -> float:
    ours, theirs = left - left.mean(), right - right.mean()
    # each side over its largest value, so that no square overflows
    ours, theirs = ours / np.abs(ours).max(), theirs / np.abs(theirs).max()
    # not by BLAS, whose threads wait for each other on a busy machine: 16 ms for 12,500 points, 50,000 times a test
    product, first, second = (float(values.sum()) for values in (ours * theirs, ours * ours, theirs * theirs))
    return min(1.0, max(-1.0, product / math.sqrt(first * second)))


def _ranks(scores: Floats) -> Floats:
    """The (n,) ranks from 1, equal scores share their mean rank."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[places]
    return ranks


def _constant(scores: Floats) -> bool:
    """All equal but for rounding, so that no correlation is defined."""
    return bool(scores.max() - scores.min() <= 1e-12 * max(1.0, abs(scores.max())))
