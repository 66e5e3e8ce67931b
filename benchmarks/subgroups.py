"""How often a judge without any difference between subgroups is called worse on one of them.

    python benchmarks/subgroups.py [--worlds 400]

Each world has 60 groups (prompts) whose cases are right with the group's probability (mean .75, intraclass
correlation .3), and six values of a field that have nothing to do with it. "worst line": `dicast evaluate --by` names a
worst value. "any": any p after Holm is at most .05. "single": of all single tests, before Holm. Scores are of texts on
two aspects. Twenty minutes on one core.
"""

import argparse
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dicast.data import Judged, Scores, Winner
from dicast.evaluation.run_arrays import run_arrays
from dicast.evaluation.subgroups import ALPHA, subgroups

Rng = np.random.Generator
Codes = NDArray[np.int64]
GROUPS = 60
VALUES = 6
ACCURACY, ICC = 0.75, 0.3
SIZES: dict[str, Callable[[Rng], Codes]] = {
    "six each": lambda rng: np.full(GROUPS, 6),
    "log-normal": lambda rng: np.ceil(np.exp(rng.normal(1, 1, GROUPS))).astype(int),
    "1 or 30": lambda rng: rng.choice([1, 30], GROUPS, p=[0.8, 0.2]),
}
FIELDS: dict[str, Callable[[Rng, Codes], Codes]] = {
    "one value a group": lambda rng, group: rng.integers(VALUES, size=GROUPS)[group],
    "values by group size": lambda rng, group: np.argsort(np.argsort(np.bincount(group), kind="stable"))[group] // 10,
    "rare values": lambda rng, group: rng.choice(VALUES, size=GROUPS, p=[0.6, *[0.08] * 5])[group],
    "mostly one value": lambda rng, group: np.where(
        rng.random(len(group)) < 0.8, rng.integers(VALUES, size=GROUPS)[group], rng.integers(VALUES, size=len(group))
    ),
    "values in every group": lambda rng, group: rng.integers(VALUES, size=len(group)),
}


def pairs(rng: Rng, group: Codes, values: Codes) -> Iterator[Judged]:
    """Verdicts of pairs, right with the probability of their group."""
    spread = 1 / ICC - 1
    right = rng.random(len(group)) < rng.beta(ACCURACY * spread, (1 - ACCURACY) * spread, GROUPS)[group]
    for case, (name, value) in enumerate(zip(group.tolist(), values.tolist(), strict=True)):
        yield Judged(
            case_id=f"{case:05}", winner="a" if right[case] else "b", label=Winner(value="a"), group=str(name),
            attributes={"subset": str(value)},
        )  # fmt: skip


def texts(rng: Rng, group: Codes, values: Codes) -> Iterator[Judged]:
    """Scores of texts on two aspects, correlated by .6 with people's."""
    for aspect, level in (("coherence", 2.0), ("fluency", 4.0)):
        common, people = (rng.normal(size=size) for size in (GROUPS, len(group)))
        people = np.sqrt(ICC) * common[group] + np.sqrt(1 - ICC) * people
        judge = 0.6 * people + 0.8 * rng.normal(size=len(group))
        for case, (name, value) in enumerate(zip(group.tolist(), values.tolist(), strict=True)):
            label = Scores(values=(level + people[case],), lo=-20, hi=20)
            yield Judged(
                case_id=f"{case:05}#{aspect}", scores=(judge[case],), label=label, group=str(name), aspect=aspect,
                attributes={"subset": str(value)},
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="False claims of a worst subgroup.")
    parser.add_argument("--worlds", type=int, default=400)
    worlds = parser.parse_args().worlds
    print(f"| figure | sizes | field | worst line | any | single | ({worlds} worlds)\n|{' --- |' * 6}")
    for figure, draw in (("accuracy", pairs), ("spearman", texts)):
        for size, sizes in SIZES.items():
            for field, divide in FIELDS.items():
                rng = np.random.default_rng(14)
                worst = significant = rejected = tests = 0
                for _ in range(worlds if figure == "accuracy" else worlds // 4):
                    group = np.repeat(np.arange(GROUPS), sizes(rng))
                    result = subgroups(run_arrays(draw(rng, group, divide(rng, group))), ["subset"])
                    rows = [row for row in result.tables[0].rows if row.p is not None and row.p_holm is not None]
                    worst += result.summary.startswith("Worst")
                    significant += any(row.p_holm <= ALPHA for row in rows if row.p_holm is not None)
                    rejected += sum(row.p <= ALPHA for row in rows if row.p is not None)
                    tests += len(rows)
                repetitions = worlds if figure == "accuracy" else worlds // 4
                shares = (worst / repetitions, significant / repetitions, rejected / max(tests, 1))
                print(f"| {figure} | {size} | {field} | {' | '.join(f'{share:.3f}' for share in shares)} |", flush=True)


if __name__ == "__main__":
    main()
