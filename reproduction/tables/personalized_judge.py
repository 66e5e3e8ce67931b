"""The personalised judge (Dong et al. 2024, arXiv 2406.11657): four judges of four sets, runs of its repository.

The paper does not define the denominators. The printed values result from these: without the option of a tie, the
answers that name a response; with it all rows, where an answer that could not be parsed is wrong. Rows with a
`quality_flag` are included, as in the source: its PRISM rows whose gold is a tie show the responses of the previous
question. A missing certainty counts as 0, as in the source's notebook.

For runs without recorded rows the notebook printed the numbers of answers with high and with low certainty, and
proportions to three decimals: the `aggregates`. Its counts of correct answers are int(n x rounded proportion), which is
sometimes too small by 1, and are not used. The repository has the rows of these runs too, in files of 4 MiB and more: a
file that a user copies into `personalized_judge/outputs` takes the place of its run's aggregates.

Of table 2 the paper's printed values are known for 6 of 32 cells, of tables 3 and 4 (parts of the persona) for none;
the others are the notebook's, which prints every run, and are compared only with rows.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel, Field

from ...stats.proportions import Proportion
from ...stats.selective import split_at_threshold
from ..comparison import Basis, PublishedValue, Recomputed, rounds_to
from ..published import publications, register
from ..recorded import Letter, RecordedPreference, read

OUTPUTS = "personalized_judge/outputs"  # a user's copy of files of the repository, by run
NOTEBOOK = " (notebook)"  # after the name of a value that the notebook prints
PARTS = ("key_features", "least_imp_feature")  # of a persona: tables 3 and 4
FILES = ("personalized_judge/judgments.jsonl", "personalized_judge/notebook_aggregates.jsonl")
SETS = {
    "personalized_pr": "PR",
    "personalized_prism": "PRISM",
    "personalized_opinionqa": "OpinionQA",
    "personalized_ec": "EC",
}
DIGITS = 3  # of every proportion that the notebook prints
THRESHOLD = 80  # certainty of 100: at or above is high
LETTERS: dict[str, Letter] = {"A": "a", "B": "b", "C": "tie"}
Dataset = Literal["personalized_pr", "personalized_prism", "personalized_opinionqa", "personalized_ec"]
Run = tuple[str, str, str]  # set, setting, judge


class PersonaJudgment(RecordedPreference):
    """One verdict for one persona."""

    dataset_id: Dataset


class RunRow(BaseModel):
    """One row of a run as the repository has it."""

    answer: str | bool = Field(description="A, B or C; anything else could not be parsed")
    ground_truth: Literal["A", "B", "C"]
    certainty: str | int | float | bool | None = None

    def judgment(self, aggregate: "Aggregate", number: int) -> PersonaJudgment:
        """The row as a recorded judgment of its run."""
        stated = str(self.certainty)
        return PersonaJudgment(
            dataset_id=aggregate.dataset_id,
            item_id=str(number),
            judge=aggregate.judge,
            setting=aggregate.setting,
            prediction=LETTERS.get(str(self.answer)),
            label=LETTERS[self.ground_truth],
            certainty=min(float(stated), 100.0) if stated.isdecimal() else None,
        )


class Aggregate(BaseModel):
    """The printed values of one run in the notebook."""

    run_file: str = Field(validation_alias="run", default="", description="name of the run's file, without ending")
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

    @property
    def file(self) -> str:
        """Where a user's copy of the run's rows is looked for."""
        return f"{OUTPUTS}/{self.run_file}.jsonl"

    @property
    def missing(self) -> str:
        """Why a value cannot be recomputed without the run's rows."""
        return f"{self.file} is not there; the repository has it in its folder outputs"

    def published(self, name: str) -> dict[str, PublishedValue]:
        """The printed values, each after `name`; proportions over zero cases are omitted."""
        values = {f"{name}accuracy": PublishedValue(self.overall_acc, DIGITS)}
        for side, proportion, n in (("high", self.high_acc, self.high_n), ("low", self.low_acc, self.low_n)):
            values[f"{name}{side}: cases"] = PublishedValue(n, 0)
            if n:
                values[f"{name}{side}: accuracy"] = PublishedValue(proportion, DIGITS)
        return values


def accuracy(root: Path) -> dict[str, Recomputed]:
    """Table 1: `<set>[ with tie], <judge>`."""
    values = {
        _cell(run): Recomputed(aggregate.overall_acc, aggregate.high_n + aggregate.low_n, basis="aggregates")
        for run, aggregate in _printed(root)
    }
    for run, rows in _runs(root).items():
        with_tie = run[1] == "with_tie"
        values[_cell(run)] = Recomputed.proportion(
            _proportion([row for row in rows if with_tie or _names_a_response(row)])
        )
    return values


def certainty(root: Path) -> dict[str, Recomputed]:
    """Table 2: `<set>, <judge>, <high or low>: <accuracy, cases or correct>`, with all features of the persona."""
    values: dict[str, Recomputed] = {}
    for run, aggregate in _printed(root):
        if run[1] == "all_features":
            for side, proportion, n in (
                ("high", aggregate.high_acc, aggregate.high_n),
                ("low", aggregate.low_acc, aggregate.low_n),
            ):
                correct = _only_count(proportion, n)
                name = f"{_cell(run)}, {side}"
                values |= _group(name, Recomputed(proportion, n, basis="aggregates"), correct, "aggregates")
                values |= {name + NOTEBOOK: value for name, value in _missing(name, aggregate).items()}
    for run, rows in _runs(root).items():
        if run[1] == "all_features":
            for side, part in _by_certainty(rows):
                group = _group(f"{_cell(run)}, {side}", Recomputed.proportion(part), part.hits, "items")
                values |= group | {name + NOTEBOOK: value for name, value in group.items()}
    return values


def published_certainty(root: Path) -> dict[str, PublishedValue]:
    """The paper's values, then those that the notebook prints of the other cells."""
    values = dict(publications()["personalized-judge-table-2"].published_values())
    for run, aggregate in _printed(root):
        if run[1] == "all_features" and f"{_cell(run)}, low: cases" not in values:
            printed = aggregate.published(_cell(run) + ", ")
            values |= {name + NOTEBOOK: value for name, value in printed.items() if "high" in name or "low" in name}
    return values


def features(root: Path) -> dict[str, Recomputed]:
    """Tables 3 and 4: `<set>, <part of the persona>, <judge>: <statistic>`."""
    values: dict[str, Recomputed] = {}
    for run, aggregate in _printed(root):
        name = ", ".join(run)
        values[f"{name}: accuracy"] = Recomputed(math.nan, 0, why=aggregate.missing)
        for side in ("high", "low"):
            values |= _missing(f"{name}: {side}", aggregate)
    return values | notebook(root)


def published_features(root: Path) -> dict[str, PublishedValue]:
    """What the notebook prints of runs with a part of the persona."""
    values: dict[str, PublishedValue] = {}
    for run, aggregate in _printed(root):
        if run[1] in PARTS:
            values |= aggregate.published(", ".join(run) + ": ")
    return values


def without_persona(root: Path) -> dict[str, Recomputed]:
    """Appendix A.5: `<set>, no persona`; the released runs are Command R+'s."""
    return {
        f"{run[0]}, no persona": Recomputed.proportion(_proportion([row for row in rows if _names_a_response(row)]))
        for run, rows in _runs(root).items()
        if run[1] == "no_persona"
    }


def notebook(root: Path) -> dict[str, Recomputed]:
    """`<set>, <setting>, <judge>: <statistic>` of every run with recorded rows."""
    values: dict[str, Recomputed] = {}
    for run, rows in _runs(root).items():
        values[f"{', '.join(run)}: accuracy"] = Recomputed.proportion(
            _proportion([row for row in rows if _names_a_response(row)])
        )
        for side, part in _by_certainty(rows):
            values |= _group(f"{', '.join(run)}: {side}", Recomputed.proportion(part), part.hits, "items")
    return values


def published_notebook(root: Path) -> dict[str, PublishedValue]:
    """The notebook's printed values of the runs with rows."""
    values: dict[str, PublishedValue] = {}
    for run, aggregate in _printed(root):
        if aggregate.per_item_file_available or (root / aggregate.file).is_file():
            values |= aggregate.published(", ".join(run) + ": ")
    return values


def _printed(root: Path) -> Iterator[tuple[Run, Aggregate]]:
    return ((aggregate.run, aggregate) for aggregate in read(root / FILES[1], Aggregate))


def _runs(root: Path) -> dict[Run, list[PersonaJudgment]]:
    runs: dict[Run, list[PersonaJudgment]] = {}
    for row in read(root / FILES[0], PersonaJudgment):
        runs.setdefault((SETS[row.dataset_id], row.setting, row.judge), []).append(row)
    for run, aggregate in _printed(root) if (root / FILES[1]).is_file() else ():
        copy = root / aggregate.file
        if run not in runs and copy.is_file():
            runs[run] = [row.judgment(aggregate, number) for number, row in enumerate(read(copy, RunRow))]
    return runs


def _cell(run: Run) -> str:
    """The name of a cell of table 1; a run outside the table has its setting in the name."""
    name, setting, judge = run
    suffix = {"all_features": "", "with_tie": " with tie"}.get(setting, f" {setting}")
    return f"{name}{suffix}, {judge}"


def _names_a_response(row: PersonaJudgment) -> bool:
    return row.prediction in ("a", "b")


def _proportion(rows: list[PersonaJudgment]) -> Proportion:
    return Proportion(sum(row.prediction == row.label for row in rows), len(rows))


def _by_certainty(rows: list[PersonaJudgment]) -> Iterator[tuple[str, Proportion]]:
    rows = [row for row in rows if _names_a_response(row)]
    sure = np.array([(row.certainty or 0.0) / 100 for row in rows])
    split = split_at_threshold(
        sure, np.array([row.prediction == row.label for row in rows], dtype=bool), THRESHOLD / 100
    )
    yield "high", split.accepted
    yield "low", split.rejected


def _group(name: str, proportion: Recomputed, correct: float, basis: Basis) -> dict[str, Recomputed]:
    return {
        f"{name}: accuracy": proportion,
        f"{name}: cases": Recomputed.count(proportion.n, basis),
        f"{name}: correct": Recomputed(correct, proportion.n, basis=basis),
    }


def _missing(name: str, aggregate: Aggregate) -> dict[str, Recomputed]:
    """The values of a group, of which the run's rows are not there."""
    absent = Recomputed(math.nan, 0, why=aggregate.missing)
    return {f"{name}: {statistic}": absent for statistic in ("accuracy", "cases", "correct")}


def _only_count(proportion: float, n: int) -> float:
    """The number of correct answers of n if the rounded proportion allows only one; else NaN."""
    slack = n * 10.0**-DIGITS
    near = range(max(0, math.floor(proportion * n - slack)), min(n, math.ceil(proportion * n + slack)) + 1) if n else ()
    fits = [hits for hits in near if rounds_to(hits / n, proportion, DIGITS)]
    return fits[0] if len(fits) == 1 else math.nan


register("personalized-judge-table-1", FILES, accuracy)
register("personalized-judge-table-2", FILES, certainty, published_certainty)
register("personalized-judge-tables-3-4", FILES, features, published_features)
register("personalized-judge-no-persona", FILES[:1], without_persona)
register("personalized-judge-notebook", FILES, notebook, published_notebook)
