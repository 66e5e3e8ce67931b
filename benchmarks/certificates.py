"""How often certificates do not hold, and how much they accept, on simulated judges whose true risk is known.

    python benchmarks/certificates.py --out certificates.jsonl [--quick]
    python benchmarks/certificates.py --part compile --out compile.jsonl [--quick]

A world draws groups of cases; each case has a certainty and a probability that the verdict is right, and cases of a
group have a common cause. Certified is a risk of 10 % at 95 % by two methods: all cases of the groups (today's), and
one case drawn of each group, as up to commit 6fc1a6b. Each is judged by its own promise: the disagreement with each
group that has accepted verdicts weighted equally; the disagreement of accepted verdicts among one case of each group.
Truths are of 20,000 groups and of exact probabilities. The first three judges are calibrated and differ in the true
risk of the most certain third.

Sizes: PandaLM's are those of its 104 prompts (606 pairs, 1 to 10 a prompt) halved, three a group in the mean, so that
100 groups are 300 labels. The common cause is set so that the intraclass correlation of being right is that of the two
judges recorded there, .24 and .18; the column shows it.

Part compile is of whole compilations with real fits of heads (benchmarks/compile_certificates.py).

Running again continues with what is missing. Some minutes on one core, part compile half an hour; --quick takes a tenth
of the worlds, of part compile a twentieth.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from dicast.benchmarks import compile_certificates
from dicast.optimizers.certificates.certify import GRID, certify
from dicast.stats.power import intraclass_correlation

Rng = np.random.Generator
Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
RISK = 0.1
POPULATION = 20_000  # groups
FIELDS = compile_certificates.Setting._fields
ROUNDING = 1e-3  # of a risk that is computed on that many groups
COMMON = 0.5  # proportion of the latent variance of being right that cases of a group share, beyond their certainties
COMMON_CERTAINTY = 0.3  # the same for certainties
PANDALM = np.repeat(np.arange(1, 11), [8, 6, 7, 13, 10, 17, 15, 8, 8, 12])  # pairs of each prompt
SIZES: dict[str, Callable[[Rng, int], Counts]] = {
    "PandaLM's": lambda rng, n: np.maximum(1, np.round(0.52 * rng.choice(PANDALM, n))).astype(np.int64),
    "equal, 3": lambda rng, n: np.full(n, 3),
    "log-normal": lambda rng, n: np.maximum(1, np.round(np.exp(rng.normal(0.4, 1.2, n)))).astype(np.int64),
    "1 or 30": lambda rng, n: np.where(rng.random(n) < 0.2, 30, 1),
    "1": lambda rng, n: np.ones(n, dtype=np.int64),
}


@dataclass(frozen=True)
class SimulatedJudge:
    """Draws latent margins with this mean and standard deviation; `right` gives the probability of being right.

    Attributes:
        right: of the (n,) margins' sizes and the (n,) sizes of the cases' groups.
    """

    mean: float
    deviation: float
    right: Callable[[Floats, Counts], Floats]


def calibrated(margin: Floats, size: Counts) -> Floats:
    return np.asarray(norm.cdf(margin))


JUDGES = {
    "calibrated, 2 %": SimulatedJudge(1.1, 1.0, calibrated),
    "calibrated, 3 %": SimulatedJudge(0.95, 1.0, calibrated),
    "calibrated, 5 %": SimulatedJudge(0.75, 0.9, calibrated),
    "overconfident": SimulatedJudge(0.95, 1.0, lambda margin, size: 0.08 + 0.84 * calibrated(margin, size)),
    "10.2 % wrong everywhere": SimulatedJudge(0.95, 1.0, lambda margin, size: np.full(len(margin), 0.898)),
    "worse on large groups": SimulatedJudge(
        1.2, 1.0, lambda margin, size: np.asarray(norm.cdf(margin * np.where(size > 3, 0.7, 1.1)))
    ),
}


@dataclass(frozen=True)
class Draw:
    """Cases of a world: (n,) certainties, probabilities of being right, whether right, and groups."""

    certainty: Floats
    probability: Floats
    right: NDArray[np.bool_]
    groups: Counts


@dataclass(frozen=True)
class Truth:
    """The true risk and coverage at every threshold of the grid, by method."""

    risk: dict[str, Floats]
    coverage: Floats


def drawn(judge: SimulatedJudge, sizes: Callable[[Rng, int], Counts], rng: Rng, count: int) -> Draw:
    size = sizes(rng, count)
    groups = np.repeat(np.arange(count), size)
    margin = np.abs(judge.mean + judge.deviation * latent(rng, groups, count, COMMON_CERTAINTY))
    probability = judge.right(margin, size[groups])
    right = norm.cdf(latent(rng, groups, count, COMMON)) < probability
    return Draw(np.asarray(norm.cdf(margin)), probability, right, groups)


def latent(rng: Rng, groups: Counts, count: int, common: float) -> Floats:
    """Standard normal, (n,), correlated by `common` inside a group."""
    return math.sqrt(common) * rng.normal(size=count)[groups] + math.sqrt(1 - common) * rng.normal(size=len(groups))


def truth_of(judge: SimulatedJudge, sizes: Callable[[Rng, int], Counts]) -> Truth:
    world = drawn(judge, sizes, np.random.default_rng(99), POPULATION)
    size = np.bincount(world.groups)
    every, single, coverage = [], [], []
    for threshold in GRID:
        accepted = world.certainty >= threshold
        number = np.bincount(world.groups, accepted, POPULATION)
        wrong = np.bincount(world.groups, accepted * (1 - world.probability), POPULATION)
        some = number > 0
        every.append((wrong[some] / number[some]).mean() if some.any() else 0.0)
        single.append((wrong / size).sum() / (number / size).sum() if some.any() else 0.0)
        coverage.append((number / size).mean())
    return Truth({"all cases": np.array(every), "one case": np.array(single)}, np.array(coverage))


def simulated(judge: str, sizes: str, count: int, repetitions: int) -> dict[str, Any]:
    """A row of the table: of both methods how often they certify, fail, and the mean and median coverage."""
    truth, rng = truth_of(JUDGES[judge], SIZES[sizes]), np.random.default_rng([count, repetitions])
    coverage: dict[str, list[float]] = {"all cases": [], "one case": []}
    failed = dict.fromkeys(coverage, 0)
    correlations, labels, top = [], [], []
    for _ in range(repetitions):
        world = drawn(JUDGES[judge], SIZES[sizes], rng, count)
        size = np.bincount(world.groups)
        first = np.cumsum(size) - size + (rng.random(count) * size).astype(np.int64)
        certificates = {
            "all cases": certify(world.certainty, world.right, groups=world.groups, risk=RISK),
            "one case": certify(world.certainty[first], world.right[first], risk=RISK),
        }
        for method, certificate in certificates.items():
            step = None if certificate.threshold is None else GRID.index(certificate.threshold)
            coverage[method].append(0.0 if step is None else float(truth.coverage[step]))
            failed[method] += step is not None and bool(truth.risk[method][step] > RISK + ROUNDING)
        correlations.append(intraclass_correlation(world.right, world.groups))
        labels.append(len(world.groups))
        surest = np.argsort(-world.certainty)[: len(world.groups) // 3]
        top.append(1 - world.probability[surest].mean())
    methods = {
        method: {
            "certified": float(np.mean(np.array(values) > 0)),
            "failed": failed[method] / repetitions,
            "coverage": float(np.mean(values)),
            "median": float(np.median(values)),
        }
        for method, values in coverage.items()
    }
    seen = {"labels": np.mean(labels), "icc": np.mean(correlations), "surest third": np.mean(top)}
    about = {"judge": judge, "sizes": sizes, "groups": count, "repetitions": repetitions}
    return about | {name: round(float(value), 4) for name, value in seen.items()} | methods


def settings(quick: bool) -> Iterator[tuple[str, str, int, int]]:
    """Judge, sizes, groups and repetitions of each row."""
    parts = 10 if quick else 1
    for judge in ("calibrated, 2 %", "calibrated, 3 %", "calibrated, 5 %"):
        yield judge, "PandaLM's", 100, 400 // parts
    for judge in ("calibrated, 3 %", "overconfident", "10.2 % wrong everywhere", "worse on large groups"):
        for sizes in SIZES:
            for count in (30, 60, 120):
                yield judge, sizes, count, 120 // parts


def line(row: dict[str, Any]) -> str:
    cells = [row["judge"], row["sizes"], f"{row['groups']} ({row['labels']:.0f})", f"{100 * row['surest third']:.1f} %"]
    cells.append("" if math.isnan(row["icc"]) else f"{row['icc']:.2f}")
    for method in ("all cases", "one case"):
        values = row[method]
        cells += [f"{100 * values[name]:.1f} %" for name in ("failed", "certified", "coverage", "median")]
    return f"| {' | '.join(cells)} |"


def compilations(out: Path, *, quick: bool) -> None:
    """Print the table of part compile; rows that the file holds are not computed again."""
    texts = out.read_text().splitlines() if out.exists() else []
    rows = {compile_certificates.Setting(*(row[name] for name in FIELDS)): row for row in map(json.loads, texts)}
    print(compile_certificates.heading())
    for setting in compile_certificates.settings(quick):
        if setting not in rows:
            rows[setting] = compile_certificates.simulated(setting)
            with out.open("a") as file:
                file.write(json.dumps(rows[setting]) + "\n")
        print(compile_certificates.line(rows[setting]), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("certificates.jsonl"), help="one row a line")
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--part", choices=("certify", "compile"), default="certify", help="what is simulated")
    arguments = parser.parse_args()
    if arguments.part == "compile":
        return compilations(arguments.out, quick=arguments.quick)
    rows = {}
    if arguments.out.exists():
        for text in arguments.out.read_text().splitlines():
            row = json.loads(text)
            rows[row["judge"], row["sizes"], row["groups"], row["repetitions"]] = row
    heads = ("failed", "certified", "accepted, mean", "median")
    print("| judge | sizes | groups (labels) | risk of the surest third | ICC |", end="")
    print("".join(f" {head} |" for head in (*heads, *(f"{head} (one case)" for head in heads))))
    print("| --- |" + " --- |" * 12)
    for setting in settings(arguments.quick):
        if setting not in rows:
            rows[setting] = simulated(*setting)
            with arguments.out.open("a") as file:
                file.write(json.dumps(rows[setting]) + "\n")
        print(line(rows[setting]), flush=True)


if __name__ == "__main__":
    main()
