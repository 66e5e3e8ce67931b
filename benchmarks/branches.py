"""A fennec run by the number of its branches: agreement, consistency and accuracy for the first 1, 2, ... criteria.

    dicast judge --judge fennec --cases pandalm --branches 5 --out runs/five
    python benchmarks/branches.py runs/five
    python benchmarks/branches.py runs/five --json

Nothing is asked again: the verdicts are merged anew from the run's findings. Criteria are asked for once, with
count = N, so n means the model's first n of those; a case with fewer has all of its own. All lines are of the same
pairs: their intervals say how sure each figure is, not whether two of them differ. "without ties" leaves out the pairs
that people call a tie.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from dicast.data import Judged
from dicast.engines.runner import read_manifest, read_verdicts
from dicast.errors import DicastError
from dicast.evaluation import Proportion, Tally, human_winner
from dicast.programs.sweep import criteria, first_branches

MEASURES = ("agreement", "consistency", "accuracy")


def sweep(run: list[Judged], **rules: float) -> list[tuple[int, Tally]]:
    """For n = 1, 2, ...: how many pairs have n criteria, and the tally of the verdicts that the first n give."""
    found = [len(criteria(judged)) for judged in run]
    rows = []
    for n in range(1, max(found, default=0) + 1):
        tally = Tally()
        for judged in run:
            tally.add(first_branches(judged, n, 2, **rules))
        rows.append((sum(count >= n for count in found), tally))
    return rows


def read_run(folder: Path) -> tuple[list[Judged], dict[str, float]]:
    """The pairs of a run and its rules of merging.

    Raises:
        DicastError: no run, or one whose verdicts are not the merge of their findings.
    """
    settings = read_manifest(folder)["identity"]["settings"]
    rules = {"tie_threshold": float(settings.get("tie_threshold", 0.0))}
    run = list(read_verdicts(folder))
    scored = [judged for judged in run if judged.status == "scored"]
    if not scored:
        raise DicastError(f"{folder}: no pair has a verdict.")
    for judged in scored:
        found = len(criteria(judged))
        merged = found and isinstance(judged.winner, str) and first_branches(judged, found, 2, **rules).winner
        if merged != judged.winner:
            raise DicastError(f"{folder}: {judged.case_id!r} is no pair merged from criteria. Give a run of fennec.")
    return run, rules


def told(share: Proportion) -> str:
    low, high = share.interval
    return f"{share.value:.3f} [{low:.3f}, {high:.3f}]" if share.n else "-"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN_FOLDER")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    try:
        run, rules = read_run(given.run)
    except (DicastError, OSError) as error:
        sys.exit(f"branches: {error}")
    untied = [judged for judged in run if human_winner(judged) != "tie"]
    tables = {"all": sweep(run, **rules), "without ties": sweep(untied, **rules)}
    if given.json:
        print(json.dumps({"run": str(given.run), **{name: as_json(rows) for name, rows in tables.items()}}))
        return
    for name, rows in tables.items():
        tally = rows[-1][1] if rows else Tally()
        print(f"{name}: {tally.accuracy.n} labelled pairs with a verdict, {tally.cases - tally.scored} without")
        print(f"  {'n':>2} {'pairs with n':>12}  " + "  ".join(f"{measure:<20}" for measure in MEASURES).rstrip())
        for n, (full, tally) in enumerate(rows, start=1):
            shares = "  ".join(f"{told(getattr(tally, measure)):<20}" for measure in MEASURES).rstrip()
            print(f"  {n:>2} {full:>12}  {shares}")


def as_json(rows: list[tuple[int, Tally]]) -> list[dict[str, Any]]:
    return [
        {"n": n, "full": full, **{measure: getattr(tally, measure).as_dict() for measure in MEASURES}}
        for n, (full, tally) in enumerate(rows, start=1)
    ]


if __name__ == "__main__":
    main()
