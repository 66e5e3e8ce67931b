"""How far two means lie apart, over the error, when whole groups are exchanged: the reference of `stats.contrasts`.

Every function gives (resamples,) distances over their cluster-robust errors under the hypothesis of no difference.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .resampling import CHUNK

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Signs = NDArray[np.int8]
RESAMPLES = 10_000  # fewer where there are more than 2,000 groups
FEWEST_RESAMPLES = 2_000
RESAMPLED_GROUPS = 20_000_000  # groups in all resamples, at most


def dealt_anew(values: Floats, codes: Codes, k: int, numbers: NDArray[np.intp], count: int, seed: int) -> Floats:
    """(k, resamples) distances of each value from all others when the values are dealt anew to whole groups.

    Args:
        values: (n,) numbers.
        codes: (n,) the value of each case, 0..k-1, the same in a whole group.
        k: values; each has two groups or more, and two groups have another one.
        numbers: (n,) the group of each case, 0..count-1.
        count: groups.
    """
    sizes = np.bincount(numbers, minlength=count).astype(np.float64)
    sums = np.bincount(numbers, weights=values, minlength=count)
    of_group = np.zeros(count, dtype=np.int64)
    of_group[numbers] = codes
    moments = np.stack([np.ones(count), sizes, sums, sums * sums, sums * sizes, sizes * sizes], axis=1)
    rng, chunks = np.random.default_rng(seed), []
    for size in _chunks(count):
        dealt = rng.permuted(np.broadcast_to(of_group, (size, count)), axis=1)
        chunks.append(np.stack([_distances(dealt == value, moments) for value in range(k)]))
    return np.concatenate(chunks, axis=1)


def signs_of_groups(count: int, seed: int) -> list[Signs]:
    """Signs of groups, (some, count) each, in chunks."""
    rng = np.random.default_rng(seed)
    return [2 * rng.integers(2, size=(size, count), dtype=np.int8) - 1 for size in _chunks(count)]


def flipped(values: Floats, inside: Flags, numbers: NDArray[np.intp], count: int, signs: Sequence[Signs]) -> Floats:
    """(resamples,) distances of the cases inside from all others when the residuals of whole groups change their sign.

    Args:
        values: (n,) numbers.
        inside: (n,) whether a case is of the first side; each side has two groups or more.
        numbers: (n,) the group of each case, 0..count-1.
        signs: of `signs_of_groups`.
    """
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
    distances = []
    for flips in signs:
        first, second, with_x, with_y = (flips.astype(np.float64) @ columns).T
        # sum over groups of (sign * apart - first * x + second * y)^2, where sign^2 = 1
        square = apart @ apart + first**2 * (x @ x) + second**2 * (y @ y)
        square += 2 * (second * with_y - first * with_x - first * second * (x @ y))
        distances.append(_ratio(np.abs(first - second), np.maximum(square, 0)))
    return np.concatenate(distances)


def _distances(chosen: Flags, moments: Floats) -> Floats:
    """(resamples,) the distance of the groups chosen, (resamples, groups), from the others."""
    first = chosen.astype(np.float64) @ moments
    squares, means = np.zeros(len(first)), []
    for groups, n, total, total2, cross, n2 in (first.T, (moments.sum(axis=0) - first).T):
        mean = total / n
        residual = np.maximum(total2 - 2 * mean * cross + mean**2 * n2, 0)
        squares += groups / (groups - 1) * residual / n**2
        means.append(mean)
    return _ratio(np.abs(means[0] - means[1]), squares)


def _ratio(apart: Floats, squares: Floats) -> Floats:
    """Distances over errors; 0 for no distance, infinite where only the error is 0."""
    result = np.full(len(apart), np.inf)
    np.divide(apart, np.sqrt(squares), out=result, where=squares > 1e-24)
    result[apart < 1e-12] = 0
    return result


def _chunks(count: int) -> Iterator[int]:
    """How many resamples to draw at once."""
    left = max(FEWEST_RESAMPLES, min(RESAMPLES, RESAMPLED_GROUPS // count))
    while left:
        size = min(left, max(1, CHUNK // count))
        yield size
        left -= size
