"""What `dicast check` saw: a line for each thing, and what labels can show as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from .console import console, indented, say, table

if TYPE_CHECKING:
    from ...workflows.checks import CheckItem

HEADS = ["to be shown with an 80 % chance", "it takes", "here"]


def print_items(items: "Sequence[CheckItem]") -> None:
    """Print what was checked, in order."""
    for item in items:
        if not item.cells:
            mark = ("ok  ", "green") if item.ok else ("FAIL", "red") if item.is_needed else ("-   ", "dim")
            say(Text.assemble(mark, " ", (item.name, "bold"), f"  {item.text}"))
    if rows := [list(item.cells) for item in items if item.cells]:
        console.print(indented(table(HEADS, rows)))
