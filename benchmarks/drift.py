"""How often a check calls a judge worse that is not, by groups on both sides, and what checks of every week find.

    python benchmarks/drift.py [--worlds 1000]

One check: a record of 270 labels and 270 new ones; prompts of one size, or of sizes that differ much, with different
intraclass correlations. Every week: 40 new labels in 20 prompts for 26 weeks, and a loss of accuracy from a random week
on; the rule of `dicast check` beside others of the same level. An hour on one core.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dicast.evaluation.check_history import CheckedCase, CheckHistory
from dicast.evaluation.drift import Drift, estimate_as_dict, read_accuracy
from dicast.stats.repeated_checks import ALPHA, levels_of_checks, share_of
from dicast.stats.resampling import Estimate, proportion, wilson
from dicast.stats.two_samples import pooled_difference_interval

Bools = NDArray[np.bool_]
Ints = NDArray[np.intp]
LABELS, MARGIN = 270, 0.05
WEEKS, PROMPTS, IN_PROMPT, ICC = 26, 20, 2, 0.15
SIZES: dict[str, Callable[[np.random.Generator], int]] = {
    "1": lambda _: 1,
    "6": lambda _: 6,
    "10": lambda _: 10,
    "log-normal (sd 1.2)": lambda rng: max(1, round(math.exp(rng.normal(0.6, 1.2)))),
    "1 or 30": lambda rng: 30 if rng.random() < 0.1 else 1,
}


def groups_of(rng: np.random.Generator, size: Callable[[np.random.Generator], int], n: int) -> Ints:
    sizes: list[int] = []
    while sum(sizes) < n:
        sizes.append(size(rng))
    return np.repeat(np.arange(len(sizes)), sizes)


def right_verdicts(rng: np.random.Generator, accuracy: float, icc: float, groups: Ints) -> Bools:
    """Whether the verdict is right on each case; the prompts' accuracies have a beta distribution."""
    if not icc:
        return np.asarray(rng.random(len(groups)) < accuracy)
    strength = (1 - icc) / icc
    by_group = rng.beta(accuracy * strength, (1 - accuracy) * strength, groups[-1] + 1)
    return np.asarray(rng.random(len(groups)) < by_group[groups])


def recorded(rng: np.random.Generator, accuracy: float, icc: float, groups: Ints) -> Estimate:
    """The accuracy of a training record, as `dicast check` reads it."""
    record = read_accuracy(estimate_as_dict(proportion(right_verdicts(rng, accuracy, icc, groups), groups)))
    assert record
    return record.estimate


def one_check(rng: np.random.Generator, worlds: int) -> Iterator[list[str]]:
    """Proportion of worlds in which an unchanged judge is called worse, and in which a lost margin is excluded."""
    for accuracy in (0.75, 0.9):
        for name, size in SIZES.items():
            for icc in (0.0,) if name == "1" else (0.0, 0.15, 0.3):
                worse = agrees = 0
                for _ in range(worlds):
                    then = recorded(rng, accuracy, icc, groups_of(rng, size, LABELS))
                    groups = groups_of(rng, size, LABELS)
                    same, lost = (
                        proportion(right_verdicts(rng, accuracy - loss, icc, groups), groups) for loss in (0, MARGIN)
                    )
                    worse += Drift(then, same, MARGIN).outcome == "worse"
                    agrees += Drift(then, lost, MARGIN).outcome == "agrees"
                yield [f"{accuracy:g}", name, f"{icc:g}", percent(worse, worlds), percent(agrees, worlds)]


class Year:
    """A record and the weeks that follow it."""

    def __init__(self, rng: np.random.Generator, loss: float, accuracy: float = 0.75) -> None:
        self.then = recorded(rng, accuracy, ICC, np.arange(LABELS) // 6)
        start, groups = (rng.integers(WEEKS) if loss else WEEKS), np.repeat(np.arange(PROMPTS), IN_PROMPT)
        self.weeks = [
            right_verdicts(rng, accuracy - (loss if week >= start else 0), ICC, groups) for week in range(WEEKS)
        ]

    def now(self, start: int, week: int) -> Estimate:
        right = np.concatenate(self.weeks[start : week + 1])
        return proportion(right, np.arange(len(right)) // IN_PROMPT)

    def is_worse(self, start: int, week: int, level: float) -> bool:
        return pooled_difference_interval(self.then, self.now(start, week), 1 - 2 * level)[1] < 0


def each_week_alone(year: Year) -> bool:
    return any(year.is_worse(week, week, ALPHA) for week in range(WEEKS))


def dicast_check(year: Year) -> bool:
    """`evaluation.drift.repeated_checks` in every week; the levels of earlier weeks do not change."""
    history = CheckHistory(
        tuple(
            {f"{week} {n}": CheckedCase(f"{week} {n // IN_PROMPT}", bool(hit), True) for n, hit in enumerate(right)}
            for week, right in enumerate(year.weeks)
        )
    )
    windows = [CheckHistory(history.checks[: week + 1]).latest(year.then.n) for week in range(WEEKS)]
    sizes = [year.now(week, week).effective_n or 1.0 for week in range(WEEKS)]
    starts = [week + 1 - checks for week, (_, checks) in enumerate(windows)]
    levels = levels_of_checks(year.then.effective_n or 1.0, sizes, starts)
    return any(
        pooled_difference_interval(year.then, now, 1 - 2 * level)[1] < 0
        for (now, _), level in zip(windows, levels, strict=True)
    )


def union_bound(weeks: int) -> Callable[[Year], bool]:
    """Each check has its part of the level, on the labels of this many latest weeks."""
    return lambda year: any(
        year.is_worse(max(0, week + 1 - weeks), week, ALPHA * share_of(week + 1)) for week in range(WEEKS)
    )


def betting(year: Year) -> bool:
    """Wealth of bets that a week's prompts are below the record's lower limit, mixed over stakes and first weeks
    (Waudby-Smith & Ramdas 2024); the limit has 40 % of the level, the wealth 60 %."""
    assert year.then.effective_n
    low = pooled_difference_interval(Estimate(0.0, 0, 0, 10**9, 10**9, 1e9), year.then, 1 - 2 * 0.4 * ALPHA)[0]
    stakes = np.minimum([0.1, 0.2, 0.4, 0.8], 0.99 / (1 - low))
    wealth = np.zeros(len(stakes))
    for week, right in enumerate(year.weeks):
        means = right.reshape(PROMPTS, IN_PROMPT).mean(axis=1)
        wealth = (wealth + share_of(week + 1)) * np.prod(1 + stakes[:, None] * (low - means), axis=1)
        if wealth.mean() >= 1 / (0.6 * ALPHA):
            return True
    return False


def normal_mixture(year: Year) -> bool:
    """The likelihood ratio of a loss with a half-normal prior of sd .06, mixed over first weeks (Robbins 1970)."""
    assert year.then.effective_n
    for week in range(WEEKS):
        evidence = 0.0
        for start in range(week + 1):
            now = year.now(start, week)
            middle = (now.value + year.then.value) / 2
            variance = middle * (1 - middle) * (1 / year.then.effective_n + 1 / (now.effective_n or 1.0))
            score, information, prior = (year.then.value - now.value) / variance, 1 / variance, 0.06**-2
            z = score / math.sqrt(information + prior)
            ratio = math.erfc(-z / math.sqrt(2)) * math.sqrt(prior / (information + prior)) * math.exp(z * z / 2)
            evidence += share_of(start + 1) * ratio
        if evidence >= 1 / ALPHA:
            return True
    return False


RULES: dict[str, Callable[[Year], bool]] = {
    "each week at 5 %, without any control": each_week_alone,
    "`dicast check`: latest labels, simulated levels": dicast_check,
    "union bound, this week": union_bound(1),
    "union bound, latest 7 weeks": union_bound(7),
    "union bound, all weeks": union_bound(WEEKS),
    "always-valid: betting": betting,
    "always-valid: normal mixture": normal_mixture,
}


def every_week(rng: np.random.Generator, worlds: int) -> Iterator[list[str]]:
    """Proportion of worlds in which any of the weeks calls the judge worse."""
    years = {loss: [Year(rng, loss) for _ in range(worlds)] for loss in (0.0, 0.05, 0.1, 0.15)}
    for name, rule in RULES.items():
        yield [name, *(percent(sum(map(rule, some)), worlds) for some in years.values())]


def percent(count: int, n: int) -> str:
    low, high = wilson(count / n, n, 1.96)
    return f"{100 * count / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def table(heads: Sequence[str], rows: Iterator[list[str]]) -> None:
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=1000)
    worlds = parser.parse_args().worlds
    rng = np.random.default_rng(0)
    heads = ("accuracy", "labels a prompt", "ICC", "unchanged, called worse", f"lost {MARGIN:g}, called agreeing")
    table(heads, one_check(rng, 4 * worlds))
    table(("any of 26 weeks calls it worse", "unchanged", "loss .05", ".10", ".15"), every_week(rng, worlds))


if __name__ == "__main__":
    main()
