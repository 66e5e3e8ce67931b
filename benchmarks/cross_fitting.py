"""Do cross-fitted verdicts of few labels tell the truth? Coverage, false claims and power in simulated worlds.

A judge of pairs gives log-odds of its letters and scores of both texts; prompts (groups) of three pairs share half of
the letters' noise. A head is fitted to n labels, its verdicts out of fold are compared with the uncompiled judge's, and
the head that is delivered, fitted to all n labels, is measured on 1,000 fresh pairs under the probabilities that
their labels are drawn with: that is the truth of this compilation.

nothing     the letters are calibrated, the scores know nothing: no head can gain, and a fitted one loses a little
certainty   the letters' log-odds are four times what they should be: the same verdicts, a certainty that can be trusted
verdicts    the scores know what the letters do not: accuracy goes up by about .1
states      as `verdicts`, and 24 numbers of hidden states, of which one direction says something

    python -m dicast.benchmarks.cross_fitting --worlds 200 --out cross-fitting.jsonl
    python -m dicast.benchmarks.cross_fitting --show cross-fitting.jsonl
"""

import argparse
import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Case, Finding, Judged, Verdict, Winner
from ..evaluation.metrics.agreement import LEAST_PROBABILITY
from ..evaluation.results import RunComparison
from ..evaluation.run_arrays import run_arrays
from ..evaluation.score_tests import mean_test
from ..evidence.source_spec import SourceSpec
from ..judging.block_base import Vectors
from ..judging.heads import Head
from ..judging.judge import verdict_of
from ..optimizers.answer import outcome_of
from ..optimizers.certificates.out_of_fold import ranked_out_of_fold
from ..optimizers.claims import Claim, claims_of
from ..optimizers.head.fit import HeadFit, fit
from ..optimizers.objective import OBJECTIVES

Floats = NDArray[np.float64]
WORLDS = ("nothing", "certainty", "verdicts", "states")
SIZES = (60, 150, 300)
MEASURED = ("verdicts", "certainty", "selective use")
FRESH, WIDTH, IN_GROUP = 1000, 24, 3
SOURCE = SourceSpec(kind="state", model="made", digest="00", layer=1, width=WIDTH)
ACCURACY = OBJECTIVES.find("accuracy")


@dataclass(frozen=True)
class Drawn:
    """Labelled pairs, the uncompiled judge's verdicts, hidden states, and the (n,) probabilities of the label a."""

    cases: list[Case]
    verdicts: list[Judged]
    vectors: list[dict[str, Vectors]]
    of_a: Floats

    def part(self, rows: slice) -> "Drawn":
        return Drawn(self.cases[rows], self.verdicts[rows], self.vectors[rows], self.of_a[rows])


def drawn(kind: str, n: int, random: np.random.Generator) -> Drawn:
    """A world's pairs."""
    cases, verdicts, vectors, of_a = [], [], [], []
    shared = random.normal(size=(n + IN_GROUP - 1) // IN_GROUP)
    for number in range(n):
        noise = math.sqrt(0.5) * (shared[number // IN_GROUP] + random.normal())
        truth, hidden = random.normal(), random.normal()
        letters = 0.9 * (truth + noise) if kind != "nothing" else truth
        log_odds = {"nothing": truth, "certainty": truth}.get(
            kind, 1.8 * truth + (1.8 * hidden if kind == "states" else 0)
        )
        of_a.append(1 / (1 + math.exp(-log_odds)))
        label = "a" if random.random() < of_a[-1] else "b"
        letters = {"nothing": truth, "certainty": 4 * truth}.get(kind, letters)
        scores = truth + random.normal() if kind in ("verdicts", "states") else random.normal()
        case = Case(
            id=f"{number:05}", query=f"q{number // IN_GROUP}", candidates=[{"text": "x"}, {"text": "yy"}],
            label=Winner(value=label), group=f"g{number // IN_GROUP}",
        )  # fmt: skip
        p = 1 / (1 + math.exp(-letters))
        findings = [
            Finding(criterion="letters", distribution={"a": p, "b": 1 - p}),
            Finding(criterion="scores", scores=(3 + scores, 3.0)),
        ]
        read = random.normal(size=(2, WIDTH))
        read[:, 0] += np.array([hidden, -hidden])
        cases.append(case)
        verdicts.append(Judged.of(case, of_letters(case, findings)))
        vectors.append({"state": read.astype(np.float32)})
    return Drawn(cases, verdicts, vectors, np.array(of_a))


def of_letters(case: Case, findings: Sequence[Finding]) -> Verdict:
    """The verdict of the letters; the scores are evidence that the uncompiled judge does not use."""
    return verdict_of(case, [findings[0]]).model_copy(update={"findings": tuple(findings)})


def claims_between(
    compiled: Sequence[Judged],
    uncompiled: Sequence[Judged],
    final: Sequence[Judged],
    order: Mapping[str, float] | None = None,
) -> tuple[Claim, ...]:
    assert ACCURACY.case_values is not None
    arrays = [run_arrays(verdicts) for verdicts in (compiled, uncompiled)]
    hits = [ACCURACY.case_values(run) for run in arrays]
    test = mean_test("accuracy", hits[0], hits[1], arrays[0].group, 0, "")  # as `compare` has it of pairs in groups
    comparison = RunComparison(first="", second="", cases=len(final), only_first=0, only_second=0, tests=(test,))
    return claims_of(compiled, uncompiled, ACCURACY, comparison, final=final, order=order)


def differences(compiled: Sequence[Judged], uncompiled: Sequence[Judged], of_a: Floats) -> dict[str, float]:
    """The compiled judge's figure less the uncompiled judge's, under the probabilities of the labels."""
    figures = []
    for verdicts in (compiled, uncompiled):
        said_a = np.array([judged.winner == "a" for judged in verdicts])
        right = np.where(said_a, of_a, 1 - of_a)
        stated = np.array([[(judged.distribution or {}).get(name, 0.0) for name in "ab"] for judged in verdicts])
        a, b = -np.log(np.clip(stated, LEAST_PROBABILITY, 1)).T
        certainty = np.array([judged.certainty or 0.0 for judged in verdicts])
        order = np.argsort(-certainty, kind="stable")
        area = float(np.mean(np.cumsum(1 - right[order]) / np.arange(1, len(right) + 1)))
        figures.append((float(right.mean()), float((of_a * a + (1 - of_a) * b).mean()), area))
    return {of: after - before for of, after, before in zip(MEASURED, *figures, strict=True)}


def world(kind: str, n: int, seed: int, new: Drawn) -> dict[str, Any]:
    """One compilation: claims by all labels and by the test half of a split, and their truths."""
    random = np.random.default_rng([seed, n, WORLDS.index(kind)])
    data = drawn(kind, n, random)
    has_states = kind == "states"

    def fitted(part: Drawn) -> HeadFit:
        more: Mapping[str, Any] = {"sources": {"state": SOURCE}, "vectors": part.vectors} if has_states else {}
        return fit(part.cases, part.verdicts, **more)

    def judged(head: Head, among: Drawn) -> list[Judged]:
        rows = zip(among.cases, among.verdicts, among.vectors, strict=True)
        return [Judged.of(case, head(case, verdict, read if has_states else None)) for case, verdict, read in rows]

    whole = fitted(data)
    out_of_fold = [Judged.of(case, verdict) for case, verdict in zip(data.cases, whole.crossfitted, strict=True)]
    order = ranked_out_of_fold(data.cases, data.verdicts, whole.without, data.vectors if has_states else None)
    claims = claims_between(out_of_fold, data.verdicts, judged(whole.head, data), order)
    row: dict[str, Any] = {"kind": kind, "n": n, "seed": seed, "outcome": outcome_of(claims, ())}
    row["cross-fitted"] = {claim.of: shown(claim) for claim in claims}
    row["truth"] = differences(judged(whole.head, new), new.verdicts, new.of_a)
    if has_states or seed % 4:  # the split is only compared with
        return row
    half = n // 2 // IN_GROUP * IN_GROUP
    test = data.part(slice(half, n))
    tested = judged(fitted(data.part(slice(0, half))).head, test)
    row["split"] = {claim.of: shown(claim) for claim in claims_between(tested, test.verdicts, tested)}
    return row


def shown(claim: Claim) -> dict[str, Any]:
    """The test of a claim as plain numbers."""
    difference = claim.test.difference if claim.test else None
    ends = {} if difference is None else {"value": difference.value, "low": difference.low, "high": difference.high}
    return {"state": claim.state, "p": claim.test.p if claim.test else None, **ends}


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line a world and size: coverage, false claims, power."""
    columns = [f"{of}: {column}" for of in MEASURED for column in ("truth", "covered", "improved", "worse")]
    yield f"| world | labels | worlds | estimate | {' | '.join(columns)} |"
    yield "| --- " * (4 + len(columns)) + "|"
    for kind in WORLDS:
        for n in SIZES:
            some = [row for row in rows if row["kind"] == kind and row["n"] == n]
            for way in [way for way in ("cross-fitted", "split") if any(way in row for row in some)]:
                have = [row for row in some if way in row]
                cells = [kind, str(n), str(len(have)), way]
                for of in MEASURED:
                    truths = [row["truth"][of] for row in have]
                    cells.append(f"{np.mean(truths):+.3f}")
                    known = [(row[way].get(of, {}), truth) for row, truth in zip(have, truths, strict=True)]
                    covered = [
                        claim["low"] <= truth <= claim["high"]
                        for claim, truth in known
                        if claim.get("low") is not None and claim.get("high") is not None
                    ]
                    cells.append(f"{np.mean(covered):.3f} ({len(covered)})" if covered else "-")
                    states = [claim.get("state") for claim, _ in known]
                    cells += [f"{np.mean([state == name for state in states]):.3f}" for name in ("improved", "worse")]
                yield "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--kinds", nargs="*", default=WORLDS, choices=WORLDS)
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--out", type=Path, help="rows are appended; those that it holds are not drawn again")
    parser.add_argument("--show", type=Path)
    options = parser.parse_args()
    if options.show is None:
        done = set()
        if options.out and options.out.exists():
            lines = map(json.loads, options.out.read_text().splitlines())
            done = {(row["kind"], row["n"], row["seed"]) for row in lines}
        new_pairs = {kind: drawn(kind, FRESH, np.random.default_rng(99)) for kind in options.kinds}
        rows, start = [], time.process_time()
        for seed in range(options.first, options.first + options.worlds):
            for kind in options.kinds:
                for n in options.sizes:
                    if (kind, n, seed) in done or (kind == "states" and (seed % 2 or n == 60)):
                        continue
                    row = world(kind, n, seed, new_pairs[kind])
                    rows.append(row)
                    if options.out:
                        with options.out.open("a") as file:
                            file.write(json.dumps(row) + "\n")
            print(f"{seed + 1} of {options.worlds}, {time.process_time() - start:.0f} s", flush=True)
    if options.show or options.out:
        rows = [json.loads(line) for line in (options.show or options.out).read_text().splitlines()]
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
