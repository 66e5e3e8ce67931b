"""The figures of a run by fields of its cases, on a terminal."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from ...evaluation.results import Subgroup, Subgroups, SubgroupTable
from .columns import FittingTable
from .measures import column_table, interval_text, p_value


def subgroup_tables(result: Subgroups) -> Iterator[Any]:
    """What to print of the subgroups: a table for each field, the lowest figure first, and where the judge is worst."""
    for table in result.tables:
        yield Text(f"\nBy {table.field}", style="bold")
        yield _table(table)
    yield Text(f"\n{result.summary}")


def _table(table: SubgroupTable) -> FittingTable:
    names = dict.fromkeys(row.figure.name for row in table.rows)
    title = f"{' or '.join(names)} [95 % CI]"
    result = column_table("", "n", "groups", title, "less all others", "p", "p (Holm)", "")
    for row in table.rows:
        difference = "-" if row.difference is None else interval_text(row.difference)
        note = Text(row.note, style="dim")
        groups = f"{row.figure.groups or row.figure.n:,}"
        p_values = p_value(row.p), p_value(row.p_holm)
        result.add_row(
            Text(row.value),
            counted_cases(row),
            groups,
            Text(interval_text(row.figure)),
            Text(difference),
            *p_values,
            note,
        )
    return result


def counted_cases(row: Subgroup) -> str:
    """The labelled verdicts, and of how many cases, where some have none."""
    return f"{row.figure.n:,}" if row.figure.n == row.cases else f"{row.figure.n:,} of {row.cases:,}"
