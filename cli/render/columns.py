"""Tables without lines that fit the terminal: no column is narrower than its longest word.

Where the columns do not fit side by side, the last one, a description, goes below its row; where that is not enough
either, each row is a list of its cells.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .wrapping import Wrapped

GAP = 2  # columns between two cells
WHOLE = 26  # a cell that is no wider, such as an interval, stays on one line
READABLE = 24  # columns that a description has beside its row, at least


class FittingTable:
    """Rows of cells below a header.

    Args:
        heads: the header; the column n is aligned to the right.
        header_style: of the header.
        indent: columns to the left of the table.
    """

    def __init__(self, heads: Sequence[str], header_style: str = "dim", indent: int = 0) -> None:
        self.heads, self.header_style, self.indent = [Text(head) for head in heads], header_style, indent
        self.rows: list[list[Text]] = []

    def add_row(self, *cells: str | Text) -> None:
        """Add a row with a cell for each column; columns without one are empty."""
        row = [cell if isinstance(cell, Text) else Text(cell) for cell in cells]
        self.rows.append(row + [Text("")] * (len(self.heads) - len(row)))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        widest = sum(self._natural()) + GAP * (len(self.heads) - 1) + self.indent
        return Measurement(min(widest, options.max_width), min(widest, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, natural = options.max_width - self.indent, self._natural()
        if (widths := _fitted(natural, self._least(natural), width)) is not None:
            yield self._side_by_side(widths)
        elif len(self.heads) > 2 and sum(natural[:-1]) + GAP * (len(natural) - 2) <= width:
            yield from self._last_below(natural[:-1])
        elif (widths := _fitted(natural, self._words(), width)) is not None:
            yield self._side_by_side(widths)
        else:
            yield from self._as_lists()

    def _columns(self) -> list[list[Text]]:
        return [[head, *(row[place] for row in self.rows)] for place, head in enumerate(self.heads)]

    def _natural(self) -> list[int]:
        """The width of each column with every cell on one line."""
        return [max(_width(cell) for cell in column) for column in self._columns()]

    def _words(self) -> list[int]:
        """The width of the longest word of each column."""
        columns = self._columns()
        return [
            max((cell_len(word) for cell in column for word in cell.plain.split()), default=0) for column in columns
        ]

    def _least(self, natural: list[int]) -> list[int]:
        """The width that each column needs to be easy to read."""
        words = self._words()
        least = [whole if whole <= WHOLE else word for whole, word in zip(natural, words, strict=True)]
        least[-1] = max(words[-1], min(natural[-1], READABLE))
        return least

    def _side_by_side(self, widths: list[int]) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style=self.header_style)
        for head, width in zip(self.heads, widths, strict=True):
            table.add_column(head, justify="right" if head.plain == "n" else "left", width=width, overflow="fold")
        for row in self.rows:
            table.add_row(*row)
        return Padding(table, (0, 0, 0, self.indent)) if self.indent else table

    def _last_below(self, widths: list[int]) -> RenderResult:
        yield self._line(self.heads[:-1], widths, self.header_style)
        for row in self.rows:
            yield self._line(row[:-1], widths)
            if row[-1].plain:
                yield Wrapped(Text(" " * (self.indent + 2 * GAP)) + row[-1])

    def _as_lists(self) -> RenderResult:
        for row in self.rows:
            yield Wrapped(Text.assemble(" " * self.indent, row[0]))
            for head, cell in zip(self.heads[1:], row[1:], strict=True):
                if cell.plain:
                    yield Wrapped(
                        Text.assemble(" " * (self.indent + GAP), f"{head.plain}: " if head.plain else "", cell)
                    )

    def _line(self, cells: Sequence[Text], widths: Sequence[int], style: str = "") -> Text:
        line = Text(" " * self.indent, style=style, no_wrap=True, overflow="ignore")
        for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            space = " " * (width - cell_len(cell.plain))
            is_number = self.heads[place].plain == "n"
            line.append_text(Text.assemble(" " * GAP * bool(place), *((space, cell) if is_number else (cell, space))))
        line.rstrip()
        return line


def _fitted(natural: list[int], least: list[int], width: int) -> list[int] | None:
    """Widths that fit, the widest columns narrowed first; None where the least widths do not fit."""
    room = width - GAP * (len(natural) - 1)
    if sum(least) > room:
        return None
    widths = list(natural)
    while (excess := sum(widths) - room) > 0:
        widest = max((size for size, low in zip(widths, least, strict=True) if size > low), default=0)
        place = next(n for n, (size, low) in enumerate(zip(widths, least, strict=True)) if size == widest > low)
        others = [size for size, low in zip(widths, least, strict=True) if low < size < widest]
        floor = max([least[place], *others])
        widths[place] = max(floor, widest - excess) if floor < widest else widest - 1
    return widths


def _width(cell: Text) -> int:
    return max((cell_len(line) for line in cell.plain.split("\n")), default=0)
