"""The consoles, and plain tables and sentences on them."""

import sys
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

PIPE_WIDTH = 160  # columns where the output is no terminal
console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
errors = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else PIPE_WIDTH)


def say(sentence: str, style: str = "") -> None:
    """Print a sentence of a result: wrapped between words on a terminal, one line elsewhere."""
    console.print(sentence, style=style, markup=False, soft_wrap=not console.is_terminal)


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
