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
from pathlib import Path

import numpy as np
from scipy import stats

from dicast.benchmarks.coverage_sizes import GROUPS, SIZED, SIZED_TESTS
from dicast.benchmarks.coverage_worlds import (
    COMMON,
    Array,
    Interval,
    Rng,
    Test,
    groups_of,
    kendall,
    labels,
    latent,
    normals,
    pearson,
    scores,
    seed_of,
    spearman,
    true_kappa,
    true_spearman_of_scores,
    two_judges,
)  # fmt: skip
from dicast.stats.agreement import kappa
from dicast.stats.paired import difference, mcnemar, non_inferior, permutation, permutation_statistic
from dicast.stats.prediction_powered import prediction_powered_mean
from dicast.stats.resampling import Estimate, bootstrap, bootstrap_table, mean, proportion
from dicast.stats.selective import aurc

SIZES = (50, 200, 1000)


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
