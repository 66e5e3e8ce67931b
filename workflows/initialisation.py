"""A file of somebody's labels as a project: looked at, guessed, read once as cases, and written down as dicast.toml."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..data import Case, Rejects, Scores
from ..data.exports import export_of, unfolded
from ..data.guessing import MOST_ROWS, Column, Guess, OpenQuestion, guess, read_columns
from ..data.guessing.joined_rows import annotator_of, joining_columns
from ..data.layout import Columns, Layout
from ..data.readers import parsed_rows
from ..data.row_fields import Row
from ..data.sheet_rows import sheet_names
from ..errors import DataError, DeclarationError
from ..parsing import find_encoding, kind_of_special
from .case_source import NO_ROW
from .project import LABEL_FIELDS, Project

TEXTS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
SHEETS = (".xlsx", ".xlsm")
MOST_JOINED = 1 << 29  # bytes of a file whose rows are joined, in memory


@dataclass(frozen=True)
class Labelled:
    """What the cases are, of those that were read.

    Attributes:
        cases: how many.
        labels: label -> cases; "none" without one, "a score" for numbers.
        groups: inputs or other groups, which a split does not divide.
        voted: cases with several votes.
        agreed: of them with one and the same vote.
        bad: rows that cannot be read.
        first_bad: what is wrong with the first of them.
        is_part: whether the file has more rows than were read.
    """

    cases: int
    labels: Mapping[str, int]
    groups: int
    voted: int
    agreed: int
    bad: int
    first_bad: str
    is_part: bool


@dataclass
class Examined:
    """A file and how it is read.

    Attributes:
        guess: its columns; a question where two readings are equally good.
        project: what dicast.toml will hold; None with a question.
        labelled: its cases; None with a question.
        file: what the file is, as in "300 rows, 8 columns, cp1252".
    """

    path: Path
    guess: Guess | OpenQuestion
    columns: dict[str, Column] = field(default_factory=dict)
    file: list[str] = field(default_factory=list)
    joined: str = ""
    project: Project | None = None
    labelled: Labelled | None = None


def examine(
    path: str | Path,
    *,
    fields: Mapping[str, Columns] | None = None,
    values: Mapping[str, str] | None = None,
    sheet: str = "",
    encoding: str = "",
    scale: str = "",
    lm: str = "",
) -> Examined:
    """Look at a file of labels, and read its cases as they are understood.

    Args:
        fields: our field -> their columns, where that is known already.
        values: their word of a label -> ours.
        sheet: of a workbook.
        encoding: of a text file.
        scale: of scores, as in "1..5".
        lm: for the project.

    Raises:
        DataError: the file cannot be read, has no label, or labels that fit nothing.
        DeclarationError: a library that reads the format is not installed.
    """
    file = Path(path)
    described, layout = _looked_at(file, sheet, encoding)
    first = next(
        (row for _, row, problem in parsed_rows(str(file), layout) if not problem and isinstance(row, dict)), None
    )
    if first is None:
        raise DataError(NO_ROW.format(file))
    layout = replace(layout, export=export_of(first))
    columns = read_columns(_rows(file, layout))
    rows = next(iter(columns.values())).rows
    more = "" if rows < MOST_ROWS else " looked at, the first of the file"
    described = [f"{rows:,} rows{more}", f"{len(columns)} columns", *described]
    if layout.export:
        described.append(f"an export of {layout.export}")
    try:
        guessed = guess(columns, fields=fields, values=values)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    examined = Examined(file, guessed, columns, described)
    if isinstance(guessed, OpenQuestion):
        return examined
    join, examined.joined = joining_columns(guessed, columns, _rows(file, layout))
    if join and file.stat().st_size > MOST_JOINED:
        raise DataError(f"{file}: rows of more than {MOST_JOINED >> 20} MiB are not joined. Sort out the cases first.")
    _settle(guessed, join, columns)
    low, high = guessed.scale
    examined.project = Project(
        data=str(file),
        lm=lm,
        scale=scale or f"{low:g}..{high:g}",
        export=layout.export,
        encoding=layout.encoding,
        sheet=layout.sheet,
        join=join,
        fields={ours: "" if theirs == () else theirs for ours, theirs in guessed.fields.items() if ours != theirs},
        values=guessed.values,
    )
    is_labelled = bool({*LABEL_FIELDS, "chosen"} & guessed.fields.keys())
    examined.labelled = _labelled(examined.project, is_labelled=is_labelled)
    return examined


def _settle(guessed: Guess, join: tuple[str, ...], columns: Mapping[str, Column]) -> None:
    """What joining changes: the column that numbers cases is their id, and no group; labels are votes."""
    if not join:
        return
    annotator = annotator_of(guessed, columns)
    guessed.unused = [name for name in guessed.unused if name != annotator]
    summed = "their mean" if guessed.kind == "scores" else "what most of them chose"
    guessed.notes.append(f"the label of a case is {summed}")
    identity = join[0] if len(join) == 1 or guessed.fields.get("aspect") in join else ""
    if identity in guessed.unused or guessed.fields.get("group") == identity:
        guessed.unused = [name for name in guessed.unused if name != identity]
        if guessed.fields.get("group") == identity:
            del guessed.fields["group"]
        if identity not in guessed.fields.values():
            guessed.fields["id"] = identity
            guessed.evidence["id"] = "equal on all rows of a case"


def check_readable(path: Path) -> None:
    """Raises DataError for a path that is no file, or an empty one."""
    if kind := kind_of_special(path):
        raise DataError(f"{path}: is {kind}, and a file is read more than once. Save it as a file.")
    if path.is_dir() or not path.exists():
        reason = "is a folder" if path.is_dir() else "there is no such file"
        raise DataError(f"{path}: {reason}. Give a .csv, .tsv, .xlsx, .json, .jsonl or .parquet file.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: is empty. Export it again.")


def _looked_at(path: Path, sheet: str, encoding: str) -> tuple[list[str], Layout]:
    """What the file is beside its rows, and how its bytes are read."""
    check_readable(path)
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in SHEETS:
        names = sheet_names(path)
        other = f", not {', '.join(name for name in names if name != (sheet or names[0]))}" if len(names) > 1 else ""
        return [f"sheet {sheet or names[0]}{other}"] if other else [], Layout(sheet=sheet)
    if suffix not in TEXTS:
        return [], Layout()
    word = ""
    if not encoding:
        encoding, word = find_encoding(path)
    spelt = f' (as in "{word}")' if word else ""
    return [f"{encoding}{spelt}"] if encoding else [], Layout(encoding=encoding)


def _rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The first rows, flat; bad ones are left out."""
    rows = (row for _, row, problem in parsed_rows(str(path), layout) if not problem and isinstance(row, dict))
    return (unfolded(row, layout.export) for row in islice(rows, MOST_ROWS))


def _labelled(project: Project, *, is_labelled: bool) -> Labelled:
    """Read the cases, as every verb will."""
    labels, groups = Counter[str](), set[str]()
    cases = voted = agreed = 0
    with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects.jsonl") as rejects:
        read = project.source().cases(rejects)
        for case in islice(read, MOST_ROWS):
            cases += 1
            labels[_label(case)] += 1
            groups.add(case.split_key)
            if len(case.votes) > 1:
                voted += 1
                agreed += len({_value(vote) for vote in case.votes}) == 1
        is_part = cases == MOST_ROWS and next(read, None) is not None
        bad, first_bad = rejects.count, rejects.first
    if not cases:
        raise DataError(f"{project.data}: no row can be read as a case: {first_bad}")
    if is_labelled and not labels.keys() - {"none"}:
        raise DeclarationError(f"{project.data}: no case has a label.")
    return Labelled(cases, dict(labels.most_common()), len(groups), voted, agreed, bad, first_bad, is_part)


def _label(case: Case) -> str:
    if case.label is None:
        return "none"
    return "a score" if isinstance(case.label, Scores) else str(case.label.answer)


def _value(vote: Any) -> object:
    return vote.values if isinstance(vote, Scores) else vote.answer
