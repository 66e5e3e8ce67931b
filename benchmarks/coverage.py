"""How often nominal 95 % intervals hold the truth, and how often 5 % tests reject what is true, on simulated judges.

    python benchmarks/coverage.py [--quick] [--part intervals|tests|sizes|size-tests] [--results FILE]

Each row draws new cases many times from a world whose truth is known. The parts `intervals` and `tests` have groups of
four cases with a strong common cause, as the texts of one prompt or the votes of one person; `sizes` and `size-tests`
have groups of four kinds of sizes with an intraclass correlation of .3. An hour on one core; --quick takes six minutes.
With --results a run that was stopped goes on where it was.
"""

import argparse
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dicast.stats.agreement import kappa
from dicast.stats.paired import difference, larger_p, mcnemar, non_inferior, permutation, permutation_statistic
from dicast.stats.prediction_powered import prediction_powered_mean
from dicast.stats.resampling import Estimate, bootstrap, bootstrap_table, mean, proportion
from dicast.stats.selective import aurc

Rng = np.random.Generator
Array = NDArray[Any]
SIZES = (50, 200, 1000)
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


def correlated(
    statistic: Callable[[Array, Array], float],
    pairs: Callable[[Rng, int], tuple[Array, Array]],
    *,
    grouped: bool = False,
) -> Callable[[Rng, int], Estimate]:
    def draw(rng: Rng, n: int) -> Estimate:
        x, y = pairs(rng, n)
        return bootstrap(lambda c: statistic(x[c], y[c]), n, groups_of(n) if grouped else None, seed=seed_of(rng))

    return draw


def kappa_of(rng: Rng, n: int, common: float) -> Estimate:
    groups = groups_of(n) if common else None
    return bootstrap_table(kappa, *labels(rng, n, common), 2, groups, seed=seed_of(rng))


def share_of(rng: Rng, n: int, p: float, common: float, *, grouped: bool = True) -> Estimate:
    return proportion(latent(rng, n, common) < stats.norm.ppf(p), groups_of(n) if common and grouped else None)


def mean_of(rng: Rng, n: int, common: float) -> Estimate:
    """Scores 1..5, more high ones than low ones; groups are prompts, hard and easy."""
    values = np.digitize(latent(rng, n, common), stats.norm.ppf(np.cumsum(MARGIN)[:-1])) + 1
    return mean(values, groups_of(n) if common else None)


MARGIN = np.array([0.05, 0.1, 0.15, 0.3, 0.4])


def selective(rng: Rng, n: int) -> Estimate:
    """A judge whose error rate falls in a line from 1/2 to 0 as its certainty grows; the area is 1/8."""
    certainty = rng.random(n)
    right = rng.random(n) > 0.5 * (1 - certainty)
    return bootstrap(lambda c: aurc(certainty[c], right[c]), n, seed=seed_of(rng), bounds=(0, 1))


def powered(rng: Rng, n: int, rho: float) -> Estimate:
    """Twenty times as many verdicts as labels, from a judge that is half a point too kind."""
    human, verdicts = normals(rng, 21 * n, rho)
    return prediction_powered_mean(human[:n], verdicts[:n] + 0.5, verdicts[n:] + 0.5).estimate


def apart(rng: Rng, n: int, common: float) -> Estimate:
    return difference(*two_judges(rng, n, 0.8, 0.7, common), groups_of(n) if common else None)


INTERVALS = {
    "share 0.6": Interval(lambda rng, n: share_of(rng, n, 0.6, 0), 0.6, 4000),
    "share 0.9": Interval(lambda rng, n: share_of(rng, n, 0.9, 0), 0.9, 4000),
    "share 0.6, groups": Interval(lambda rng, n: share_of(rng, n, 0.6, COMMON), 0.6, 4000),
    "share 0.9, groups": Interval(lambda rng, n: share_of(rng, n, 0.9, COMMON), 0.9, 4000),
    "mean of scores 1..5": Interval(lambda rng, n: mean_of(rng, n, 0), float(MARGIN @ np.arange(1, 6)), 4000),
    "system mean, groups": Interval(lambda rng, n: mean_of(rng, n, COMMON), float(MARGIN @ np.arange(1, 6)), 4000),
    "difference of accuracies": Interval(lambda rng, n: apart(rng, n, 0), 0.1, 4000),
    "difference of accuracies, groups": Interval(lambda rng, n: apart(rng, n, COMMON), 0.1, 4000),
    "kappa": Interval(lambda rng, n: kappa_of(rng, n, 0), true_kappa()),
    "kappa, groups": Interval(lambda rng, n: kappa_of(rng, n, COMMON), true_kappa()),
    "Pearson 0.6": Interval(correlated(pearson, lambda rng, n: normals(rng, n, 0.6)), 0.6),
    "Spearman 0.58": Interval(
        correlated(spearman, lambda rng, n: normals(rng, n, 0.6)), 6 / math.pi * math.asin(0.3), 1000
    ),
    "Spearman 0.89": Interval(
        correlated(spearman, lambda rng, n: normals(rng, n, 0.9)), 6 / math.pi * math.asin(0.45), 1000
    ),
    "Spearman of scores 1..5": Interval(correlated(spearman, scores), true_spearman_of_scores(), 1000),
    "Spearman 0.58, groups": Interval(
        correlated(spearman, lambda rng, n: normals(rng, n, 0.6, COMMON), grouped=True),
        6 / math.pi * math.asin(0.3),
        1000,
    ),
    "Kendall 0.41": Interval(
        correlated(kendall, lambda rng, n: normals(rng, n, 0.6)), 2 / math.pi * math.asin(0.6), 1000
    ),
    "area under risk-coverage": Interval(selective, 0.125, 1000),
    "prediction-powered mean": Interval(lambda rng, n: powered(rng, n, 0.8), 0.0, 4000),
    "prediction-powered, useless judge": Interval(lambda rng, n: powered(rng, n, 0.0), 0.0, 4000),
}
# What goes wrong, and where this room's methods end.
WARNINGS = {
    "share 0.6, without groups": Interval(lambda rng, n: share_of(rng, n, 0.6, COMMON, grouped=False), 0.6, 4000),
    "share 0.99": Interval(lambda rng, n: share_of(rng, n, 0.99, 0), 0.99, 4000),
    "Pearson of long-tailed scores": Interval(
        correlated(pearson, lambda rng, n: tuple(np.exp(side) for side in normals(rng, n, 0.6))),  # type: ignore[arg-type, return-value]
        math.expm1(0.6) / math.expm1(1),
    ),
}


def swapped(rng: Rng, n: int) -> float:
    """Two judges that go with people equally well."""
    people = rng.normal(size=n)
    measured, other = (0.6 * people + 0.8 * rng.normal(size=n) for _ in range(2))
    return permutation_statistic(
        lambda values: spearman(values, people), measured, other, resamples=199, seed=seed_of(rng)
    )


def flipped(rng: Rng, n: int, common: float, *, grouped: bool = True) -> float:
    groups = groups_of(n) if common and grouped else None
    return permutation(*two_judges(rng, n, 0.75, 0.75, common), groups, resamples=399, seed=seed_of(rng))


def worse(rng: Rng, n: int, common: float) -> float:
    """A student that is worse by exactly the margin."""
    return non_inferior(*two_judges(rng, n, 0.7, 0.8, common), 0.1, groups_of(n) if common else None).p


TESTS = {
    "McNemar, exact": Test(lambda rng, n: mcnemar(*two_judges(rng, n, 0.75, 0.75)).p, 4000),
    "McNemar, mid-p": Test(lambda rng, n: mcnemar(*two_judges(rng, n, 0.75, 0.75), mid_p=True).p, 4000),
    "permutation of accuracies": Test(lambda rng, n: flipped(rng, n, 0)),
    "permutation of accuracies, groups": Test(lambda rng, n: flipped(rng, n, COMMON)),
    "permutation of Spearman": Test(swapped, 1000),
    "non-inferiority at the margin": Test(lambda rng, n: worse(rng, n, 0), 4000),
    "non-inferiority at the margin, groups": Test(lambda rng, n: worse(rng, n, COMMON), 4000),
}
WRONG_TESTS = {
    "McNemar, exact, without groups": Test(lambda rng, n: mcnemar(*two_judges(rng, n, 0.75, 0.75, COMMON)).p, 4000),
}


# Groups of unequal size. Every world has a mean that does not go with the size of the group, but where a name says so.
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


def coverage(interval: Interval, n: int, repetitions: int, seed: int = 0) -> tuple[float, float]:
    """How often the truth is inside, and the mean length; an interval that is not defined does not hold it."""
    rng = np.random.default_rng([seed, n])
    intervals = [interval.draw(rng, n) for _ in range(repetitions)]
    lengths = [estimate.high - estimate.low for estimate in intervals]
    return float(np.mean([estimate.low <= interval.truth <= estimate.high for estimate in intervals])), float(
        np.nanmean(lengths)
    )


def level(test: Test, n: int, repetitions: int, seed: int = 0) -> float:
    """How often the test rejects at 5 %."""
    rng = np.random.default_rng([seed, n])
    return float(np.mean([test.draw(rng, n) <= 0.05 for _ in range(repetitions)]))


@dataclass(frozen=True)
class Part:
    """A table of the benchmark: rows by name, and the numbers of cases or groups that its columns have."""

    head: str
    rows: Mapping[str, Interval | Test]
    columns: tuple[int, ...]
    unit: str = "n ="


PARTS = {
    "intervals": Part("95 % interval", INTERVALS | WARNINGS, SIZES),
    "tests": Part("5 % test", TESTS | WRONG_TESTS, SIZES),
    "sizes": Part("95 % interval, sizes of the groups", SIZED, GROUPS, "groups:"),
    "size-tests": Part("5 % test, sizes of the groups", SIZED_TESTS, GROUPS, "groups:"),
}


def cell(row: Interval | Test, n: int, times: int) -> str:
    if isinstance(row, Test):
        return f"{level(row, n, times):.3f}"
    covered, length = coverage(row, n, times)
    return f"{covered:.3f} ({length:.3f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this table; may be repeated")
    parser.add_argument("--results", type=Path, help="file of the cells that are done, written and read")
    arguments = parser.parse_args()
    saved = arguments.results
    done = dict(map(json.loads, saved.read_text().splitlines())) if saved and saved.exists() else {}
    for part in map(PARTS.__getitem__, arguments.part or PARTS):
        print(f"\n| {part.head} | {' | '.join(f'{part.unit} {n}' for n in part.columns)} | repetitions | ± 2 s.e. |")
        print("| --- |" + " --- |" * (len(part.columns) + 2))
        for name, row in part.rows.items():
            times = row.repetitions // (10 if arguments.quick else 1)
            for key, n in ((f"{part.head}, {name}, {n}, {times}", n) for n in part.columns):
                if key not in done:
                    done[key] = cell(row, n, times)
                    if saved:
                        with saved.open("a") as file:
                            file.write(json.dumps([key, done[key]]) + "\n")
            cells = " | ".join(done[f"{part.head}, {name}, {n}, {times}"] for n in part.columns)
            print(f"| {name} | {cells} | {times} | {2 * math.sqrt(0.95 * 0.05 / times):.3f} |", flush=True)
    print("\nShare of repetitions in which the interval holds the truth (mean length), or in which the test rejects.")


if __name__ == "__main__":
    main()
