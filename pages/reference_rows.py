"""What judges are measured against: baselines that need no model, and one human annotator."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..evaluation.results import Measure
from .formatting import MINUS, format_interval, format_measure, readable
from .run_headline import Side, side_of_zero
from .run_report import LeadMeasure


@dataclass(frozen=True)
class MarginCell:
    """How far a judge is from a reference on the same cases; `reaches` is the figure of the reference there."""

    words: str
    interval: str
    side: Side
    reaches: str


@dataclass(frozen=True)
class ReferenceRow:
    """A baseline or the human ceiling with a cell for each run, None for a run that is not compared with it.

    `reaches` is its figure where it is the same for all runs, else empty.
    """

    name: str
    reaches: str
    cells: tuple[MarginCell | None, ...]


def reference_rows(leads: Sequence[LeadMeasure]) -> tuple[ReferenceRow, ...]:
    """The references that any of the runs is compared with, the first run's strongest baseline first."""
    by_run = [dict(_cells(lead)) for lead in leads]
    rows = []
    for name in dict.fromkeys(name for cells in by_run for name in cells):
        cells = tuple(cells.get(name) for cells in by_run)
        figures = {cell.reaches for cell in cells if cell is not None}
        rows.append(ReferenceRow(name, figures.pop() if len(figures) == 1 else "", cells))
    return tuple(rows)


def _cells(lead: LeadMeasure) -> Iterator[tuple[str, MarginCell]]:
    for baseline in sorted(lead.baselines, key=lambda measure: -(measure.value or 0.0)):
        if baseline.name in lead.margins:
            yield f"Baseline “{readable(baseline.name)}”", _cell(baseline, lead.margins[baseline.name])
    if lead.ceiling is not None and lead.margin_over_person is not None:
        yield "One human annotator", _cell(lead.ceiling, lead.margin_over_person)


def _cell(reference: Measure, margin: Measure) -> MarginCell:
    side, value = side_of_zero(margin), format_measure(margin)
    words = {
        "above": f"{value.lstrip('+')} ahead",
        "below": f"{value.lstrip(MINUS)} behind",
        "unclear": f"{value}, no difference shown",
    }[side]
    return MarginCell(words, format_interval(margin), side, format_measure(reference))
