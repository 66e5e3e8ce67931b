"""How a judge's scores and preferences go with people's, at the levels that papers report (arXiv 2304.00723).

    data-set level   one correlation over all texts
    sample level     a correlation among the texts of each input, then the mean over inputs
    pairs            Kendall's tau-b over pairs of texts, tau_b = (P - Q) / sqrt((P + Q + T)(P + Q + U)): P and Q
                     pairs in the same and in the opposite order, T ties of people alone, U ties of the judge alone

Which level is meant decides the figure: inputs of unequal difficulty raise the first and not the second.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DeclarationError
from .agreement import Numbers, confusion, ratio
from .proportions import FEWEST, correlations

COEFFICIENTS = ("pearson", "spearman", "kendall")
STRATA = ("hard", "medium", "easy")  # of pairs, by how far people's scores lie apart
PAIRWISE = 150  # texts in a group up to which all of its pairs at once are faster than scipy (0.4 ms against 1.4)


@dataclass(frozen=True, eq=False)
class SampleLevel:
    """The means of the correlations inside the groups, and what they are of."""

    values: dict[str, float]  # pearson, spearman, kendall: NaN when no group has one
    used: int
    left_out: int  # groups with under 3 texts, or where people's or the judge's scores are all equal
    groups: NDArray[Any]  # names of the used groups, sorted, shape (used,)
    per_group: dict[str, Numbers]  # in their order: each of shape (used,)


def data_set_level(judge: NDArray[Any], human: NDArray[Any]) -> dict[str, float]:
    """Pearson, Spearman and Kendall's tau-b over all texts; NaN under 3 texts, or when either side is constant.

    Raises:
        DataError: sides of different length, or a score that is not finite.
    """
    judge, human = _scores(judge, human)
    pairs = zip(judge.tolist(), human.tolist(), strict=True)
    return dict.fromkeys(COEFFICIENTS, math.nan) | correlations(pairs)


def sample_level(judge: NDArray[Any], human: NDArray[Any], groups: Sequence[Hashable] | NDArray[Any]) -> SampleLevel:
    """The correlations inside each group of texts (one input, one document), and their unweighted means.

    Args:
        judge: (n,) scores.
        human: (n,) scores.
        groups: (n,) names of one type, that sort.

    Raises:
        DataError: sides of different length, or a score that is not finite.
    """
    judge, human = _scores(judge, human)
    names, codes = _codes(groups, len(judge))
    members = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    used = [code for code, rows in enumerate(members) if _varies(judge[rows]) and _varies(human[rows])]
    coefficients = np.array([_within(judge[members[code]], human[members[code]]) for code in used]).reshape(-1, 3).T
    per_group = dict(zip(COEFFICIENTS, coefficients, strict=True))
    values = {name: float(per_input.mean()) if used else math.nan for name, per_input in per_group.items()}
    return SampleLevel(values, len(used), len(names) - len(used), names[used], per_group)


def pair_codes(differences: NDArray[Any]) -> NDArray[np.int64]:
    """Pairs as codes: 0 the first is better (a positive difference), 1 the second is, 2 a tie.

    Raises:
        DataError: a difference that is not known.
    """
    differences = np.asarray(differences, dtype=float)
    if np.isnan(differences).any():
        raise DataError("pair_codes: a difference is NaN. Leave pairs without two scores out.")
    return np.where(differences > 0, 0, np.where(differences < 0, 1, 2))


def pairwise_tau(human: NDArray[Any], judge: NDArray[Any]) -> float:
    """Kendall's tau-b over pairs, in [-1, 1]; NaN when either side holds nothing but ties.

    Args:
        human: (n,) differences of people's scores, first less second; only their signs count.
        judge: (n,) differences of the judge's scores, or its verdicts as 1, -1 and 0 for a tie.

    Raises:
        DataError: sides of different length, or a difference that is not known.
    """
    return float(tau_of_table(confusion(pair_codes(human), pair_codes(judge), 3)))


def tau_of_table(table: NDArray[Any]) -> Numbers:
    """Kendall's tau-b of confusion tables of pairs, shape (..., 3, 3) to (...); NaN as in `pairwise_tau`.

    Args:
        table: rows people, columns judge, in the order a, b, tie; counts or weights.

    Raises:
        DataError: tables of another shape.
    """
    table = np.asarray(table, dtype=float)
    if table.shape[-2:] != (3, 3):
        raise DataError(f"tau_of_table: tables of shape {table.shape}. Give (..., 3, 3): a, b and tie.")
    same = table[..., 0, 0] + table[..., 1, 1]
    opposite = table[..., 0, 1] + table[..., 1, 0]
    ties_of_people = table[..., 2, 0] + table[..., 2, 1]
    ties_of_judge = table[..., 0, 2] + table[..., 1, 2]
    ordered = same + opposite
    return ratio(same - opposite, np.sqrt((ordered + ties_of_people) * (ordered + ties_of_judge)))


def sampled_pairs(
    scores_human: NDArray[Any], groups: Sequence[Hashable] | NDArray[Any], n: int = 200, seed: int = 0
) -> NDArray[np.int64]:
    """Pairs of texts drawn within groups without repetition, all equally probable; all of them when under `n`.

    Args:
        scores_human: (n_texts,) people's scores; a text without one (NaN) is in no pair.
        groups: (n_texts,) names of one type, that sort: texts of different groups are never paired.
        n: pairs; the paper takes 200 a set.

    Returns:
        Indices of shape (at most n, 2), the smaller first, sorted.
    """
    scored = np.flatnonzero(~np.isnan(np.asarray(scores_human, dtype=float)))
    codes = _codes(groups, len(scores_human))[1][scored]
    texts, codes = scored[np.argsort(codes, kind="stable")], np.sort(codes)
    later = np.searchsorted(codes, codes, side="right") - np.arange(1, len(codes) + 1)  # texts of the group to come
    total = int(later.sum())
    drawn = np.random.default_rng(seed).choice(total, n, replace=False) if total > n else np.arange(total)
    ends = np.cumsum(later)  # pairs are numbered text by text, each with those to come
    first = np.searchsorted(ends, drawn, side="right")
    second = first + 1 + drawn - (ends - later)[first]
    pairs = np.stack([texts[first], texts[second]], axis=1)
    return pairs[np.lexsort(pairs.T[::-1])]


def strata(
    differences: NDArray[Any],
    names: Sequence[str] = STRATA,
    thresholds: Sequence[float] | None = None,
) -> list[tuple[str, float, float, NDArray[np.bool_]]]:
    """Pairs by how far people's scores lie apart: (name, low, high, mask) each, low < |difference| <= high.

    Ties belong to the hardest, whose low is 0; the high of the easiest is the largest difference. Equal differences
    stay together, so that strata may be of unequal size, or empty.

    Args:
        differences: (n,) people's scores, first less second.
        names: of the strata, the hardest first.
        thresholds: the upper bounds of all but the easiest, ascending; None for equal shares: terciles of three.

    Raises:
        DeclarationError: thresholds that are not one fewer than the names, or do not ascend from 0.
        DataError: a difference that is not finite.
    """
    # means of votes: 3.4 - 3.2 and 2.2 - 2.0 are the same difference, and must not part by rounding
    apart = np.round(np.abs(np.asarray(differences, dtype=float)), 9)
    if not np.isfinite(apart).all():
        raise DataError("strata: a difference is not finite. Leave pairs without two human scores out.")
    if thresholds is None:
        shares = np.arange(1, len(names)) / len(names)
        thresholds = np.quantile(apart if len(apart) else [0.0], shares, method="inverted_cdf").tolist()
    bounds = [float(bound) for bound in thresholds]
    if len(bounds) != len(names) - 1 or not all(low <= high for low, high in pairwise([0.0, *bounds])):
        raise DeclarationError(f"strata: thresholds {bounds} for {len(names)} names. Give one fewer, ascending from 0.")
    edges = [0.0, *bounds, max([*bounds, float(apart.max(initial=0.0))])]
    place = np.searchsorted(bounds, apart, side="left")
    return [(name, edges[index], edges[index + 1], place == index) for index, name in enumerate(names)]


def _within(judge: Numbers, human: Numbers) -> tuple[float, ...]:
    """Pearson, Spearman and Kendall of one group, as one coefficient of three readings of the pairs (Daniels 1944).

    Sums of signs over a text's pairs are twice its mid rank, less the mean rank.
    """
    if len(judge) > PAIRWISE:
        coefficients = data_set_level(judge, human)
        return tuple(coefficients[name] for name in COEFFICIENTS)
    ours, theirs = (np.sign(np.subtract.outer(side, side)) for side in (judge, human))
    return (
        _cosine(judge - judge.mean(), human - human.mean()),
        _cosine(ours.sum(1), theirs.sum(1)),
        _cosine(ours.ravel(), theirs.ravel()),
    )


def _cosine(left: Numbers, right: Numbers) -> float:
    return float(left @ right / math.sqrt((left @ left) * (right @ right)))


def _varies(scores: Numbers) -> bool:
    """Whether a correlation is defined: enough scores, and not all equal but for rounding, as in `measures`."""
    if len(scores) < FEWEST:
        return False
    high = float(scores.max())
    return high - float(scores.min()) > 1e-12 * max(1.0, abs(high))


def _codes(groups: Sequence[Hashable] | NDArray[Any], n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The names of the groups, sorted, and the place of each text's among them."""
    names, codes = np.unique(np.asarray(groups), return_inverse=True)
    if codes.shape != (n,):
        raise DataError(f"groups: names of shape {codes.shape} for {n} scores. Give one a score.")
    return names, codes


def _scores(judge: NDArray[Any], human: NDArray[Any]) -> tuple[Numbers, Numbers]:
    judge, human = np.asarray(judge, dtype=float), np.asarray(human, dtype=float)
    if judge.shape != human.shape or judge.ndim != 1:
        raise DataError(f"correlations: {judge.shape} scores against {human.shape}. Give one of each a text.")
    if not (np.isfinite(judge).all() and np.isfinite(human).all()):
        raise DataError("correlations: a score is not finite. Leave texts without two scores out.")
    return judge, human
