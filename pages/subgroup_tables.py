"""A run by fields of its cases: rows of text that the HTML and the Markdown page share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..evaluation.results import Subgroup, SubgroupTable
from . import markdown
from .formatting import MISSING, count_of, format_interval, format_measure, format_p_value
from .run_report import RunReport

HEADS = ("value", "figure", "95 %", "n", "less all others", "95 %", "p", "p (Holm)", "note")
COLUMNS = ("value", "figure", "interval", "n", "difference", "difference_interval", "p", "p_holm", "note")


@dataclass(frozen=True)
class SubgroupRow:
    """One value of a field, as text; `is_different`: the figure differs from that of all other cases."""

    value: str
    figure: str
    interval: str
    n: str
    difference: str
    difference_interval: str
    p: str
    p_holm: str
    note: str
    is_different: bool


def rows_by_field(run: RunReport) -> list[tuple[SubgroupTable, list[SubgroupRow]]]:
    """The fields of a run, each with its rows, the lowest figure first."""
    subgroups = run.evaluation.subgroups
    return [(table, list(map(_row, table.rows))) for table in (subgroups.tables if subgroups else ())]


def subgroup_blocks(runs: Sequence[RunReport]) -> Iterator[str]:
    """Markdown: for each run where the judge is worst, and a table for each field."""
    for run in runs:
        if run.evaluation.subgroups is None:
            continue
        name = f"{run.name}: " if len(runs) > 1 else ""
        yield markdown.escape(f"{name}{run.evaluation.subgroups.summary}.")
        for table, rows in rows_by_field(run):
            cells = [[str(getattr(row, name)) for name in COLUMNS] for row in rows]
            yield f"### {markdown.escape(f'{name}By {table.field}')}\n\n{markdown.table(HEADS, cells)}"


def _row(row: Subgroup) -> SubgroupRow:
    difference = row.difference
    unscored = f", of {row.cases:,} cases" if row.cases > row.figure.n else ""
    return SubgroupRow(
        value=row.value,
        figure=format_measure(row.figure),
        interval=format_interval(row.figure),
        n=count_of(row.figure) + unscored,
        difference=MISSING if difference is None else format_measure(difference),
        difference_interval="" if difference is None else format_interval(difference),
        p=format_p_value(row.p),
        p_holm=format_p_value(row.p_holm),
        note=row.note,
        is_different=row.p_holm is not None and row.p_holm < 0.05,
    )
