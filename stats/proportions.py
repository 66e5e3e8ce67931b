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
    """One of COEFFICIENTS over points (n,); NaN under 3, or when either side is constant."""
    from scipy import stats

    if len(left) < FEWEST or _constant(left) or _constant(right):
        return math.nan
    statistics: dict[str, Any] = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    return float(statistics[name](left, right).statistic)


def _constant(scores: Floats) -> bool:
    """All equal but for rounding, so that no correlation is defined."""
    return bool(scores.max() - scores.min() <= 1e-12 * max(1.0, abs(scores.max())))
