"""Levels for a judge that is checked again and again: together all checks call a judge worse that is not at most 5 %.

Alpha spending (Lan & DeMets 1983, Biometrika 70) without a planned end: the first k checks may spend 5 % * k / (k + 4),
so the first has 1 %, and all together never more than 5 %. Check k compares the latest checks, back to as many labels
as the record has, with the record. Such differences share the record's error and the checks between them, so the union
bound would waste most of the level. As they are asymptotically normal with known correlations (Scharfstein, Tsiatis &
Robins 1997, J. American Statistical Association 92), each check's critical value comes from simulated differences of a
judge that does not change: the value that as many of them pass, of those that passed none before, as may be spent.

Labels that are checked again correlate the differences more than is assumed here, which makes false alarms rarer
(Slepian 1962). docs/results/drift.md compares this rule with others: with an always-valid betting test, say.
"""

import math
from collections.abc import Sequence

import numpy as np

ALPHA, OFFSET = 0.05, 4
DRAWS = 100_000
FEWEST = 20  # draws that a simulated critical value rests on


def spent(checks: int) -> float:
    """The probability of a false alarm that the first checks may have together, in [0, 0.05).

    Example:
        >>> spent(1), spent(4)
        (0.01, 0.025)
    """
    return ALPHA * checks / (checks + OFFSET)


def share_of(check: int) -> float:
    """The proportion of the whole level that one check may spend, in (0, 0.2]; these sum to 1 over all checks.

    Args:
        check: 1 for the first.
    """
    return (spent(check) - spent(check - 1)) / ALPHA


def levels_of_checks(record: float, checks: Sequence[float], starts: Sequence[int]) -> list[float]:
    """The one-sided level of each check.

    Args:
        record: the effective sample size of the accuracy to compare with, above 0.
        checks: that of each check, above 0, the oldest first.
        starts: for each check the position of the first check that is taken together with it, up to its own.
    """
    from scipy.special import ndtr

    rng = np.random.default_rng(0)
    reference = rng.standard_normal(DRAWS) / math.sqrt(record)
    quiet, sums, levels = np.ones(DRAWS, dtype=bool), [np.zeros(DRAWS)], []
    for position, start in enumerate(starts):
        sums.append(sums[-1] + math.sqrt(checks[position]) * rng.standard_normal(DRAWS))
        n = math.fsum(checks[start : position + 1])
        losses = (reference + (sums[-1] - sums[start]) / n) / math.sqrt(1 / record + 1 / n)
        due = round(DRAWS * spent(position + 1)) - int(np.count_nonzero(~quiet))
        if due < FEWEST:  # the union bound holds as well
            levels.append(ALPHA * share_of(position + 1))
            continue
        critical = float(np.partition(losses[quiet], -due)[-due])
        levels.append(float(ndtr(-critical)) if position else ALPHA * share_of(1))
        quiet &= losses < critical
    return levels
