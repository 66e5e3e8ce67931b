"""Is a gain reported where evidence says nothing, and are heads calibrated where it says something?

Simulated: pairs of 30 prompts with answers in letters, and a vector of 6,000 random numbers for each candidate.

random   labels are drawn without regard to anything. A gain is reported where the lower limit of the evidence's worth
         is above 0; beside it, where the head with evidence is better than the head without it on 150 fresh pairs
signal   the quality of a text is in its vector, along one diagonal, and the label follows the difference of the two.
         ECE of the certainties on 1,000 fresh pairs, of heads fitted to 250 labels

    python -m dicast.benchmarks.evidence_simulation --worlds 200 --signal-worlds 10
"""

import argparse
import math
import time

import numpy as np

from dicast.data import Candidate, Case, Finding, Verdict, Winner
from dicast.evidence.source_spec import SourceSpec
from dicast.judging.aggregate import aggregate_findings
from dicast.optimizers.head.fit import HeadFit, fit
from dicast.stats.calibration import ece
from dicast.stats.paired import difference

WIDTH, PROMPTS, FRESH = 6000, 30, 150
SOURCES = {"state": SourceSpec(kind="state", model="random", width=WIDTH)}
Vectors = list[dict[str, np.ndarray]]


def pairs(n: int, seed: int, *, signal: float) -> tuple[list[Case], list[Verdict], Vectors]:
    """n labelled pairs with a verdict each; quality moves a vector by 20 `signal` along one diagonal."""
    random = np.random.default_rng(seed)
    cases, verdicts, vectors = [], [], []
    for number in range(n):
        quality, liking = random.normal(size=2), random.normal()
        margin = signal * (quality[0] - quality[1]) + (0.5 * liking if signal else 0.0) + random.logistic()
        label = "tie" if abs(margin) < 0.2 else "a" if margin > 0 else "b"
        read = random.normal(size=(2, WIDTH)).astype(np.float32)
        read += (signal * 20 / math.sqrt(WIDTH) * quality[:, None]).astype(np.float32)
        p = 1 / (1 + math.exp(-liking))
        findings = (Finding(criterion="overall", distribution={"a": p, "b": 1 - p}),)
        case = Case(
            id=f"{number:05}",
            query=str(number % PROMPTS),
            candidates=(Candidate(text=f"{number} a"), Candidate(text=f"{number} b")),
            label=Winner(value=label),
        )
        cases.append(case)
        verdicts.append(Verdict(case_id=case.id, findings=findings, **aggregate_findings(findings, 2)))
        vectors.append({"state": read})
    return cases, verdicts, vectors


def right(
    fitted: HeadFit, cases: list[Case], verdicts: list[Verdict], vectors: Vectors
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) whether the head has the label, and its certainties."""
    judged = [fitted.head(*row) for row in zip(cases, verdicts, vectors, strict=True)]
    wins = [case.label is not None and case.label.winner == v.winner for case, v in zip(cases, judged, strict=True)]
    return np.array(wins), np.array([verdict.certainty for verdict in judged])


def random_world(seed: int, n: int) -> tuple[bool, bool, bool]:
    """Whether a gain is reported, whether the head weighs the evidence, and whether fresh pairs show a gain."""
    cases, verdicts, vectors = pairs(n, 2 * seed, signal=0.0)
    fitted = fit(cases, verdicts, sources=SOURCES, vectors=vectors)
    (worth,) = fitted.worth
    if not worth.used:
        return worth.is_shown, False, False
    new_pairs = pairs(FRESH, 2 * seed + 1, signal=0.0)
    gain = difference(
        right(fitted, *new_pairs)[0], right(fit(cases, verdicts), *new_pairs)[0], [c.split_key for c in new_pairs[0]]
    )
    return worth.is_shown, True, gain.low > 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--signal-worlds", type=int, default=10)
    parser.add_argument("--labels", type=int, default=120, help="of random worlds")
    arguments = parser.parse_args()
    start, seen = time.process_time(), []
    for seed in range(arguments.worlds):
        seen.append(random_world(seed, arguments.labels))
        if (seed + 1) % 20 == 0 or seed + 1 == arguments.worlds:
            shown, used, tested = np.array(seen).sum(axis=0)
            print(f"random: of {seed + 1} worlds {shown} report a gain, {used} weigh it, {tested} gain on fresh pairs; "
                  f"{time.process_time() - start:.0f} CPU seconds", flush=True)  # fmt: skip
    errors, accuracy = [], []
    for seed in range(arguments.signal_worlds):
        cases, verdicts, vectors = pairs(250, 10**6 + seed, signal=1.0)
        wins, certainty = right(
            fit(cases, verdicts, sources=SOURCES, vectors=vectors), *pairs(1000, 2 * 10**6 + seed, signal=1.0)
        )
        errors.append(ece(certainty, wins))
        accuracy.append(wins.mean())
        print(f"signal: {seed + 1} worlds, ECE {np.mean(errors):.3f}, accuracy {np.mean(accuracy):.3f}", flush=True)


if __name__ == "__main__":
    main()
