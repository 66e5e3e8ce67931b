"""How the rows of somebody's file are arranged, and what they say in our words.

A field of ours may take several columns (`votes=anna+ben+chloe`; of `score=tone+depth` each is an aspect, which is a
case by itself) or what is inside a nested value (`query=inputs.question`); labels may have other words; several rows
may be one case, a row for each annotator.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from .category_words import written
from .csv_rows import ParsedRow
from .exports import simple, unfolded
from .row_fields import FieldError, Row, decoded, votes_of

Columns = str | tuple[str, ...]  # of one field: a column, or several; "" for no column, which is an empty text
Fields = Mapping[str, Columns]

LABELS = ("label", "score")
AHEAD = 200  # rows in which a column must occur


@dataclass(frozen=True)
class Layout:
    """How rows are arranged, beside the names of columns.

    Attributes:
        values: a label as the file has it -> ours, as in {"answer_A": "a", "both good": "tie"}; "" for no label.
            Upper and lower case do not count.
        join: columns that have equal values on all rows of one case; () where a row is a case.
        export: the tool that wrote the file, of `exports.EXPORTS`; "" for a plain table.
        encoding: of a text file; "" for UTF-8.
        sheet: of a workbook; "" for the first one.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    join: tuple[str, ...] = ()
    export: str = ""
    encoding: str = ""
    sheet: str = ""


PLAIN = Layout()
ArrangedRow = tuple[int, Any, Row, FieldError | None]  # line, the row as the file has it, in our words, what is wrong


def arrange(rows: Iterator[ParsedRow], fields: Fields, layout: Layout) -> Iterator[ArrangedRow]:
    """The rows in our words, in order; of rows that are joined, each case at the place of its first row.

    Memory: that of a row; all rows where rows are joined.
    """
    if not (fields or layout.values or layout.join or layout.export):
        for line, row, problem in rows:
            yield line, row, row, FieldError("row", row, "", problem) if problem else None
        return
    unfolded_rows = ((line, row if problem else unfolded(row, layout.export), problem) for line, row, problem in rows)
    first = list(islice(unfolded_rows, AHEAD))
    columns = dict.fromkeys(name for _, row, problem in first if not problem for name in row)
    renamer = _Renamer(fields, layout, columns, [row for _, row, problem in first if not problem])
    named = renamer.all(chain(first, unfolded_rows))
    if len(renamer.aspects) > 1:
        named = _by_aspect(named, renamer.aspects)
    yield from _joined(named, layout.join, by_aspect=len(renamer.aspects) > 1) if layout.join else named


def columns_of(theirs: Columns, known: Iterable[str] = ()) -> tuple[str, ...]:
    """The columns that a field takes; a text with + names several, unless a column is called so.

    Example:
        >>> columns_of("anna+ben", ["anna", "ben"]), columns_of("a+b", ["a+b"]), columns_of("")
        (('anna', 'ben'), ('a+b',), ())
    """
    if not isinstance(theirs, str):
        return tuple(theirs)
    if "+" in theirs and theirs not in known:
        return tuple(part.strip() for part in theirs.split("+") if part.strip())
    return (theirs,) if theirs else ()


def value_at(row: Row, column: str) -> Any:
    """The value of a column, or what is inside a nested one at a path such as inputs.question; None without any."""
    if column in row or "." not in column:
        return row.get(column)
    head, _, rest = column.partition(".")
    while rest:
        inner = decoded(row.get(head))
        if isinstance(inner, Mapping):
            return value_at(inner, rest)
        step, _, rest = rest.partition(".")
        head = f"{head}.{step}"
    return None


class _Renamer:
    """Rows to rows with our names and words.

    Args:
        known: the columns of the first rows.
        first: those rows, for paths into nested values.
    """

    def __init__(self, fields: Fields, layout: Layout, known: Mapping[str, Any], first: list[Row]) -> None:
        self.columns = {ours: columns_of(theirs, known) for ours, theirs in fields.items()}
        self.aspects = self.columns.get("score", ())
        self.values = {_key(theirs): ours for theirs, ours in layout.values.items()}
        self.taken = {name for names in self.columns.values() for name in names}
        needed = (name for name in dict.fromkeys((*self.taken, *layout.join)) if name not in known)
        self.missing = next((name for name in needed if all(value_at(row, name) is None for row in first)), None)
        self.known = list(map(str, known))

    def all(self, rows: Iterable[ParsedRow]) -> Iterator[ArrangedRow]:
        for line, row, problem in rows:
            if problem:
                yield line, row, row, FieldError("row", row, "", problem)
            elif self.missing is not None:
                theirs = ", ".join(self.known)[:300]
                error = FieldError("fields", self.missing, f"The rows have no such column; theirs are {theirs}.")
                yield line, row, row, error
            else:
                try:
                    yield line, row, self.named(row), None
                except FieldError as error:
                    yield line, row, row, error

    def named(self, row: Row) -> dict[str, Any]:
        other = {name: value for name, value in row.items() if name not in self.taken}
        ours = other | {name: _cell(name, row, columns) for name, columns in self.columns.items()}
        if self.values:
            for name in LABELS:
                if isinstance(ours.get(name), list):
                    ours[name] = [self._word(value) for value in ours[name]]
                elif name in ours:
                    ours[name] = self._word(ours[name])
            if "votes" in ours:
                ours["votes"] = [
                    word for vote in votes_of(ours["votes"]) if (word := self._word(vote)) not in (None, "")
                ]
        return ours

    def _word(self, value: Any) -> Any:
        if isinstance(value, dict):
            return value | {"label": self._word(value.get("label"))}
        return value if value is None else self.values.get(_key(value), value)


def _by_aspect(rows: Iterable[ArrangedRow], aspects: tuple[str, ...]) -> Iterator[ArrangedRow]:
    """Each row as a row for each column of scores, whose name is the aspect; without the empty cells of a row with
    any."""
    for line, row, named, error in rows:
        scores = named.get("score") if error is None else None
        if not isinstance(scores, list):
            yield line, row, named, error
            continue
        has_any = any(score not in (None, "") for score in scores)
        for aspect, score in zip(aspects, scores, strict=True):
            if not has_any or score not in (None, ""):
                identity = f"{line if named.get('id') in (None, '') else named['id']}/{aspect}"
                yield line, row, {**named, "score": score, "aspect": aspect, "id": identity}, None


def _cell(name: str, row: Row, columns: tuple[str, ...]) -> Any:
    """What a field takes from its columns: the list of votes, one value, or the texts of several below each other."""
    cells = [value_at(row, column) for column in columns]
    if name == "votes":
        votes = votes_of(cells[0]) if len(cells) == 1 else [vote for cell in cells for vote in _one_annotators(cell)]
        return [_label(vote) for vote in votes]
    if name == "score" and len(cells) > 1:
        return [_label(cell) for cell in cells]
    if len(cells) > 1:
        return "\n\n".join(str(cell) for cell in cells if cell not in (None, ""))
    value = cells[0] if cells else ""
    return _label(value) if name in LABELS else value


def _one_annotators(cell: Any) -> list[Any]:
    """The votes in one annotator's column."""
    votes = cell if isinstance(cell, list | tuple) else [cell]
    return [vote for vote in votes if vote not in (None, "")]


def _label(value: Any) -> Any:
    """A label without the lists and objects of one around it, except for {label, certainty}."""
    whole = decoded(value)
    is_nested = isinstance(whole, list) or (isinstance(whole, dict) and "label" not in whole)
    return simple(whole) if is_nested else value


def _key(value: object) -> str:
    return written(value).casefold()


def _joined(rows: Iterable[ArrangedRow], join: tuple[str, ...], *, by_aspect: bool) -> Iterator[ArrangedRow]:
    """Rows of equal values of some columns as one row, whose labels are its votes."""
    cases: dict[tuple[str, ...], list[tuple[int, Row, Row]]] = {}
    bad: list[ArrangedRow] = []
    for line, row, named, error in rows:
        if error is not None:
            bad.append((line, row, named, error))
        else:
            aspect = (str(named["aspect"]),) if by_aspect else ()
            key = (*(str(value_at(row, name)) for name in join), *aspect)
            cases.setdefault(key, []).append((line, row, named))
    yield from bad
    identities = Counter(str(members[0][2].get("id")) for members in cases.values())
    for key, members in cases.items():
        line, row, named = members[0]
        case = {name: value for name, value in named.items() if name not in ("label", "score", "votes")}
        for name in ("reason", "explanation", "comment"):
            texts = [str(member[2][name]) for member in members if member[2].get(name) not in (None, "")]
            if texts:
                case[name] = "\n".join(dict.fromkeys(texts))
        if identities[str(case.get("id"))] > 1:  # as where several aspects of a text are labelled
            case["id"] = "/".join(key)
        case["votes"] = [vote for _, _, member in members for vote in _vote_of(member)]
        yield line, row, case, None


def _vote_of(row: Row) -> list[Any]:
    if row.get("votes"):
        return votes_of(row["votes"])
    return [value for name in LABELS if (value := row.get(name)) not in (None, "")][:1]
