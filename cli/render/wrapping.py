"""Texts on a terminal: lines end between words, and a wrapped line is indented below its first.

A word that is wider than the terminal, such as a path, stays whole, so that it can be copied; the signature of a run
is divided between its parts.
"""

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

HANGING = 2
NARROWEST = 20  # columns that remain for a text, however far it is indented
WORD = re.compile(r"\S+(?: %\S*)?")  # a percent sign stays with its number
PART = re.compile(r"[^|,]*[|,]+|[^|,]+")  # of a word that is too wide: signatures are JUDGE|NAME=VALUE,...|...


class Wrapped:
    """A text that is wrapped between words in whatever width there is.

    Args:
        text: may hold line ends; the indentation of each line is that of its wrapped lines too, and of a line that
            begins with a name (`name  text`) HANGING columns more.
    """

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.text.split("\n", allow_blank=True) if self.text.plain else [self.text]:
            for row in wrapped_lines(line, options.max_width):
                row.no_wrap, row.overflow = True, "ignore"
                yield row


def wrapped_lines(line: Text, width: int) -> Iterator[Text]:
    """The lines that one line is wrapped into, each at most so wide unless a single word is wider."""
    text = line.plain
    if cell_len(text) <= width:
        yield line
        return
    indent = len(text) - len(text.lstrip(" "))
    indent = min(indent, max(0, width - NARROWEST))
    is_named = "  " in text.strip() or "|" in text
    hang = " " * min(indent + HANGING * is_named, max(0, width - NARROWEST))
    start, end, margin = 0, 0, ""
    for begin, stop in _pieces(text, width - len(hang)):
        if end and cell_len(margin + text[start:stop]) > width:
            yield Text(margin) + line[start:end]
            start, margin = begin, hang
        end = stop
    if end > start:
        yield Text(margin) + line[start:end]


def _pieces(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Start and end of each word; of each part of a word that is wider and has parts."""
    for word in WORD.finditer(text):
        if cell_len(word.group()) <= width or "|" not in word.group():
            yield word.span()
        else:
            for part in PART.finditer(word.group()):
                yield word.start() + part.start(), word.start() + part.end()
