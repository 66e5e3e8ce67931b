"""The consoles, and plain tables and sentences on them.

Texts come from cases, files and servers. So a console takes no text for markup unless it is asked to, removes keys, and
shows control characters instead of sending them; the only escape sequences that leave are those of the styles.
"""

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.status import Status
from rich.table import Table
from rich.text import Text

from ...redaction import clean, printable
from ..output import discard

PIPE_WIDTH = 160  # columns where the output is no terminal


class CleanConsole(Console):
    """A console that cleans every text, and of which the reader may leave."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "markup": False, "emoji": False, **options})

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
    if isinstance(renderable, Text) and (text := clean(renderable.plain)) != renderable.plain:
        cleaned = renderable.blank_copy(text)
        if len(text) == len(renderable.plain):  # else the positions of its styles have moved
            cleaned.spans = renderable.spans
        return cleaned
    return renderable


def _width(stream: TextIO | None) -> int | None:
    return None if stream is not None and stream.isatty() else PIPE_WIDTH


console = CleanConsole(width=_width(sys.stdout))
errors = CleanConsole(stderr=True, width=_width(sys.stderr))


def say(sentence: str, style: str = "") -> None:
    """Print a sentence of a result: wrapped between words on a terminal, one line elsewhere."""
    console.print(sentence, style=style, soft_wrap=not console.is_terminal)


def status(text: str) -> Status:
    """A spinner with a text, on a terminal while the context lasts."""
    return errors.status(Text(text))


def heading(name: str, text: str = "") -> Text:
    """A name in bold, and a text after it."""
    return Text.assemble((name, "bold"), f"  {text}" if text else "")


def table(columns: list[str], rows: list[list[Any]]) -> Table:
    """A table without borders."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(str(cell) for cell in row))
    return grid


def indented(renderable: Any) -> Padding:
    """The same, two columns to the right."""
    return Padding(renderable, (0, 0, 0, 2))
