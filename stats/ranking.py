"""Systems ranked, as arrays: by mean score, and by strength in pairs (Bradley and Terry 1952).

Bradley-Terry says that i wins against j with probability 1 / (1 + exp(s_j - s_i)); the strengths s are on the log-odds
scale and of mean zero. A tie counts as half a win for each. Arenas of language models rank by it (Chiang et al. 2024,
arXiv 2403.04132); `systems` says the same of verdicts one by one, for scores.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, DeclarationError
from .resampling import Estimate, Groups, group_codes, mean

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
A, B, TIE = 0, 1, 2
PRIOR = 0.01  # a normal prior of standard deviation 10 log-odds: worth .04 of a comparison of two equals
MOST_STEPS = 200  # of Newton's method; 8 for 100,000 pairs of 30 systems, 60 where each wins all against the next


@dataclass(frozen=True)
class Standing:
    """One system among k: its strength, and its rank from 1, the best; equals share the better rank.

    The intervals are percentiles over resamples, NaN (rank: 1 to k) when fewer than half of these connect all systems.
    """

    strength: Estimate
    rank: int
    rank_low: int
    rank_high: int


def mean_scores(scores: Floats, systems: Codes, k: int, groups: Groups = None) -> list[Estimate]:
    """The mean score of each of k systems, with n = 0 for a system that was never scored.

    Args:
        scores: (n,) NaN missing.
        systems: (n,) who wrote the text, 0 .. k - 1; -1 not known.
        k: how many systems.
        groups: (n,).
    """
    score_array, wrote = np.asarray(scores, dtype=np.float64), np.asarray(systems, dtype=np.int64)
    _check("mean_scores", k, score_array, wrote)
    codes = group_codes(groups, len(score_array))[0]
    masks = [(wrote == system) & ~np.isnan(score_array) for system in range(k)]
    return [mean(score_array[mask], None if groups is None else codes[mask]) for mask in masks]


def win_matrix(first: Codes, second: Codes, outcome: Codes, k: int) -> Floats:
    """(k, k) wins of the row's system over the column's, a tie half a win each; the diagonal is 0.

    Args:
        first: (n,) who wrote text a, 0 .. k - 1; -1 not known.
        second: (n,) who wrote text b.
        outcome: (n,) a = 0, b = 1, tie = 2, -1 missing.
        k: how many systems.

    Raises:
        DataError: lengths differ, or a code is beyond its range.
    """
    cells, wins, _ = win_entries("win_matrix", first, second, outcome, k)
    return _table(cells, wins, k)


def bradley_terry(first: Codes, second: Codes, outcome: Codes, k: int, prior: float = PRIOR) -> Floats:
    """(k,) strengths, the most probable ones under a weak normal prior; see `win_matrix` for the arguments.

    Args:
        prior: the precision (1 / variance) of the prior on every strength, at least 0. Above 0, a system that won
            everything has a finite strength; 0 is maximum likelihood.

    Raises:
        DeclarationError: two systems were never compared, neither directly nor through others; or `prior` is 0 and one
            never lost to the other, directly or through others, so that their distance is infinite (Ford 1957).
    """
    wins = win_matrix(first, second, outcome, k)
    _check_connected(wins, prior)
    return _strengths(wins, prior)


def bootstrap_strengths(
    first: Codes,
    second: Codes,
    outcome: Codes,
    k: int,
    groups: Groups = None,
    *,
    prior: float = PRIOR,
    seed: int = 0,
    resamples: int = 400,
    level: float = 0.95,
) -> list[Standing]:
    """Each system's strength and rank with percentile intervals over resamples of whole groups.

    n and groups are those of the pairs that the system takes part in. Arguments and errors as `bradley_terry`; pairs
    are independent where no groups are given.
    """
    cells, wins, of = win_entries("bootstrap_strengths", first, second, outcome, k)
    names, group = np.unique(group_codes(groups, len(outcome))[0][of], return_inverse=True)
    table = _table(cells, wins, k)
    _check_connected(table, prior)
    rng = np.random.default_rng(seed)
    count = len(names)
    resampled_counts = (np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(resamples))
    tables = np.stack([_table(cells, wins * weights[group], k) for weights in resampled_counts])
    replicates, _ = connected_strengths(tables, prior)
    low, high, best, worst = _tails(replicates, k, level, fewest=resamples / 2)
    strengths = _strengths(table, prior)
    ranks = _ranks(strengths)
    n = np.bincount(cells // k, minlength=k)  # every pair has an entry on the row of either system
    n_groups = np.bincount(np.unique(np.stack([group, cells // k]), axis=1)[1], minlength=k)
    return [
        Standing(
            Estimate(float(strengths[at]), float(low[at]), float(high[at]), int(n[at]), int(n_groups[at])),
            int(ranks[at]),
            int(best[at]),
            int(worst[at]),
        )
        for at in range(k)
    ]


def connected_strengths(tables: Floats, prior: float) -> tuple[Floats, NDArray[np.bool_]]:
    """(some, k) strengths of those win matrices, (n, k, k), whose comparisons connect all systems; which, (n,)."""
    connected: NDArray[np.bool_] = np.asarray(_reach(tables, prior).all(axis=(-2, -1)))
    return _strengths(tables[connected], prior), connected


def win_entries(
    who: str, first: Codes, second: Codes, outcome: Codes, k: int
) -> tuple[Codes, Floats, NDArray[np.intp]]:
    """Entries of the win matrix: flat cells (row x k + column), what each adds, and which pair it comes from.

    Two entries a pair, one of them 0 unless it ties; a system compared with itself says nothing and is left out.

    Args:
        who: the function that errors name; the others as for `win_matrix`.
    """
    wrote_a, wrote_b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    winner = np.asarray(outcome, dtype=np.int64)
    _check(who, k, winner, wrote_a, wrote_b)
    if winner.size and not -1 <= winner.min() <= winner.max() <= 2:
        raise DataError(f"{who}: winners {winner.min()}..{winner.max()}. Use a = 0, b = 1, tie = 2, -1 missing.")
    of = np.flatnonzero((wrote_a >= 0) & (wrote_b >= 0) & (winner >= 0) & (wrote_a != wrote_b))
    a, b = wrote_a[of], wrote_b[of]
    for_a = np.array([1.0, 0.0, 0.5])[winner[of]]
    return np.concatenate([a * k + b, b * k + a]), np.concatenate([for_a, 1 - for_a]), np.tile(of, 2)


def _table(cells: Codes, wins: Floats, k: int) -> Floats:
    return np.bincount(cells, wins, k * k).astype(np.float64).reshape(k, k)


def _check(who: str, k: int, values: NDArray[np.generic], *systems: Codes) -> None:
    for codes in systems:
        if codes.ndim != 1 or codes.shape != values.shape:
            raise DataError(f"{who}: systems of shape {codes.shape} for values of {values.shape}. Give one for each.")
        if codes.size and not -1 <= codes.min() <= codes.max() < k:
            raise DataError(f"{who}: system codes {codes.min()}..{codes.max()} of k={k}. Use 0..k-1, -1 not known.")


def _reach(wins: Floats, prior: float) -> NDArray[np.bool_]:
    """(..., k, k) whether comparisons lead from the row to the column; without a prior, wins of the row's side."""
    k = wins.shape[-1]
    edges = wins if prior == 0 else wins + wins.swapaxes(-1, -2)
    paths: NDArray[np.bool_] = (edges > 0) | np.eye(k, dtype=np.bool_)
    for _ in range(k.bit_length()):  # each squaring doubles the length of the paths
        paths = (paths.astype(np.float32) @ paths.astype(np.float32)) > 0
    return paths


def _check_connected(wins: Floats, prior: float) -> None:
    if not prior >= 0:
        raise DeclarationError(f"bradley_terry: prior={prior}. Give a precision of at least 0.")
    apart = np.argwhere(~_reach(wins, 1.0))
    if len(apart):
        raise DeclarationError(
            f"bradley_terry: systems {apart[0, 0]} and {apart[0, 1]} were never compared, neither directly nor through"
            " others. Rank each connected set alone, or judge pairs between them."
        )
    unbeaten = np.argwhere(~_reach(wins, prior))
    if len(unbeaten):
        raise DeclarationError(
            f"bradley_terry: system {unbeaten[0, 1]} never lost to {unbeaten[0, 0]}, directly or through others, so"
            " their distance is infinite. Use a prior above 0."
        )


def _strengths(wins: Floats, prior: float) -> Floats:
    """(..., k) from win matrices (..., k, k), by Newton's method on all of them at once.

    The step is shortened to log(1 + d) / d, d its own span in log-odds; it then goes uphill from anywhere, without a
    search along the line (Sun and Tran-Dinh 2019, arXiv 1703.04599, generalised self-concordant functions of nu = 2).
    """
    from scipy.special import expit

    k = wins.shape[-1]
    games, losses = wins + wins.swapaxes(-1, -2), wins.swapaxes(-1, -2)
    strengths = np.zeros(wins.shape[:-1])
    for _ in range(MOST_STEPS):
        chance = expit(strengths[..., :, None] - strengths[..., None, :])
        against = chance.swapaxes(-1, -2)
        slope = (wins * against - losses * chance).sum(axis=-1) - prior * strengths
        weight = games * chance * against
        # 1 / k closes the one direction that no comparison bends, the same added to all; the mean of zero forbids it.
        curve = np.eye(k) * (weight.sum(axis=-1) + prior)[..., None] - weight + 1 / k
        step = np.linalg.solve(curve, slope[..., None])[..., 0]
        span = np.ptp(step, axis=-1, keepdims=True)
        strengths += step * np.divide(np.log1p(span), span, out=np.ones_like(span), where=span > 0)
        if span.max(initial=0.0) < 1e-10:
            break
    centred: Floats = strengths - strengths.mean(axis=-1, keepdims=True)
    return centred


def _tails(replicates: Floats, k: int, level: float, fewest: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The interval of the strengths and that of the ranks, (k,) each; no more than is known of too few replicates."""
    if len(replicates) < fewest:
        return np.full(k, np.nan), np.full(k, np.nan), np.ones(k), np.full(k, float(k))
    tails = [0.5 - level / 2, 0.5 + level / 2]
    low, high = np.quantile(replicates, tails, axis=0)
    best, worst = np.quantile(_ranks(replicates), tails, axis=0, method="inverted_cdf")
    return low, high, best, worst


def _ranks(strengths: Floats) -> Floats:
    """(..., k) ranks from 1, the best; those that are equal but for rounding share the better one."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(np.round(-strengths, 9), method="min", axis=-1), dtype=np.float64)
