"""Worlds of `benchmarks/coverage.py` whose truth is known: judges, scores and labels with a common cause in groups."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dicast.stats.resampling import Estimate

Rng = np.random.Generator
Array = NDArray[Any]
IN_GROUP = 4
COMMON = 0.6  # proportion of the latent variance that cases of a group have in common
# People's scores 1..5 against the judge's: P(people = i, judge = j).
SCORES = np.exp(-0.9 * np.abs(np.subtract.outer(np.arange(5), np.arange(5)))) * np.outer(
    (1, 2, 3, 4, 2), (1, 1, 2, 3, 3)
)
SCORES /= SCORES.sum()


@dataclass(frozen=True)
class Interval:
    """Draws n cases and gives the interval for them."""

    draw: Callable[[Rng, int], Estimate]
    truth: float
    repetitions: int = 2000


@dataclass(frozen=True)
class Test:
    """Draws n cases where the hypothesis holds and gives the p-value."""

    draw: Callable[[Rng, int], float]
    repetitions: int = 2000


def seed_of(rng: Rng) -> int:
    return int(rng.integers(2**32))


def groups_of(n: int) -> Array:
    return np.arange(n) // IN_GROUP


def latent(rng: Rng, n: int, common: float = COMMON) -> Array:
    """Standard normal, (n,), correlated by `common` inside a group."""
    shared = rng.normal(size=-(-n // IN_GROUP))[groups_of(n)]
    return math.sqrt(common) * shared + math.sqrt(1 - common) * rng.normal(size=n)


def two_judges(rng: Rng, n: int, first: float, second: float, common: float = 0.0) -> tuple[Array, Array]:
    """Whether each of two judges of these accuracies is right; half of the latent variance is the case's."""
    case, third, other = (latent(rng, n, common) for _ in range(3))
    half = math.sqrt(0.5)
    return half * (case + third) < stats.norm.ppf(first), half * (case + other) < stats.norm.ppf(second)


def normals(rng: Rng, n: int, rho: float, common: float = 0.0) -> tuple[Array, Array]:
    x = latent(rng, n, common)
    return x, rho * x + math.sqrt(1 - rho**2) * latent(rng, n, common)


def labels(rng: Rng, n: int, common: float = 0.0) -> tuple[Array, Array]:
    """People say 1 for 40 % of the cases, the judge is right on 85 %."""
    human = latent(rng, n, common) < stats.norm.ppf(0.4)
    right = latent(rng, n, common) < stats.norm.ppf(0.85)
    return human.astype(int), np.where(right, human, ~human).astype(int)


def true_kappa() -> float:
    judged = 0.4 * 0.85 + 0.6 * 0.15
    chance = 0.4 * judged + 0.6 * (1 - judged)
    return (0.85 - chance) / (1 - chance)


def scores(rng: Rng, n: int) -> tuple[Array, Array]:
    people, judge = np.divmod(rng.choice(25, size=n, p=SCORES.ravel()), 5)
    return people, judge


def pearson(x: Array, y: Array) -> float:
    x, y = x - x.mean(), y - y.mean()
    return float(x @ y / math.sqrt((x @ x) * (y @ y)))


def ranks(x: Array) -> Array:
    """Ties share their mean rank; scipy's `rankdata` takes three times as long on so few cases."""
    _, place, often = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(often) - (often - 1) / 2)[place]


def spearman(x: Array, y: Array) -> float:
    return pearson(ranks(x), ranks(y))


def kendall(x: Array, y: Array) -> float:
    return float(stats.kendalltau(x, y).statistic)


def true_spearman_of_scores() -> float:
    px, py = SCORES.sum(1), SCORES.sum(0)
    x, y = (np.cumsum(margin) - margin / 2 - 0.5 for margin in (px, py))  # ranks as shares, their mean taken off
    return float(x @ SCORES @ y / math.sqrt((px @ x**2) * (py @ y**2)))
