"""How often a user who tries many seeds is shown an improvement that is none, and what a real one loses.

    python benchmarks/looks.py [--worlds 120] [--seeds 20] [--out FILE]

Whole compilations without a model: `direct` questions are answered by coins, one for each value of a setting, so that
no judge knows anything of the labels and a compiled judge is as good as the uncompiled one. Each world is a user who
compiles with seeds 0, 1, 2, ..., each in another folder, and who reports an improvement if any seed shows one. Then the
same with the test alone, for more worlds, groups of six, and judges of which one is better. Each finished world is a
line of FILE, and the same command continues. 120 worlds take an hour on one core.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dicast.data import Case, Finding, Verdict
from dicast.data.case import digest
from dicast.judging.hparam import HParam
from dicast.judging.judge import Judge, verdict_of
from dicast.optimizers.compile import Compiler
from dicast.optimizers.recipe import Recipe
from dicast.stats.paired import mcnemar, permutation
from dicast.stats.repeated_looks import ALPHA, adjusted_p
from dicast.stats.resampling import wilson

LABELS, TEST = 200, 0.35
COINS = (0, 1, 2, 3, 4, 5)
SEARCH = Recipe(
    trials=3, head=False, baseline=None, space={"coin": COINS},
    parts={"train": 0.45, "select": 0.2, "certify": 0, "test": TEST},
)  # fmt: skip


class Coin(Judge):
    """Answers with a coin that depends on the case and on a setting."""

    name = "coin"

    def __init__(self, *, coin: int = 0) -> None:
        super().__init__()
        self.coin = HParam(coin, COINS)

    def assess(self, case: Case) -> Verdict:
        heads = int(digest(f"{case.query} {self.coin.value}"), 16) % 2
        distribution = {"a": 0.8, "b": 0.2} if heads else {"a": 0.2, "b": 0.8}
        return verdict_of(case, [Finding(criterion="coin", distribution=distribution)])


def coin_cases(world: int) -> list[Case]:
    rng = np.random.default_rng(world)
    return [
        Case(
            id=f"{number:04}", query=f"question {number} of world {world}",
            candidates=[{"text": "one answer"}, {"text": "another answer"}],
            label={"value": "ab"[rng.integers(2)]},
        )
        for number in range(LABELS)
    ]  # fmt: skip


def compile_world(world: int, seeds: int) -> list[tuple[float, float]]:
    """The gain's sign times p, plain and adjusted, of each seed in turn, on a machine that remembers this world."""
    cases, shown = coin_cases(world), []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DICAST_HISTORY"] = str(Path(folder) / "history")
        for seed in range(seeds):
            recipe = SEARCH.model_copy(update={"seed": seed})
            test = Compiler(Coin(), cases, Path(folder) / str(seed), recipe).run().result.decisive_test
            assert test is not None
            assert test.p is not None
            assert test.p_looks is not None
            sign = 1 if (test.difference.value or 0) > 0 else -1
            shown.append((sign * test.p, sign * test.p_looks))
    return shown


def compiled_worlds(worlds: int, seeds: int, out: Path) -> list[list[tuple[float, float]]]:
    """The seeds of each world; finished ones are read from the file."""
    done = {row["world"]: row["seeds"] for row in map(json.loads, out.read_text().splitlines())} if out.exists() else {}
    for world in range(worlds):
        if world not in done or len(done[world]) < seeds:
            done[world] = compile_world(world, seeds)
            with out.open("a") as file:
                file.write(json.dumps({"world": world, "seeds": done[world]}) + "\n")
    return [done[world][:seeds] for world in range(worlds)]


def simulated_world(rng: np.random.Generator, labels: int, gain: float, size: int, seeds: int) -> list[float]:
    """The gain's sign times p of each seed: two judges right in 70 and 70 + gain percent, tested on random parts."""
    groups = np.repeat(np.arange(labels // size), size)
    first, second = (_right(rng, groups, accuracy) for accuracy in (0.7 + gain, 0.7))
    shown = []
    for _ in range(seeds):
        tested = np.isin(groups, rng.permutation(labels // size)[: round(TEST * labels / size)])
        sides = first[tested], second[tested]
        p = mcnemar(*sides).p if size == 1 else permutation(*sides, groups[tested], resamples=1000)
        shown.append(p if sides[0].sum() > sides[1].sum() else -p)
    return shown


def _right(rng: np.random.Generator, groups: NDArray[Any], accuracy: float, icc: float = 0.3) -> NDArray[Any]:
    """Whether a judge is right on each case; cases of a group share their difficulty."""
    single_cases = groups[-1] + 1 == len(groups)
    strength = (1 - icc) / icc
    skill = (
        accuracy if single_cases else rng.beta(accuracy * strength, (1 - accuracy) * strength, groups[-1] + 1)[groups]
    )
    return np.asarray(rng.random(len(groups)) < skill)


def is_shown(signed_p: float) -> bool:
    return 0 < signed_p <= ALPHA


def share(hits: Sequence[bool]) -> str:
    n, count = len(hits), sum(hits)
    low, high = wilson(count / n, n, 1.96)
    return f"{100 * count / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}]"


def rows_of(worlds: Sequence[Sequence[tuple[float, float]]], name: str) -> Iterator[list[str]]:
    """How many worlds show an improvement in any of the first seeds, plain and adjusted."""
    for seeds in (1, 5, 20):
        if seeds <= len(worlds[0]):
            by_p, by_adjusted_p = (
                share([any(is_shown(pair[side]) for pair in world[:seeds]) for world in worlds]) for side in (0, 1)
            )
            yield [name, str(seeds), str(len(worlds)), by_p, by_adjusted_p]


def with_adjusted(signed: Sequence[float]) -> list[tuple[float, float]]:
    return [(p, float(np.sign(p)) * adjusted_p(abs(p), look)) for look, p in enumerate(signed, start=1)]


def table(heads: Sequence[str], rows: Iterator[list[str]]) -> None:
    print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=120)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--simulated", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=Path("looks.jsonl"))
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    heads = ("no judge is better", "seeds", "worlds", "improved by p", "improved by adjusted p")

    def without_gain() -> Iterator[list[str]]:
        yield from rows_of(compiled_worlds(options.worlds, options.seeds, options.out), f"compiled, {LABELS} labels")
        for labels, size in ((200, 1), (770, 1), (768, 6)):
            worlds = [
                with_adjusted(simulated_world(rng, labels, 0.0, size, options.seeds)) for _ in range(options.simulated)
            ]
            groups = f" in groups of {size}" if size > 1 else ""
            yield from rows_of(worlds, f"test alone, {labels} labels{groups}")

    def with_gain() -> Iterator[list[str]]:
        for gain in (0.05, 0.1, 0.15):
            worlds = [with_adjusted(simulated_world(rng, 770, gain, 1, 3)) for _ in range(options.simulated)]
            for look in range(3):
                by_p, by_adjusted_p = (share([is_shown(world[look][side]) for world in worlds]) for side in (0, 1))
                yield [f"better by {gain:g}, 770 labels", str(look + 1), str(len(worlds)), by_p, by_adjusted_p]

    table(heads, without_gain())
    table(("one judge is better", "look", *heads[2:]), with_gain())


if __name__ == "__main__":
    main()
