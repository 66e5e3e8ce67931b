"""How well people agree with each other: what a judge of the same people can be held to.

Votes are (n_items, n_raters) label codes 0..k-1 with -1 where there is none. Annotators have no identity: a column is
one of an item's votes, not a person, and the order of votes within an item changes nothing.

A judge is usually compared with the majority of all annotators, an annotator with the majority of the others. The two
are not comparable: the majority of three is a truer target than the majority of two, so of a judge and an annotator of
equal skill the judge has the higher value; and comparing an annotator with a majority that includes their own vote
inflates agreement. Here both face the others of a left-out annotator (`leave_one_out`, `against_others`), as in
AlpacaEval's human agreement (arXiv 2305.14387); the difference of the two says which is closer to people.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .agreement import Numbers, ratio

DRAWN = 30  # items of a draw (arXiv 2406.11657)


def leave_one_out(votes: NDArray[Any]) -> Numbers:
    """How often an item's annotators agree with the majority of the others, shape (n_items,), in [0, 1].

    One vote among t labels that lead together counts 1 / t, the chance of a majority drawn from them. With two votes
    the others are one person. NaN with under 2 votes.
    """
    counts = _counts(votes)
    earned = [credit[:, label] for label, credit in enumerate(_credits(counts))]
    return _mean_of_votes(np.stack(earned, axis=1), counts)


def against_others(judge: NDArray[Any], votes: NDArray[Any]) -> Numbers:
    """How often a judge agrees with the majority of all annotators but one, shape (n_items,), in [0, 1].

    The mean over who is left out, ties as in `leave_one_out`, which it may be compared with item by item.

    Args:
        judge: (n_items,) label codes, -1 where there is no verdict.

    Returns:
        NaN without a verdict or with under 2 votes.

    Raises:
        DataError: not one verdict an item.
    """
    judge = np.asarray(judge, dtype=np.int64)
    if judge.shape != (len(votes),):
        raise DataError(f"against_others: {judge.shape} verdicts for {len(votes)} items. Give one an item, or -1.")
    counts = _counts(votes, 1 + int(judge.max(initial=-1)))
    earned = [credit[np.arange(len(judge)), judge] for credit in _credits(counts)]
    return np.where(judge < 0, math.nan, _mean_of_votes(np.stack(earned, axis=1), counts))


def pairwise_agreement(votes: NDArray[Any]) -> Numbers:
    """The proportion of an item's pairs of annotators that agree, shape (n_items,); NaN with under 2 votes."""
    counts = _counts(votes)
    n = counts.sum(1)
    return ratio((counts * (counts - 1)).sum(1), n * (n - 1))


def fleiss_kappa(votes: NDArray[Any]) -> float:
    """Fleiss' kappa (1971): pairwise agreement above that of votes drawn from the proportions of the labels.

    Items may have unequal numbers of votes: each weighs the same in both terms, as in Gwet's (2014) extension, and
    those with under 2 votes are left out of both. NaN when nothing is left, or one label only.
    """
    agreement, counts = pairwise_agreement(votes), _counts(votes)
    known = ~np.isnan(agreement)
    if not known.any():
        return math.nan
    shares = (counts[known] / counts[known].sum(1, keepdims=True)).mean(0)
    return float(1.0 - ratio(1.0 - agreement[known].mean(), (shares * (1.0 - shares)).sum()))


def majority(votes: NDArray[Any], k: int) -> NDArray[np.int64]:
    """The label with the most votes of each item, shape (n_items,); -1 where labels tie for it, or nobody voted.

    Raises:
        DataError: a code that is not below k.
    """
    counts = _counts(votes, k)
    if counts.shape[1] > k:
        raise DataError(f"majority: the code {counts.shape[1] - 1} is not in 0..{k - 1}. Give k, the number of labels.")
    return _leading(counts)


def majority_certainty(votes: NDArray[Any], certainties: NDArray[Any]) -> Numbers:
    """The mean certainty of those who voted with the majority (arXiv 2406.11657), shape (n_items,).

    Args:
        certainties: (n_items, n_raters), in any unit; NaN where an annotator named none.

    Returns:
        NaN where there is no majority, or none of it named a certainty.

    Raises:
        DataError: not one certainty a vote.
    """
    votes, certainties = np.asarray(votes), np.asarray(certainties, dtype=float)
    if votes.shape != certainties.shape:
        raise DataError(f"majority_certainty: votes {votes.shape}, certainties {certainties.shape}. Give one a vote.")
    winners = _leading(_counts(votes))
    counted = (votes == winners[:, None]) & (votes >= 0) & ~np.isnan(certainties)
    return ratio(np.where(counted, certainties, 0.0).sum(1), counted.sum(1))


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Each rating beside the mean of the item's others; arrays of shape (n_ratings,).

    Pairs of one item are not independent: take `item` for the groups of an interval. A judge faces the same others as
    `judge[item]` against `others`.
    """

    item: NDArray[np.int64]  # row of the ratings
    rating: Numbers
    others: Numbers


def leave_one_out_scores(ratings: NDArray[Any]) -> LeftOut:
    """Each annotator's rating beside the mean of the others: their correlation is the ceiling for a judge's.

    Args:
        ratings: (n_items, n_raters), NaN where there is none. Items with under 2 ratings are left out.
    """
    ratings = np.asarray(ratings, dtype=float)
    known = ~np.isnan(ratings)
    known &= known.sum(1, keepdims=True) >= 2
    item, rater = np.nonzero(known)
    rating = ratings[item, rater]
    totals, n = np.where(known, ratings, 0.0).sum(1), known.sum(1)
    return LeftOut(item=item, rating=rating, others=(totals[item] - rating) / (n[item] - 1))


def drawn_agreement(votes: NDArray[Any], size: int = DRAWN, samples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Mean and standard deviation of the proportion of `size` items on which two annotators agree.

    How arXiv 2406.11657 measures its annotators: .597 and .087 at 1,000 draws of 30. Each draw takes its items without
    replacement, and two annotators of each item; all items where there are no more than `size`. The deviation is that
    of so few items, near sqrt(p (1 - p) / size), not that of the mean over all items.

    Args:
        votes: (n_items, n_raters) label codes, -1 where there is none. Items with under 2 votes are left out.

    Returns:
        NaN for both where no item has two votes.
    """
    agreement = pairwise_agreement(votes)
    agreement = agreement[~np.isnan(agreement)]
    if not len(agreement):
        return math.nan, math.nan
    random, taken = np.random.default_rng(seed), min(size, len(agreement))

    def share() -> float:
        rows = random.choice(len(agreement), taken, replace=False, shuffle=False)
        return float((random.random(taken) < agreement[rows]).mean())  # two of an item's annotators agree so often

    shares = [share() for _ in range(samples)]
    return float(np.mean(shares)), float(np.std(shares))


def drawn_accuracy(correct: NDArray[Any], size: int = DRAWN, samples: int = 1000, seed: int = 0) -> tuple[float, float]:
    """Mean and standard deviation of the proportion correct among `size` items sampled with replacement.

    Args:
        correct: (n_items,) 0 or 1, whether the majority of the annotators names the person's own label.

    Returns:
        NaN for both without items.
    """
    correct = np.asarray(correct, dtype=float)
    if not len(correct):
        return math.nan, math.nan
    shares = np.random.default_rng(seed).choice(correct, (samples, size)).mean(1)
    return float(shares.mean()), float(shares.std())


def single_accuracy(votes: NDArray[Any], truth: NDArray[Any]) -> Numbers:
    """The proportion of an item's annotators who name its label, shape (n_items,); NaN without a vote or a label.

    Args:
        truth: (n_items,) label codes, -1 where there is none.

    Raises:
        DataError: not one label an item.
    """
    votes, truth = np.asarray(votes, dtype=np.int64), np.asarray(truth, dtype=np.int64)
    if truth.shape != (len(votes),):
        raise DataError(f"single_accuracy: {truth.shape} labels for {len(votes)} items. Give one an item, or -1.")
    n = np.where(truth >= 0, (votes >= 0).sum(1), 0)
    return ratio(((votes == truth[:, None]) & (votes >= 0)).sum(1), n)


def _counts(votes: NDArray[Any], k: int = 0) -> Numbers:
    """How many vote for each label, shape (n_items, at least k)."""
    votes = np.asarray(votes, dtype=np.int64)
    if votes.ndim != 2:
        raise DataError(f"votes: of shape {votes.shape}. Give (n_items, n_raters), -1 where there is none.")
    k = max(k, 1, 1 + int(votes.max(initial=-1)))
    return np.stack([(votes == label).sum(1) for label in range(k)], axis=1).astype(float)


def _leading(counts: Numbers) -> NDArray[np.int64]:
    """The label with the most votes; -1 where labels tie for it, or nobody voted."""
    first = (counts == counts.max(1, keepdims=True)) & (counts > 0)
    return np.where(first.sum(1) == 1, first.argmax(1), -1)


def _credits(counts: Numbers) -> Iterator[Numbers]:
    """For each label that the left-out annotator may have: what each label earns against the others, (n_items, k)."""
    for label in range(counts.shape[1]):
        others = counts - (np.arange(counts.shape[1]) == label)
        leading = others == others.max(1, keepdims=True)
        yield leading / leading.sum(1, keepdims=True)


def _mean_of_votes(earned: Numbers, counts: Numbers) -> Numbers:
    """Over the votes of each item of what leaving their label out earned, both (n, k); NaN with under 2 votes."""
    n = counts.sum(1)
    return ratio((counts * earned).sum(1), np.where(n >= 2, n, 0))
