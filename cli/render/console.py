"""The consoles, and plain tables and sentences on them.

On a terminal every text is wrapped between words; elsewhere a text is one line, and a table as wide as COLUMNS says,
else PIPE_WIDTH.

Texts come from cases, files and servers. So a console takes no text for markup unless it is asked to, removes keys, and
shows control characters instead of sending them; the only escape sequences that leave are those of the styles.
"""

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.status import Status
from rich.text import Text

from ...redaction import clean, printable
from ..output import discard
from .columns import FittingTable
from .wrapping import Wrapped

PIPE_WIDTH = 160  # columns of a table where the output is no terminal and COLUMNS is not set
INDENT = 2


class CleanConsole(Console):
    """A console that cleans every text, and of which the reader may leave."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

    def print(self, *objects: Any, **options: Any) -> None:
        if self.is_terminal and len(objects) == 1 and isinstance(objects[0], str | Text):
            text = Text(clean(objects[0])) if isinstance(objects[0], str) else _clean_text(objects[0])
            objects, options = (Wrapped(text),), options | {"soft_wrap": False}
        super().print(*objects, **{"crop": False, **options})

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(clean(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(_cleaned(renderable), options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Go on without output: the work is not lost because `head` has read enough."""
        discard(self.file)

    def _check_buffer(self) -> None:
        try:
            super()._check_buffer()
        except OSError:
            if not self.stderr:
                raise
            discard(self.file)  # progress that cannot be shown ends no run
            del self._buffer[:]


def _cleaned(renderable: RenderableType) -> RenderableType:
    """The renderable; of a text with keys or control characters, the cleaned text in its main style."""
    return _clean_text(renderable) if isinstance(renderable, Text) else renderable


def _clean_text(text: Text) -> Text:
    cleaned = clean(text.plain)
    if cleaned == text.plain:
        return text
    copy = text.blank_copy(cleaned)
    if len(cleaned) == len(text.plain):  # else the positions of its styles have moved
        copy.spans = text.spans
    return copy


def pipe_width(stream: TextIO | None) -> int | None:
    """The columns of a stream that is no terminal; None of a terminal, which rich asks."""
    if stream is not None and stream.isatty():
        return None
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) else PIPE_WIDTH


console = CleanConsole(width=pipe_width(sys.stdout))
errors = CleanConsole(stderr=True, width=pipe_width(sys.stderr))


def say(sentence: str | Text, style: str = "") -> None:
    """Print a sentence of a result: wrapped between words on a terminal, one line elsewhere."""
    console.print(sentence, style=style, soft_wrap=not console.is_terminal)


def status(text: str) -> Status:
    """A spinner with a text, on a terminal while the context lasts."""
    return errors.status(Text(text))


def heading(name: str, text: str = "") -> Text:
    """A name in bold, and a text after it."""
    return Text.assemble((name, "bold"), f"  {text}" if text else "")


def table(columns: list[str], rows: list[list[Any]]) -> FittingTable:
    """A table without borders."""
    result = FittingTable(columns, "bold")
    for row in rows:
        result.add_row(*(str(cell) for cell in row))
    return result


def indented(part: str | Text | FittingTable) -> Text | FittingTable:
    """The same, two columns to the right."""
    if isinstance(part, FittingTable):
        part.indent += INDENT
        return part
    lines = (part if isinstance(part, Text) else Text(part)).split("\n", allow_blank=True)
    return Text("\n").join(Text(" " * INDENT) + line for line in lines)
