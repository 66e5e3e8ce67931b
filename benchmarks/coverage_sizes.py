"""The parts `sizes` and `size-tests` of `benchmarks/coverage.py`: groups of unequal size.

Every world has a mean that does not go with the size of the group, but where a name says so.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from dicast.benchmarks.coverage_worlds import Array, Interval, Rng, Test, ranks, seed_of, spearman, true_kappa
from dicast.stats.agreement import kappa
from dicast.stats.paired import difference, larger_p, permutation, permutation_statistic
from dicast.stats.resampling import Estimate, bootstrap, bootstrap_table, mean, proportion

GROUPS = (20, 45, 100)
ICC = 0.3
PANDALM = np.repeat(np.arange(1, 11), (8, 6, 7, 13, 10, 17, 15, 8, 8, 12))  # pairs of a prompt in its test set
GROUP_SIZES: dict[str, Callable[[Rng, int], Array]] = {
    "six each": lambda rng, count: np.full(count, 6),
    "PandaLM's": lambda rng, count: rng.choice(PANDALM, size=count),
    "log-normal": lambda rng, count: np.maximum(1, np.round(3 * np.exp(1.2 * rng.normal(size=count)))).astype(int),
    "1 or 30": lambda rng, count: np.where(rng.random(count) < 0.2, 30, 1),
}


@dataclass(frozen=True)
class Clusters:
    """Groups of drawn sizes: the group of each case (n,), and the size of each group."""

    of: Array
    sizes: Array

    @property
    def n(self) -> int:
        return len(self.of)

    def hits(self, rng: Rng, p: float | Array) -> Array:
        """(n,) truth values with the intraclass correlation, from a beta distribution of each group."""
        spread = 1 / ICC - 1
        p = np.broadcast_to(p, self.sizes.shape)
        return rng.random(self.n) < rng.beta(p * spread, (1 - p) * spread)[self.of]

    def normals(self, rng: Rng) -> Array:
        shared = rng.normal(size=len(self.sizes))[self.of]
        return math.sqrt(ICC) * shared + math.sqrt(1 - ICC) * rng.normal(size=self.n)


def clusters(rng: Rng, kind: str, count: int) -> Clusters:
    sizes = GROUP_SIZES[kind](rng, count)
    return Clusters(np.repeat(np.arange(count), sizes), sizes)


def clustered_kappa(rng: Rng, cases: Clusters) -> Estimate:
    human, right = cases.hits(rng, 0.4), cases.hits(rng, 0.85)
    return bootstrap_table(kappa, human.astype(int), np.where(right, human, ~human).astype(int), 2, cases.of)


def clustered_spearman(rng: Rng, cases: Clusters) -> Estimate:
    x = cases.normals(rng)
    y = 0.6 * x + 0.8 * cases.normals(rng)
    return bootstrap(lambda c: spearman(x[c], y[c]), cases.n, cases.of)


def by_prompt(rng: Rng, cases: Clusters) -> Estimate:
    """Judges of which one is better by .3 on some prompts, and the other on as many."""
    ahead = rng.choice([-0.15, 0.15], size=len(cases.sizes))[cases.of]
    return difference(rng.random(cases.n) < 0.65 + ahead, rng.random(cases.n) < 0.65 - ahead, cases.of)


CLUSTERED: dict[str, tuple[Callable[[Rng, Clusters], Estimate], float, int]] = {
    "share 0.75": (lambda rng, cases: proportion(cases.hits(rng, 0.75), cases.of), 0.75, 4000),
    "share 0.9": (lambda rng, cases: proportion(cases.hits(rng, 0.9), cases.of), 0.9, 4000),
    "mean": (lambda rng, cases: mean(cases.normals(rng), cases.of), 0.0, 4000),
    "difference of accuracies": (
        lambda rng, cases: difference(cases.hits(rng, 0.75), cases.hits(rng, 0.75), cases.of), 0.0, 4000,
    ),
    "difference of accuracies, by prompt": (by_prompt, 0.0, 4000),
    "difference of scores": (
        lambda rng, cases: difference(cases.normals(rng), cases.normals(rng), cases.of), 0.0, 4000,
    ),
    "kappa": (clustered_kappa, true_kappa(), 4000),
    "Spearman 0.58": (clustered_spearman, 6 / math.pi * math.asin(0.3), 1000),
}  # fmt: skip


def of_sizes(statistic: Callable[[Rng, Clusters], Any], kind: str) -> Callable[[Rng, int], Any]:
    return lambda rng, count: statistic(rng, clusters(rng, kind, count))


SIZED = {
    f"{name}, {kind}": Interval(of_sizes(statistic, kind), truth, times)
    for name, (statistic, truth, times) in CLUSTERED.items()
    for kind in GROUP_SIZES
}


@cache
def middle_size(kind: str) -> tuple[float, float]:
    """The size that parts the cases in halves, and the mean over cases of .2 above it and -.2 below."""
    drawn = GROUP_SIZES[kind](np.random.default_rng(0), 400_000)
    middle = float(np.median(np.repeat(drawn, drawn)))
    return middle, float(drawn @ np.where(drawn > middle, 0.2, -0.2) / drawn.sum())


def favoured(sizes: Array, kind: str) -> Array:
    """By how much the first judge is ahead in each group: in the large ones; over all cases nobody is.

    1 or 30: .078 ahead in groups of 30, .585 behind in those of 1. Log-normal: .2 ahead above a size of 13, which parts
    the cases in halves, and about as much behind below.
    """
    if kind == "1 or 30":
        return np.where(sizes > 1, 0.078, -30 * 0.2 / 0.8 * 0.078)
    middle, over_all = middle_size(kind)
    return np.where(sizes > middle, 0.2, -0.2) - over_all


def wins(rng: Rng, cases: Clusters, ahead: float | Array = 0.0) -> Array:
    """(n,) 1, 0 or -1: who is right alone, in four of ten cases as often as not where nobody is ahead."""
    p = np.clip(0.5 + np.asarray(ahead) / 1.6, 0.01, 0.99)
    return np.where(rng.random(cases.n) < 0.8, np.where(cases.hits(rng, p), 1, -1), 0)


def decisive(apart: Array, cases: Clusters, seed: int, *, both: bool = True) -> float:
    """The test of `compare`: whole groups exchanged, and the interval; the exchange alone if not `both`."""
    nothing = np.zeros(cases.n)
    p = permutation(apart, nothing, cases.of, resamples=399, seed=seed)
    return larger_p(p, difference(apart, nothing, cases.of)) if both else p


def of_exchangeable(rng: Rng, cases: Clusters) -> float:
    return decisive(wins(rng, cases), cases, seed_of(rng))


def of_skewed(rng: Rng, cases: Clusters) -> float:
    shared = rng.exponential(size=len(cases.sizes))[cases.of] - 1
    apart = math.sqrt(ICC) * shared + math.sqrt(1 - ICC) * rng.normal(size=cases.n)
    return decisive(apart, cases, seed_of(rng))


def of_sizes_that_matter(kind: str, rng: Rng, cases: Clusters, *, both: bool = True) -> float:
    return decisive(wins(rng, cases, favoured(cases.sizes, kind)), cases, seed_of(rng), both=both)


def of_spearman(rng: Rng, cases: Clusters) -> float:
    """Two judges that go with people equally well; the test of `compare`, with fewer exchanges."""
    people = cases.normals(rng)
    first, other = (ranks(0.6 * people + 0.8 * cases.normals(rng)) for _ in range(2))
    p = permutation_statistic(
        lambda side: spearman(side, people), first, other, cases.of, resamples=99, seed=seed_of(rng)
    )
    apart = bootstrap(
        lambda c: spearman(first[c], people[c]) - spearman(other[c], people[c]), cases.n, cases.of, bounds=(-2.0, 2.0)
    )
    return larger_p(p, apart, bounds=(-2.0, 2.0))


SIZED_TESTS = {
    **{f"no difference, {kind}": Test(of_sizes(of_exchangeable, kind), 4000) for kind in GROUP_SIZES},
    **{f"skewed, {kind}": Test(of_sizes(of_skewed, kind), 4000) for kind in GROUP_SIZES},
    **{
        f"differences go with size, {kind}": Test(of_sizes(partial(of_sizes_that_matter, kind), kind), 4000)
        for kind in ("log-normal", "1 or 30")
    },
    **{
        f"differences go with size, exchange alone, {kind}": Test(
            of_sizes(partial(of_sizes_that_matter, kind, both=False), kind), 4000
        )
        for kind in ("log-normal", "1 or 30")
    },
    **{f"difference of Spearman, {kind}": Test(of_sizes(of_spearman, kind), 500) for kind in GROUP_SIZES},
}
