"""The verdicts that compiling changed, case by case: which became right, which became wrong, which stayed wrong.

What is right is decided where the test of accuracy decides it (`evaluation.paired_answers`), so that the counts here
are those of the test. Scores of single texts are neither right nor wrong: a text counts where its place among all
texts came nearer to its place among people's scores, or went farther from it, by more than a tenth.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field

from ..data import Judged
from ..data.case import Record
from ..engines.jsonl import rewriting
from ..errors import RunError
from ..evaluation.disagreements import places
from ..evaluation.join import join
from ..evaluation.paired_answers import paired_answers
from ..evaluation.run_arrays import Floats, RunArrays, run_arrays
from ..parsing import parse_record_json

FILE = "changed.jsonl"  # in the folder of a compilation
Change = Literal["became right", "became wrong", "changed, still wrong", "nearer", "farther"]
FAR = 0.1  # of all texts, between a place before and after


class ChangedVerdict(Record):
    """A case whose verdict compiling changed: a line of `changed.jsonl`."""

    change: Change = Field(description="against the human label")
    before: Judged = Field(description="the verdict of the uncompiled judge")
    after: Judged = Field(description="that of the compiled judge, as it was tested")


class Changes(Record):
    """How many verdicts compiling changed."""

    n: int = Field(description="labelled cases that both judges answered")
    right: int = Field(default=0, description="verdicts that were right and stay right; 0 of scores")
    counts: dict[Change, int] = Field(default={}, description="changed verdicts by what became of them")

    @property
    def changed(self) -> int:
        return sum(self.counts.values())


def changes_of(compiled: Sequence[Judged], uncompiled: Sequence[Judged]) -> tuple[Changes, dict[str, Change]]:
    """How many verdicts of the same cases changed, and what became of each, by case id."""
    first, second = join([("compiled", run_arrays(compiled)), ("uncompiled", run_arrays(uncompiled))]).runs
    answered = paired_answers(first, second)
    if answered.first.n:
        ours, theirs = answered.credits
        pairs = zip(answered.first.ids, ours.tolist(), theirs.tolist(), answered.differ.tolist(), strict=True)
        kinds = {name: kind for name, after, before, differ in pairs if (kind := _kind(after, before, differ))}
        return _counted(answered.first.n, kinds, int(((ours == 1) & (theirs == 1)).sum())), kinds
    rated = ~(np.isnan(first.score) | np.isnan(second.score) | np.isnan(first.human_score))
    first, second = first.rows(rated), second.rows(rated)
    moved = _misplaced(second) - _misplaced(first)  # above 0: nearer to people
    kinds = {
        name: "nearer" if by > 0 else "farther"
        for name, by in zip(first.ids, moved.tolist(), strict=True)
        if abs(by) > FAR
    }
    return _counted(first.n, kinds), kinds


def changed_verdicts(compiled: Sequence[Judged], uncompiled: Sequence[Judged]) -> Iterator[ChangedVerdict]:
    """The changed verdicts, in the order of the compiled ones."""
    kinds, before = changes_of(compiled, uncompiled)[1], {judged.case_id: judged for judged in uncompiled}
    for judged in compiled:
        if judged.case_id in kinds:
            change, other = kinds[judged.case_id], before[judged.case_id]
            yield ChangedVerdict(change=change, before=other, after=judged)


def write_changed(folder: Path, rows: Iterable[ChangedVerdict]) -> None:
    """Write the file of a compilation's changed verdicts whole; raises RunError where that is not possible."""
    with rewriting(folder / FILE) as file:
        for row in rows:
            file.write(row.model_dump_json().encode() + b"\n")


def read_changed(folder: Path) -> tuple[ChangedVerdict, ...]:
    """The changed verdicts of a compilation; none of one of an earlier version, or without any.

    Raises:
        RunError: a damaged line.
    """
    path = folder / FILE
    if not path.is_file():
        return ()
    with path.open("rb") as lines:
        return tuple(
            parse_record_json(
                ChangedVerdict, line, f"{path} line {number}: not a changed verdict", error=RunError,
                advice="Delete the file; the page then shows no verdicts.",
            )
            for number, line in enumerate(lines, start=1)
        )  # fmt: skip


def _kind(after: float, before: float, differ: bool) -> Change | None:
    if after != before:
        return "became right" if after > before else "became wrong"
    return "changed, still wrong" if differ else None


def _counted(n: int, kinds: dict[str, Change], right: int = 0) -> Changes:
    names = list(kinds.values())
    return Changes(n=n, right=right, counts={kind: names.count(kind) for kind in dict.fromkeys(sorted(names))})


def _misplaced(run: RunArrays) -> Floats:
    """(n,) how far each text's place among the judge's scores is from its place among people's, of its aspect."""
    far = np.zeros(run.n)
    for code in np.unique(run.aspect):
        rows = run.aspect == code
        far[rows] = np.abs(places(run.score[rows]) - places(run.human_score[rows]))
    return far
