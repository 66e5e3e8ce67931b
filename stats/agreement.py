"""Agreement of a judge with people, beyond accuracy.

Functions of confusion tables take shape (..., k, k), rows people, columns judge, of counts or of weights of cases, and
give one figure a table, shape (...): a bootstrap hands in all of its tables at once. NaN says that a figure is not
defined on a table.

    kappa       agreement above that of two independent sides with the same margins; weighted by how far apart two
                labels are (Cohen 1960, 1968)
    MCC         the correlation of two labellings, R_K for more than two labels (Gorodkin 2004, equation 8)
    balanced accuracy   the mean recall of the labels (Brodersen et al. 2010)
    F1          the harmonic mean of precision and recall of one label; macro: the mean over labels
    alpha       1 - observed / expected disagreement, for any number of raters and missing ratings (Krippendorff 2011,
                "Computing Krippendorff's alpha-reliability")
    soft cross-entropy   of a judge's probabilities under the votes of people, who may disagree for good reason
                (Peterson et al. 2019, arXiv 1908.07086)
"""

import math
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DeclarationError

Numbers = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]


def confusion(human: NDArray[Any], judge: NDArray[Any], k: int) -> NDArray[np.int64]:
    """How many cases have each pair of labels, shape (k, k): rows people, columns judge.

    Args:
        human: (n,) label codes 0..k-1.
        judge: (n,) codes as `human`; cases without a verdict or a label are left out before.

    Raises:
        DataError: sides of different length, or a code outside 0..k-1.
    """
    human, judge = np.asarray(human, dtype=np.int64), np.asarray(judge, dtype=np.int64)
    if human.shape != judge.shape or human.ndim != 1:
        raise DataError(f"confusion: {human.shape} labels against {judge.shape} verdicts. Give one of each a case.")
    for codes in (human, judge):
        if codes.size and not 0 <= codes.min() <= codes.max() < k:
            raise DataError(f"confusion: a code in {codes.min()}..{codes.max()} is not in 0..{k - 1}. Leave such out.")
    return np.bincount(human * k + judge, minlength=k * k).reshape(k, k)


def accuracy(table: NDArray[Any]) -> Numbers:
    """The share on the diagonal, in [0, 1]; NaN for an empty table."""
    table = _tables(table)
    return ratio(_diagonal(table).sum(-1), table.sum((-2, -1)))


def kappa(table: NDArray[Any], weights: Literal["linear", "quadratic"] | None = None) -> Numbers:
    """Cohen's kappa, in [-1, 1]: 0 is chance.

    NaN for an empty table, and where both sides use one and the same label only.

    Args:
        weights: what a disagreement of labels i and j costs: None 1, "linear" |i - j|, "quadratic" (i - j)^2. The
            last two need labels in their order: a, tie, b; or 1, 2, 3, 4, 5.

    Raises:
        DeclarationError: other weights.
    """
    table = _tables(table)
    apart = np.abs(np.subtract.outer(np.arange(table.shape[-1]), np.arange(table.shape[-1])))
    costs: dict[str | None, NDArray[Any]] = {None: apart > 0, "linear": apart, "quadratic": apart**2}
    if weights not in costs:
        raise DeclarationError(f"kappa: weights={weights!r} is not known. Use None, 'linear' or 'quadratic'.")
    cost = costs[weights].astype(float)
    observed = (cost * table).sum((-2, -1))
    expected = (table.sum(-1) @ cost * table.sum(-2)).sum(-1)
    return 1.0 - ratio(observed * table.sum((-2, -1)), expected)


def mcc(table: NDArray[Any]) -> Numbers:
    """Matthews' correlation coefficient, of any number of labels R_K, in [-1, 1].

    NaN where either side uses one label only; scikit-learn says 0 there.
    """
    table = _tables(table)
    people, judge = table.sum(-1), table.sum(-2)
    covariance = _diagonal(table).sum(-1) * table.sum((-2, -1)) - (people * judge).sum(-1)
    return ratio(covariance, np.sqrt(_spread(people) * _spread(judge)))


def precision(table: NDArray[Any]) -> Numbers:
    """Of the cases that the judge gives each label, the share that people do too, shape (..., k); NaN for none."""
    table = _tables(table)
    return ratio(_diagonal(table), table.sum(-2))


def recall(table: NDArray[Any]) -> Numbers:
    """Of the cases that people give each label, the share that the judge does too, shape (..., k); NaN for none."""
    table = _tables(table)
    return ratio(_diagonal(table), table.sum(-1))


def balanced_accuracy(table: NDArray[Any]) -> Numbers:
    """The mean recall of the labels that people use, in [0, 1]; NaN for an empty table."""
    recalls = recall(table)
    used = ~np.isnan(recalls)
    return ratio(np.where(used, recalls, 0.0).sum(-1), used.sum(-1))


def f1(table: NDArray[Any]) -> Numbers:
    """Of each label, shape (..., k): 0 where it is never hit, NaN where neither side uses it."""
    table = _tables(table)
    return ratio(2 * _diagonal(table), table.sum(-2) + table.sum(-1))


def macro_f1(table: NDArray[Any]) -> Numbers:
    """The mean F1 of the labels that either side uses; NaN for an empty table."""
    per_label = f1(table)
    used = ~np.isnan(per_label)
    return ratio(np.where(used, per_label, 0.0).sum(-1), used.sum(-1))


def macro_f1_of_people(table: NDArray[Any]) -> Numbers:
    """The mean F1 of the labels that people use; NaN for an empty table.

    A label that only the judge uses, such as a tie that comes of merging two orders, costs recall and is no label.
    """
    table = _tables(table)
    used = table.sum(-1) > 0
    return ratio(np.where(used, f1(table), 0.0).sum(-1), used.sum(-1))


def alpha(table: NDArray[Any]) -> Numbers:
    """Krippendorff's nominal alpha of the two sides, taken as two interchangeable raters; tables of counts.

    NaN for an empty table, and where both sides use one and the same label only.
    """
    table = _tables(table)
    used = table.sum(-1) + table.sum(-2)
    apart = 2 * (table.sum((-2, -1)) - _diagonal(table).sum(-1))
    return 1.0 - ratio((used.sum(-1) - 1) * apart, _spread(used))


def krippendorff_alpha(ratings: NDArray[Any], level: Level = "nominal") -> float:
    """Krippendorff's alpha, 1 for perfect agreement and 0 for chance.

    The coefficient's squared differences are squared distances of points: the values (interval), their mid ranks
    (ordinal), a unit vector each (nominal). So alpha is a ratio of sums of squares, and no table of all pairs of values
    is needed.

    Args:
        ratings: (n_raters, n_items), NaN where a rater did not rate. Items with under 2 ratings are left out.

    Returns:
        NaN when nothing is left, or all that is left are equal.

    Raises:
        DeclarationError: another level.
    """
    ratings = np.asarray(ratings, dtype=float)
    ratings = ratings[:, (~np.isnan(ratings)).sum(0) >= 2]
    known = ~np.isnan(ratings)
    item, raters = np.nonzero(known)[1], known.sum(0)
    observed = total = 0.0
    for points in _points(ratings[known], level):
        centres = np.bincount(item, points) / raters
        squares = np.bincount(item, (points - centres[item]) ** 2)
        observed += float(squares @ (raters / (raters - 1)))
        total += float(((points - points.mean()) ** 2).sum())
    return 1.0 - (len(item) - 1) * observed / (len(item) * total) if total else math.nan


def soft_cross_entropy(distribution: NDArray[Any], votes: NDArray[Any], *, floor: float = 0.0) -> float:
    """The mean of `soft_cross_entropies`, NaN for no case; less `vote_entropy` it is the divergence KL(q || p)."""
    losses = soft_cross_entropies(distribution, votes, floor=floor)
    return float(losses.mean()) if len(losses) else math.nan


def soft_cross_entropies(distribution: NDArray[Any], votes: NDArray[Any], *, floor: float = 0.0) -> Numbers:
    """Of each case -sum_l q_l log p_l in nats, shape (n,).

    Infinite where the judge gives 0 to a label that somebody voted for, as a panel of few votes soon does: the judge
    called impossible what happened.

    Args:
        distribution: (n, k) the judge's probabilities p; rows sum to 1.
        votes: (n, k) the proportion of annotators behind each label, q; rows sum to 1.
        floor: probabilities below it count as it, such as 1e-12; it then decides what each such case adds.

    Raises:
        DataError: shapes that differ, or rows that are no distribution.
    """
    p, q = np.asarray(distribution, dtype=float), np.asarray(votes, dtype=float)
    if p.shape != q.shape or p.ndim != 2:
        raise DataError(f"soft_cross_entropy: probabilities {p.shape}, votes {q.shape}. Give two of shape (n, k).")
    for whose, rows in (("probabilities", p), ("votes", q)):
        if not ((rows >= 0).all() and np.allclose(rows.sum(-1), 1.0, rtol=0, atol=1e-6)):
            raise DataError(f"soft_cross_entropy: a row of {whose} is no distribution. Divide counts by their sum.")
    from scipy.special import xlogy

    losses: Numbers = -xlogy(q, np.maximum(p, floor)).sum(-1)
    return losses


def vote_entropy(votes: NDArray[Any]) -> float:
    """The mean entropy of the votes (n, k) in nats, 0 where people are of one mind: no judge has a lower soft
    cross-entropy."""
    return soft_cross_entropy(votes, votes)


def ratio(numerator: NDArray[Any], denominator: NDArray[Any]) -> Numbers:
    """Elementwise, NaN where the denominator is 0."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    shares = np.full(numerator.shape, math.nan)
    np.divide(numerator, denominator, out=shares, where=denominator != 0)
    values: Numbers = shares[()]  # a number, not an array of none, for a single table
    return values


def _points(ratings: Numbers, level: Level) -> Iterable[Numbers]:
    """The coordinates of the ratings, one array a dimension; none of no ratings."""
    values, codes, counts = np.unique(ratings, return_inverse=True, return_counts=True)
    dimensions: dict[str, Iterable[Numbers]] = {
        "nominal": ((codes == code).astype(float) for code in range(len(values))),
        "ordinal": [(np.cumsum(counts) - counts / 2)[codes]],
        "interval": [(values - values[:1])[codes]],  # equal ratings become 0, so that their spread is no rounding
    }
    if level not in dimensions:
        raise DeclarationError(f"krippendorff_alpha: level={level!r} is not known. Use nominal, ordinal or interval.")
    return dimensions[level] if len(values) else ()


def _tables(table: NDArray[Any]) -> Numbers:
    table = np.asarray(table, dtype=float)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise DataError(f"a confusion table has shape (..., k, k), not {table.shape}. Make it with `confusion`.")
    return table


def _diagonal(table: Numbers) -> Numbers:
    hits: Numbers = np.diagonal(table, axis1=-2, axis2=-1)
    return hits


def _spread(margin: Numbers) -> Numbers:
    """The ordered pairs of cases with different labels; exactly 0 for a single label."""
    pairs: Numbers = (margin * (margin.sum(-1, keepdims=True) - margin)).sum(-1)
    return pairs
