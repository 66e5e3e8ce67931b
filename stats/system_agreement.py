"""How far two scorings agree on the ranking of the same systems, with intervals over prompts and systems.

The correlation of two scores of each system varies with the prompts that were judged and with the systems that were
chosen. Both are drawn again (Deutsch, Dror & Roth 2021, TACL 9, arXiv 2104.00054, `Boot-Both`): whole groups of cases,
the same for both scorings, and systems. Draws add noise to means that have some already, so that their correlations
lie below those of more prompts; the interval holds the percentiles and their reflection at the value, the wider on
either side. Where the scores are so exact that systems drawn again keep their order, all draws are equal; so it also
holds the interval of a correlation of so few independent pairs (`_interval_of_pairs`), which is (-1, 1) of 3 systems.

`benchmarks/systems.py`: with 3 to 30 systems on 20 or 100 prompts nominal 95 % intervals held the correlation that
these systems have over endless prompts, and that of endless systems, 96 to 100 % of the time; 87 to 93 % where 16 or
30 systems were ranked by means of 20 texts with more noise in them than difference between systems.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .association import COEFFICIENTS, sample_level
from .proportions import FEWEST, correlations
from .ranking import PRIOR, Codes, connected_strengths, win_entries
from .resampling import Estimate, Groups, group_codes

Floats = NDArray[np.float64]
RESAMPLES = 400
BLOCKS = 1000  # of groups; more groups than this are drawn in blocks of several


@dataclass(frozen=True)
class GroupDraws:
    """Resamples of whole groups, to be shared by both scorings.

    Attributes:
        block: (n,) the block of groups of each case; one group each up to `BLOCKS` groups.
        weights: (resamples, blocks) how often each block was drawn.
    """

    block: NDArray[np.intp]
    weights: Floats


def draw_groups(groups: Groups, n: int, *, seed: int = 0, resamples: int = RESAMPLES) -> GroupDraws:
    """Resamples of the groups of n cases; independent cases are groups of one.

    Raises:
        DataError: groups of another length.
    """
    codes, count = group_codes(groups, n)
    block, count = codes % BLOCKS, min(count, BLOCKS)
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(count, np.full(count, 1 / count), size=resamples) if count else np.zeros((resamples, 0))
    return GroupDraws(block, weights.astype(np.float64))


def mean_score_draws(scores: Floats, systems: Codes, k: int, resampled: GroupDraws) -> Floats:
    """(resamples, k) mean scores of the systems on each resample; NaN where a system has none.

    Args:
        scores: (n,) NaN missing.
        systems: (n,) who wrote the text, 0 .. k - 1; -1 not known.
        k: how many systems.
        resampled: of the groups of the n texts.
    """
    known = (systems >= 0) & ~np.isnan(scores)
    cells = resampled.block[known] * k + systems[known]
    size = resampled.weights.shape[1] * k
    counts, sums = (np.bincount(cells, of, size).reshape(-1, k) for of in (None, scores[known]))
    often, totals = resampled.weights @ counts, resampled.weights @ sums
    means: Floats = np.divide(totals, often, out=np.full(totals.shape, math.nan), where=often > 0)
    return means


def strength_draws(
    first: Codes, second: Codes, outcome: Codes, k: int, resampled: GroupDraws, *, prior: float = PRIOR
) -> Floats:
    """(resamples, k) Bradley-Terry strengths on each resample; NaN where comparisons do not connect all systems.

    Args:
        first: (n,) who wrote text a, 0 .. k - 1; -1 not known.
        second: (n,) who wrote text b.
        outcome: (n,) a = 0, b = 1, tie = 2, -1 missing.
        k: how many systems.
        resampled: of the groups of the n pairs.
        prior: as for `bradley_terry`.
    """
    cells, wins, of = win_entries("strength_draws", first, second, outcome, k)
    size = resampled.weights.shape[1] * k * k
    tables = np.bincount(resampled.block[of] * k * k + cells, wins, size).reshape(-1, k * k)
    strengths, connected = connected_strengths((resampled.weights @ tables).reshape(-1, k, k), prior)
    result = np.full((len(connected), k), math.nan)
    result[connected] = strengths
    return result


def system_agreement(
    judge: Floats, people: Floats, judge_draws: Floats, people_draws: Floats, *, seed: int = 0, level: float = 0.95
) -> dict[str, Estimate]:
    """Pearson, Spearman and Kendall's tau-b of two scores of the same systems; n is the number of systems.

    Args:
        judge: (k,) means, strengths or any scores, higher is better; NaN missing.
        people: (k,) of the same systems.
        judge_draws: (resamples, k) the same on resampled groups.
        people_draws: (resamples, k) on the same resampled groups.
        seed: of the drawn systems.
        level: of confidence, in (0, 1).

    Returns:
        NaN under 3 systems with both scores, or when either side is constant. The interval is NaN where fewer than half
        of the resamples have a correlation.

    Raises:
        DataError: sides or resamples of different shapes.
    """
    if judge.shape != people.shape or judge.ndim != 1 or judge_draws.shape != people_draws.shape:
        raise DataError(
            f"system_agreement: scores of {judge.shape} and {people.shape}, resamples of {judge_draws.shape} and "
            f"{people_draws.shape}. Give each system two scores, and each resample too."
        )
    both = np.flatnonzero(~(np.isnan(judge) | np.isnan(people)))
    n = len(both)
    values = correlations(zip(judge[both].tolist(), people[both].tolist(), strict=True))
    if n < FEWEST:
        return {name: Estimate(math.nan, math.nan, math.nan, n, n) for name in COEFFICIENTS}
    picked = both[np.random.default_rng(seed).integers(n, size=(len(judge_draws), n))]
    left, right = (np.take_along_axis(of_side, picked, axis=1).ravel() for of_side in (judge_draws, people_draws))
    known = ~(np.isnan(left) | np.isnan(right))
    resample = np.repeat(np.arange(len(picked)), n)
    drawn = sample_level(left[known], right[known], resample[known]).per_group
    return {
        name: Estimate(values[name], *_interval(name, values[name], drawn[name], len(picked), n, level), n, n)
        for name in COEFFICIENTS
    }


def _interval(name: str, value: float, drawn: Floats, resamples: int, n: int, level: float) -> tuple[float, float]:
    if math.isnan(value) or len(drawn) < resamples / 2:
        return math.nan, math.nan
    low, high = np.quantile(drawn, [0.5 - level / 2, 0.5 + level / 2]).tolist()
    least, most = _interval_of_pairs(name, value, n, level)
    return max(-1.0, min(low, 2 * value - high, least)), min(1.0, max(high, 2 * value - low, most))


def _interval_of_pairs(name: str, value: float, n: int, level: float) -> tuple[float, float]:
    """The interval of a correlation of n independent pairs on Fisher's scale, with the variances of Fieller, Hartley &
    Pearson (1957, Biometrika 44); a rank correlation of 1 counts as half a step below it, one of -1 above."""
    numerator, lost, step = {
        "pearson": (1.0, 3, 0.0),
        "spearman": (1.06, 3, 12 / (n * (n**2 - 1))),
        "kendall": (0.437, 4, 4 / (n * (n - 1))),
    }[name]
    if n <= lost:
        return -1.0, 1.0
    most = min(1 - step / 2, math.nextafter(1, 0))
    z, half = math.atanh(min(max(value, -most), most)), NormalDist().inv_cdf(0.5 + level / 2)
    error = math.sqrt(numerator / (n - lost))
    return math.tanh(z - half * error), math.tanh(z + half * error)
