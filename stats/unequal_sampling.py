"""Samples in which some cases are likelier than others, and figures from them that are still of all cases.

A case enters the sample with a known probability; weighted by its inverse, sums over the sample are unbiased for sums
over all cases, whatever the probabilities (Horvitz & Thompson 1952, JASA 47). Means divide by the sum of the weights
(Hájek 1971), which keeps them in the range of the values at a bias of order 1/n.

inclusion_probabilities  a mix of uniform and targeted sampling. The variance is least where the probability follows the
                         expected size of a case's contribution (Neyman 1934, JRSS 97; for tests of models Sawade et al.
                         2010, ICML, and Kossen et al. 2021, arXiv 2103.05331); the uniform part bounds every weight, so
                         that no figure fails where the guess is wrong (Hesterberg 1995, Technometrics 37).
systematic_sample        a sample of fixed size with exactly these probabilities (Madow 1949, Ann. Math. Stat. 20). It
                         takes its share from every stretch of the order in which cases are given: similar cases next to
                         one another, and cases of a group, are spread over the sample.
weighted_mean            the mean over all cases from the sample, with an interval over whole groups. If the order of
                         the groups is random it covers 94 to 96 % of the time at 50 to 100 labels and 30 to 200 groups
                         (12,000 simulated samples).
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, DeclarationError
from .resampling import Estimate, Groups, group_codes, quantile

Floats = NDArray[np.float64]


def inclusion_probabilities(sizes: ArrayLike, n: int, uniform: float = 0.5) -> Floats:
    """How likely each case is sampled, (cases,), in (0, 1]; the sum is n.

    Args:
        sizes: (cases,) the expected size of each case's contribution, at least 0; only ratios count.
        n: cases to sample, from 1 to all.
        uniform: the proportion of the sample that is drawn uniformly, in (0, 1]; no weight exceeds cases / (uniform n).

    Raises:
        DeclarationError: n or `uniform` out of range.
        DataError: a size below 0 or not finite.
    """
    values = np.asarray(sizes, dtype=np.float64)
    if not 1 <= n <= len(values):
        raise DeclarationError(f"sample: {n} of {len(values)} cases cannot be sampled. Give a number from 1 to all.")
    if not 0 < uniform <= 1:
        raise DeclarationError(f"uniform: {uniform} is not above 0 and at most 1. Give the uniform part of the sample.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise DataError("inclusion_probabilities: a size is below 0 or not finite. Give sizes of at least 0.")
    target = values / values.sum() if values.any() else np.full(len(values), 1 / len(values))
    mixed = uniform / len(values) + (1 - uniform) * target
    certain = np.zeros(len(values), dtype=np.bool_)
    while True:  # cases whose probability would exceed 1 are sampled for certain; the others share the rest
        free = n - int(certain.sum())
        probabilities = np.where(certain, 1.0, mixed * (free / mixed[~certain].sum() if free else 0.0))
        above = (probabilities > 1) & ~certain
        if not above.any():
            return np.minimum(probabilities, 1.0)
        certain |= above


def systematic_sample(probabilities: ArrayLike, start: float) -> NDArray[np.intp]:
    """The positions of the sampled cases, ascending: as many as the probabilities sum to.

    Args:
        probabilities: (cases,) inclusion probabilities in the order in which the sample spreads; their sum is a whole
            number.
        start: in [0, 1), drawn uniformly; each case is included for a part of this range as long as its probability.
    """
    ends = np.cumsum(np.asarray(probabilities, dtype=np.float64))
    total = round(float(ends[-1]))
    ends[-1] = total  # its sum is rounded
    return np.searchsorted(ends, start + np.arange(total), side="right")


def weighted_mean(
    values: ArrayLike, probabilities: ArrayLike, groups: Groups = None, *, level: float = 0.95
) -> Estimate:
    """The mean over all cases from a sample, with an interval over whole groups.

    The error is that of the ratio of two weighted sums, linearised, between whole groups (Särndal, Swensson & Wretman
    1992, section 5.6), with Student's quantile at the effective number of groups less one.

    Args:
        values: (n,) numbers of the sampled cases.
        probabilities: (n,) with which each was sampled.
        groups: (n,) the group of each case; None: independent cases.
        level: of confidence, in (0, 1).

    Returns:
        NaN without cases; the interval is NaN with one group.

    Raises:
        DataError: sides of another length, or a probability that is not in (0, 1].
    """
    numbers, chances = np.asarray(values, dtype=np.float64), np.asarray(probabilities, dtype=np.float64)
    if numbers.shape != chances.shape or not ((chances > 0) & (chances <= 1)).all():
        raise DataError("weighted_mean: give one probability above 0 and at most 1 for each value.")
    codes, count = group_codes(groups, len(numbers))
    if not len(numbers):
        return Estimate(math.nan, math.nan, math.nan, 0, 0)
    weights = 1 / chances
    value = float(weights @ numbers / weights.sum())
    if count < 2:
        return Estimate(value, math.nan, math.nan, len(numbers), count)
    residuals = np.bincount(codes, weights * (numbers - value)) / weights.sum()
    mass = np.bincount(codes, weights) / weights.sum()
    error = math.sqrt(float((residuals**2).sum()) * count / (count - 1))
    freedom = max(1.0, 1 / float((mass**2).sum()) - 1)
    half = quantile(level, freedom) * error
    return Estimate(value, value - half, value + half, len(numbers), count)
