"""The project file `dicast.toml`: which cases a folder is about, how they are read, and which model judges them.

`dicast init` writes it; a person may. Every verb that reads cases takes them from there where --cases is not given, and
what is given wins. A file of new cases with the same columns is read in the same way.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import Field

from ..data.case import Record
from ..data.layout import Columns, Layout, columns_of, value_at
from ..data.readers import parsed_rows
from ..data.rows import Scale, parse_scale
from ..errors import DataError, DeclarationError
from ..parsing import parse_record, read_toml
from .case_source import CaseSource

NAME = "dicast.toml"
ADVICE = "docs/init.md lists what it may hold; dicast init FILE --force writes it anew."
LABEL_FIELDS = ("label", "score", "votes", "reason")  # which unlabelled cases lack


class Project(Record):
    """What dicast.toml holds."""

    data: str = Field(description="the file of cases, from the folder of dicast.toml on; or a set's name, or hf:NAME")
    lm: str = Field(default="", description="provider/model of all stages, or role=provider/model,...")
    scale: str = Field(default="1..5", description="lowest and highest score, where a row names none")
    categories: tuple[str, ...] = Field(default=(), description="what texts are labelled with, the positive one last")
    export: str = Field(default="", description="the tool that wrote the data, such as argilla")
    encoding: str = Field(default="", description="of a text file that is not UTF-8")
    sheet: str = Field(default="", description="of a workbook; the first one otherwise")
    join: tuple[str, ...] = Field(default=(), description="columns with equal values on all rows of one case")
    fields: dict[str, str | tuple[str, ...]] = Field(default_factory=dict, description="our field -> their columns")
    values: dict[str, str] = Field(default_factory=dict, description="their word of a label -> ours")

    @property
    def layout(self) -> Layout:
        """How the rows of the data are arranged."""
        return Layout(dict(self.values), self.join, self.export, self.encoding, self.sheet)

    @property
    def bounds(self) -> Scale:
        """The scale; raises DeclarationError for any other text."""
        try:
            return parse_scale(self.scale)
        except ValueError as error:
            raise DeclarationError(f"{NAME}: scale: {error}. {ADVICE}") from None

    def source(self, folder: Path = Path()) -> CaseSource:
        """The cases of the project, of which a relative path begins in this folder."""
        path = folder / self.data
        return CaseSource(
            str(path) if path.is_file() else self.data,
            fields=dict(self.fields),
            scale=self.bounds,
            categories=self.categories,
            layout=self.layout,
        )

    def reading_of(self, path: str) -> CaseSource | None:
        """Another file, read as the project's; None where it lacks a column that unlabelled cases have too."""
        if not Path(path).is_file():
            return None
        layout = Layout(dict(self.values), self.join, self.export, "" if _is_utf8(path) else self.encoding, self.sheet)
        try:
            rows = [row for _, row, problem in islice(parsed_rows(path, layout), 5) if not problem]
        except (DataError, DeclarationError):
            return None
        has = {
            ours: all(any(_has(row, name) for row in rows) for name in self._columns(ours, rows))
            for ours in self.fields
        }
        if not rows or not all(is_there for ours, is_there in has.items() if ours not in LABEL_FIELDS):
            return None
        present = {ours: theirs for ours, theirs in self.fields.items() if has[ours]}
        return CaseSource(path, fields=present, scale=self.bounds, categories=self.categories, layout=layout)

    def _columns(self, ours: str, rows: list[Mapping[str, Any]]) -> tuple[str, ...]:
        return columns_of(self.fields[ours], rows[0] if rows else ())


def read_project(folder: Path = Path()) -> Project | None:
    """The project of a folder; None without one.

    Raises:
        DeclarationError: no TOML, or a key that is unknown or has a wrong value.
    """
    path = folder / NAME
    if not path.is_file():
        return None
    return parse_record(
        Project, read_toml(path, error=DeclarationError, advice=ADVICE), NAME, error=DeclarationError, advice=ADVICE
    )


def project_reading(path: str | Path, folder: Path = Path()) -> CaseSource | None:
    """A file, read as the project of a folder says; None where there is none, or its data has other columns.

    Raises:
        DeclarationError: as `read_project`.
    """
    project = read_project(folder)
    if project is None or not Path(path).is_file():
        return None
    data = folder / project.data
    return project.source(folder) if data.is_file() and data.samefile(path) else project.reading_of(str(path))


def to_toml(project: Project, comments: Iterable[str] = ()) -> str:
    """The project as TOML, with only what differs from the defaults, after comments.

    Example:
        >>> print(to_toml(Project(data="a.csv", fields={"label": "best", "votes": ("x", "y")}, values={"A": "a"})))
        data = "a.csv"
        <BLANKLINE>
        [fields]
        label = "best"
        votes = ["x", "y"]
        <BLANKLINE>
        [values]
        A = "a"
        <BLANKLINE>
    """
    stated = project.model_dump(exclude_defaults=True)
    tables = {name: stated.pop(name) for name in ("fields", "values") if name in stated}
    lines = [f"# {line}".rstrip() for comment in comments for line in comment.splitlines()]
    lines += [f"{name} = {_toml(value)}" for name, value in stated.items()]
    for name, table in tables.items():
        lines += ["", f"[{name}]", *(f"{_key(inner)} = {_toml(value)}" for inner, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Columns | object) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # DEL, the only difference of the two


def _key(name: str) -> str:
    is_bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    return name if is_bare else _toml(name)


def _has(row: Mapping[str, Any], column: str) -> bool:
    return column in row or value_at(row, column) is not None


def _is_utf8(path: str) -> bool:
    """Whether the beginning of a file is UTF-8."""
    with Path(path).open("rb") as file:
        part = file.read(1 << 16)
    try:
        part.decode()
    except UnicodeDecodeError as error:
        return error.start > len(part) - 4 and len(part) == 1 << 16
    return True
