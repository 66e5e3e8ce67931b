"""The personalised judge (Dong et al. 2024, arXiv 2406.11657): four judges of four sets, runs of its repository.

Whose denominators the tables have is nowhere written; the printed figures are had thus: without the option of a tie
from the answers that name a response, with it from all rows, answers that could not be read counting as wrong.
Rows with a `quality_flag` are kept, for the source kept them: its PRISM rows whose gold is a tie show the responses of
the previous question. A certainty that is missing counts as 0, as in the source's notebook.

Of runs without recorded rows the notebook printed how many answers are of high and of low certainty, and shares to
three decimals: those are the `aggregates`. Its counts of correct answers are int(n x rounded share), at times one too
few, and are not used.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from ..stats.proportions import Proportion
from ..stats.selective import high_low
from .recorded import Preference, read
from .table import Basis, Figure, Printed, rounds_to

FILES = ("personalized_judge/judgments.jsonl", "personalized_judge/notebook_aggregates.jsonl")
SETS = {
    "personalized_pr": "PR",
    "personalized_prism": "PRISM",
    "personalized_opinionqa": "OpinionQA",
    "personalized_ec": "EC",
}
DIGITS = 3  # of every share that the notebook prints
THRESHOLD = 80  # certainty of 100: at or above is high
Dataset = Literal["personalized_pr", "personalized_prism", "personalized_opinionqa", "personalized_ec"]
Run = tuple[str, str, str]  # set, setting, judge


class Judged(Preference):
    """One verdict for one person."""

    dataset_id: Dataset


class Aggregate(BaseModel):
    """What the notebook printed of one run."""

    dataset_id: Dataset
    setting: str
    judge: str
    overall_acc: float
    high_n: int = Field(ge=0)
    high_acc: float
    low_n: int = Field(ge=0)
    low_acc: float
    per_item_file_available: bool

    @property
    def run(self) -> Run:
        return SETS[self.dataset_id], self.setting, self.judge


def accuracy(root: Path) -> dict[str, Figure]:
    """Table 1: `<set>[ with tie], <judge>`."""
    found = {
        _cell(run): Figure(one.overall_acc, one.high_n + one.low_n, basis="aggregates") for run, one in _printed(root)
    }
    for run, rows in _runs(root).items():
        with_tie = run[1] == "with_tie"
        found[_cell(run)] = Figure.share(_share([row for row in rows if with_tie or _names_a_response(row)]))
    return found


def certainty(root: Path) -> dict[str, Figure]:
    """Table 2: `<set>, <judge>, <high or low>: <accuracy, cases or correct>`, with all features of the person."""
    found: dict[str, Figure] = {}
    for run, one in _printed(root):
        if run[1] == "all_features":
            for side, share, n in (("high", one.high_acc, one.high_n), ("low", one.low_acc, one.low_n)):
                correct = _only_count(share, n)
                found |= _group(f"{_cell(run)}, {side}", Figure(share, n, basis="aggregates"), correct, "aggregates")
    for run, rows in _runs(root).items():
        if run[1] == "all_features":
            for side, part in _by_certainty(rows):
                found |= _group(f"{_cell(run)}, {side}", Figure.share(part), part.hits, "items")
    return found


def without_persona(root: Path) -> dict[str, Figure]:
    """Table 3, its line without a persona: `<set>, no persona`; the released runs are Command R+'s."""
    return {
        f"{run[0]}, no persona": Figure.share(_share([row for row in rows if _names_a_response(row)]))
        for run, rows in _runs(root).items()
        if run[1] == "no_persona"
    }


def notebook(root: Path) -> dict[str, Figure]:
    """`<set>, <setting>, <judge>: <statistic>` of every run whose rows are recorded."""
    found: dict[str, Figure] = {}
    for run, rows in _runs(root).items():
        found[f"{', '.join(run)}: accuracy"] = Figure.share(_share([row for row in rows if _names_a_response(row)]))
        for side, part in _by_certainty(rows):
            found |= _group(f"{', '.join(run)}: {side}", Figure.share(part), part.hits, "items")
    return found


def notebook_printed(root: Path) -> dict[str, Printed]:
    """The same figures as the notebook printed them; no share of no cases."""
    found: dict[str, Printed] = {}
    for run, one in _printed(root):
        if one.per_item_file_available:
            name = ", ".join(run)
            found[f"{name}: accuracy"] = Printed(one.overall_acc, DIGITS)
            for side, share, n in (("high", one.high_acc, one.high_n), ("low", one.low_acc, one.low_n)):
                found[f"{name}: {side}: cases"] = Printed(n, 0)
                if n:
                    found[f"{name}: {side}: accuracy"] = Printed(share, DIGITS)
    return found


def _printed(root: Path) -> Iterator[tuple[Run, Aggregate]]:
    return ((one.run, one) for one in read(root / FILES[1], Aggregate))


def _runs(root: Path) -> dict[Run, list[Judged]]:
    runs: dict[Run, list[Judged]] = {}
    for row in read(root / FILES[0], Judged):
        runs.setdefault((SETS[row.dataset_id], row.setting, row.judge), []).append(row)
    return runs


def _cell(run: Run) -> str:
    """A cell of Table 1; a run that is in no cell keeps its setting in the name."""
    name, setting, judge = run
    told = {"all_features": "", "with_tie": " with tie"}.get(setting, f" {setting}")
    return f"{name}{told}, {judge}"


def _names_a_response(row: Judged) -> bool:
    return row.prediction in ("a", "b")


def _share(rows: list[Judged]) -> Proportion:
    return Proportion(sum(row.prediction == row.label for row in rows), len(rows))


def _by_certainty(rows: list[Judged]) -> Iterator[tuple[str, Proportion]]:
    rows = [row for row in rows if _names_a_response(row)]
    sure = np.array([(row.certainty or 0.0) / 100 for row in rows])
    split = high_low(sure, np.array([row.prediction == row.label for row in rows], dtype=bool), THRESHOLD / 100)
    yield "high", split.high
    yield "low", split.low


def _group(name: str, share: Figure, correct: float, basis: Basis) -> dict[str, Figure]:
    return {
        f"{name}: accuracy": share,
        f"{name}: cases": Figure.count(share.n, basis),
        f"{name}: correct": Figure(correct, share.n, basis=basis),
    }


def _only_count(share: float, n: int) -> float:
    """How many of n are correct where a rounded share leaves one count; NaN where it leaves several."""
    slack = n * 10.0**-DIGITS
    near = range(max(0, math.floor(share * n - slack)), min(n, math.ceil(share * n + slack)) + 1) if n else ()
    fits = [hits for hits in near if rounds_to(hits / n, share, DIGITS)]
    return fits[0] if len(fits) == 1 else math.nan
