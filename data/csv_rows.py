"""CSV, read strictly: no row is lost in a cell, and no cell goes missing.

The cells of the header are parted by commas, semicolons (as where the comma is the decimal mark), tabs or bars:
whatever parts it into most cells, the comma first. A line `sep=;`, which Excel writes before the header, names it.

A quote that is never closed takes the following rows into its cell. Such a row is refused where the file ends in the
cell, where CSV's grammar is broken behind it, or where the cell holds lines that look like rows of the file. The lines
behind the first are then read again, so that only the row with the quote is lost.
"""

import csv
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..parsing import not_utf8, shown
from .lines import lines_of

MOST_CHARACTERS = 1 << 27  # of a cell; the default of 128 KiB is shorter than some documents
SAVE = "Save it as CSV in UTF-8."
DELIMITERS = ",;\t|"
QUOTE = "Quote texts that hold commas, quotes or line ends; write a quote in a text twice."

# Its last line, the row (a bad one as far as it can be read), and what is wrong with it, "" for nothing.
ParsedRow = tuple[int, Any, str]


class _Lines:
    """Lines as text, which can be taken back as far as the second line of the present record."""

    def __init__(self, path: Path, encoding: str = "") -> None:
        self._lines, self._back = lines_of(path, encoding), deque[tuple[str, str]]()
        self.path, self.number, self.problem = path, 0, ""
        self.record: list[tuple[str, str]] = []  # each with what is wrong with it

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._back.popleft() if self._back else self._decoded(next(self._lines))
        self.number += 1
        self.record.append(line)
        self.problem = self.problem or line[1]
        return line[0]

    def begin(self) -> None:
        """A new record begins."""
        self.record, self.problem = [], ""

    def take_back(self, left: int = 1) -> None:
        """All lines of the record but the first `left` are read again."""
        self._back.extendleft(reversed(self.record[left:]))
        self.number -= len(self.record) - left

    @property
    def first(self) -> str:
        return self.record[0][0].rstrip("\r\n")

    def _decoded(self, raw: bytes) -> tuple[str, str]:
        try:
            text = raw.decode("utf-8" if self.number else "utf-8-sig")
        except UnicodeDecodeError as problem:
            return raw.decode("utf-8", "surrogateescape"), not_utf8(raw, problem)
        return text, "holds a NUL byte, as UTF-16 does" if "\0" in text else ""


def csv_rows(path: Path, encoding: str = "") -> Iterator[ParsedRow]:
    """The rows of a CSV file by its header.

    Args:
        encoding: as of `lines_of`.

    Raises:
        DataError: the file cannot be read, or its header names no column, or one twice.
    """
    csv.field_size_limit(MOST_CHARACTERS)
    lines = _Lines(path, encoding)
    delimiter = _delimiter(lines)
    header = _header(lines, delimiter)
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    while True:
        lines.begin()
        cells: list[str] = []
        try:
            cells = next(reader)
            problem = _problem(cells, header, delimiter)
        except StopIteration:
            return
        except csv.Error as error:
            problem = f"not CSV ({error}). {QUOTE}"
        if lines.problem:
            yield lines.number, _named(header, cells or [lines.first]), f"{lines.problem}. {SAVE}"
        elif problem and len(lines.record) > 1:
            lines.take_back()
            yield lines.number, lines.first, problem
        elif problem:
            yield lines.number, _named(header, cells) if cells else lines.first, problem
        elif cells:
            yield lines.number, dict(zip(header, cells, strict=True)), ""


def delimiter_of(line: str) -> str:
    """What parts the cells of a header.

    Example:
        >>> delimiter_of("query;response;label"), delimiter_of('"a;b",c'), delimiter_of("text")
        (';', ',', ',')
    """
    outside = "".join(line.split('"')[::2])
    return max(DELIMITERS, key=lambda mark: (outside.count(mark), -DELIMITERS.index(mark)))


def _delimiter(lines: _Lines) -> str:
    """The delimiter by the first line, which is passed over where it does nothing but name it."""
    lines.begin()
    first = next(lines, "").rstrip("\r\n")
    if len(first) == 5 and first[:4].lower() == "sep=":
        return first[4]
    if lines.record:
        lines.take_back(0)
    return delimiter_of(first)


def _header(lines: _Lines, delimiter: str) -> list[str]:
    try:
        header = next(csv.reader(lines, strict=True, delimiter=delimiter), [])
    except csv.Error as error:
        raise DataError(f"{lines.path} line 1: not CSV ({error}). {SAVE}") from None
    if lines.problem:
        raise DataError(f"{lines.path} line 1: {lines.problem}. {SAVE}")
    for column, name in enumerate(header):
        if not name.strip() and column:  # the first column of what pandas writes, the index, has no name
            raise DataError(f"{lines.path} line 1: column {column + 1} has no name. Name every column in the header.")
    check_names(f"{lines.path} line 1", header)
    return header


def check_names(where: str, names: Iterable[str]) -> None:
    """Raises DataError for a column's name that occurs twice."""
    for name, count in Counter(names).items():
        if count > 1:
            raise DataError(f"{where}: {count} columns are called {shown(name)}. Rename all but one of them.")


def _problem(cells: list[str], header: list[str], delimiter: str) -> str:
    """What is wrong with a row; "" for nothing."""
    if not cells or len(cells) == len(header):
        column = next(
            (name for name, cell in zip(header, cells, strict=False) if _holds_rows(cell, len(header), delimiter)), None
        )
        if column is None:
            return ""
        return f"the cell of {shown(column)} holds lines that look like rows: a quote is missing or too many. {QUOTE}"
    if len(cells) > len(header):
        surplus = shown(cells[len(header) :])
        return f"field 'row' is {surplus}. It has more cells than the header; quote texts that hold commas."
    return f"the row has {len(cells)} cells, the header {len(header)}. Write a cell for each column; it may be empty."


def _holds_rows(cell: str, width: int, delimiter: str) -> bool:
    """Whether the inner lines of a cell all have the form of rows: as many cells, with no space behind a comma."""
    if "\n" not in cell or width < 2:
        return False
    inner = [line for line in cell.split("\n")[1:-1] if line.strip()]
    if len(inner) < (3 if width == 2 else 2):
        return False
    return all(line.count(delimiter) == width - 1 and f"{delimiter} " not in line for line in inner)


def _named(header: list[str], cells: list[str]) -> dict[str, Any]:
    """The cells by column as far as there are any, for the file of rejects."""
    surplus = {"(more cells than the header)": cells[len(header) :]} if len(cells) > len(header) else {}
    return dict(zip(header, cells, strict=False)) | surplus
