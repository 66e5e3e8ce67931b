"""Tables of plain text that HTML and Markdown share."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextCell:
    """A value with a second line: its interval or its description."""

    value: str
    under: str = ""


@dataclass(frozen=True)
class TextRow:
    """A table row. The first cell is its name; `tone` is "marked", "faint" or empty."""

    cells: tuple[TextCell, ...]
    tone: str = ""


@dataclass(frozen=True)
class TextTable:
    """A table; the first heading is of the names. `wordy`: the cells hold text, not numbers."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[TextRow, ...]
    note: str = ""
    wordy: bool = False
