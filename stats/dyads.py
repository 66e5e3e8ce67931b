"""Statistics of pairs of texts whose two texts come from different groups: two pairs depend where they share a group.

The variance of a mean of such pairs sums the products of residuals over all couples of pairs that share a group
(Aronow, Samii & Assenova 2015, Political Analysis 23). That is the jackknife over groups, which leaves out every
pair that a group has a part in, less the jackknife over pairs, because a pair shares both of its groups with
itself. It is taken to be no less than the latter, which is the variance of independent pairs.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .jackknife import LEAST, jackknife_variance
from .resampling import Estimate, interval_from_error

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def estimate_of_dyads(
    statistic: Callable[[Floats], Floats],
    cells: Codes,
    size: int,
    first: Codes,
    second: Codes,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> Estimate:
    """A statistic of counts of pairs, with its interval; does not depend on the order of the pairs.

    Args:
        statistic: how often each cell occurs, (..., size) -> figures (...); NaN where it is not defined.
        cells: (n,) the cell of each pair, 0 .. size - 1.
        first: (n,) the group of the first text of each pair.
        second: (n,) the group of the second text.
        level: of confidence, in (0, 1).
        bounds: of the statistic.

    Returns:
        NaN where the statistic is; the interval is NaN where it is not defined without most of the groups.
    """
    n = len(cells)
    groups, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    left, right, count = codes[:n], codes[n:], len(groups)
    apart = left != right
    total = np.bincount(cells, minlength=size).astype(np.float64)
    value = float(statistic(total)) if n else math.nan
    parts = np.zeros((count, size))
    np.add.at(parts, (left, cells), 1)
    np.add.at(parts, (right[apart], cells[apart]), 1)
    taken = parts.sum(axis=1)
    equal = float(taken.sum() ** 2 / (taken @ taken)) if n else 0.0
    shown = equal if equal < count - 1e-9 else None
    if math.isnan(value) or equal < LEAST:
        return Estimate(value, math.nan, math.nan, n, count, None, shown)
    of_groups = jackknife_variance(value, statistic(total - parts))
    often = np.bincount(cells[apart], minlength=size)
    of_pairs = jackknife_variance(value, statistic(total - np.eye(size)), often) if apart.any() else 0.0
    error = math.sqrt(max(of_groups - of_pairs, of_pairs)) if of_groups >= 0 else math.nan
    return interval_from_error(value, error, (n, count, equal), level, bounds)
