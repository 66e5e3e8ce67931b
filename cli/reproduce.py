"""`dicast reproduce`: published tables, recomputed from recorded judgments."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DataError
from . import FAIL, options

if TYPE_CHECKING:
    from ..reproduction import Row, Table

LONGEST = 60  # rows of a table that are printed without --full
MOST_DIGITS = 6  # decimals shown
VERDICTS = {"exact": "exact", "rounds equal": "round equal", "differs": "differ", "not recorded": "not recorded"}


@click.command("reproduce")
@click.argument("name", required=False)
@click.option(
    "--data",
    "root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of recorded judgments [default: $DICAST_RECORDED, else recorded/ beside $DICAST_DATA].",
)
@click.option("--full", is_flag=True, help="Print every figure of long tables.")
@click.option("--list", "listing", is_flag=True, help="List the tables, their sources and the files they need.")
@options.json_option
def command(name: str | None, root: Path | None, full: bool, listing: bool, as_json: bool) -> int:
    """Recompute published tables from recorded judgments by other judges; no model is asked.

    NAME is a table of --list, or all. Exit 1 when a figure differs from the published one and nothing explains it.

    \b
    Example:
      dicast reproduce --list
      dicast reproduce all --data recorded
      dicast reproduce personalized-judge-table-2
    """
    from ..reproduction import TABLES, find, folder

    options.load_environment()
    if listing:
        _list(as_json)
        return 0
    if name is None:
        raise click.UsageError("Name a table of dicast reproduce --list, or all.")
    tables = list(TABLES.values()) if name == "all" else [find(name)]
    root = folder(root)
    here = [table for table in tables if not table.missing(root)]
    if not here:
        raise DataError(f"{name}: {tables[0].missing(root)[0]} is not there. docs/reproduce.md says where to get it.")
    results = [(table, table.rows(root)) for table in here]
    absent = [(table, table.missing(root)[0]) for table in tables if table not in here]
    rows = [row for _, found in results for row in found]
    if as_json:
        options.print_json(_as_dict(results, absent, rows))
    else:
        _print(results, absent, rows, full)
    return FAIL if any(row.unexplained for row in rows) else 0


def _list(as_json: bool) -> None:
    from ..reproduction import TABLES
    from . import render

    if as_json:
        options.print_json(
            [{"name": table.name, **_source(table), "files": list(table.files)} for table in TABLES.values()]
        )
        return
    for table in TABLES.values():
        render.console.print(f"[bold]{table.name}[/]  {table.published.title}")
        for line in (table.published.source, f"needs {', '.join(table.files)}"):
            render.console.print(render.indented(line), style="dim", markup=False)


def _source(table: "Table") -> dict[str, str]:
    return {"title": table.published.title, "source": table.published.source}


def _as_dict(
    results: "list[tuple[Table, list[Row]]]", absent: "list[tuple[Table, Path]]", rows: "list[Row]"
) -> dict[str, Any]:
    return {
        "tables": [
            {"name": table.name, **_source(table), "rows": [row.model_dump() for row in found]}
            for table, found in results
        ],
        "not_there": [table.name for table, _ in absent],
        "figures": len(rows),
        "verdicts": {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        "unexplained": [f"{row.table}: {row.figure}" for row in rows if row.unexplained],
    }


def _print(
    results: "list[tuple[Table, list[Row]]]", absent: "list[tuple[Table, Path]]", rows: "list[Row]", full: bool
) -> None:
    from . import render

    for table, found in results:
        render.console.print(f"[bold]{table.name}[/]  {table.published.title}")
        render.console.print(table.published.source, style="dim", markup=False)
        shown = found if full or len(found) <= LONGEST else [row for row in found if row.why or row.unexplained]
        if shown is not found:
            for line in _groups(found):
                render.console.print(render.indented(line), markup=False)
        if shown:
            columns = ["figure", "recomputed", "of", "published", "difference", "verdict", "basis"]
            render.console.print(render.indented(render.table(columns, [_cells(row) for row in shown])), markup=False)
        for line in _reasons(found):
            render.console.print(render.indented(line), style="dim", markup=False)
        render.console.print()
    for table, path in absent:
        render.console.print(f"{table.name}: not there ({path})", style="yellow", markup=False, soft_wrap=True)
    render.console.print(_closing(rows), markup=False)
    if printed := sum(row.basis == "aggregates" for row in rows):
        render.console.print(
            f"{printed:,} of them from what a source printed of a run whose judgments it did not release"
        )


def _groups(rows: "Sequence[Row]") -> Iterator[str]:
    """One line for all figures whose names start alike."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.figure.partition(",")[0], []).append(row)
    for name, members in groups.items():
        yield f"{name}: {_closing(members)}"


def _cells(row: "Row") -> list[str]:
    places = min(row.decimals, MOST_DIGITS)
    more = places + 1 if 0 < places < MOST_DIGITS else places
    of = f"{row.hits:,}/{row.n:,}" if row.hits is not None else f"{row.n:,}" if row.n else "-"
    return [
        row.figure,
        "-" if row.recomputed is None else f"{row.recomputed:,.{more}f}",
        of,
        f"{row.published:,.{places}f}",
        "-" if row.difference is None else f"{row.difference:+z,.{more}f}",
        row.told,
        {"items": "items", "aggregates": "from aggregates", None: "-"}[row.basis],
    ]


def _reasons(rows: "Sequence[Row]") -> Iterator[str]:
    """Each reason once, after the figures that it is of."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.why:
            reasons.setdefault(row.why, []).append(row.figure)
    for why, (first, *others) in reasons.items():
        more = f" and {len(others)} more" if len(others) > 2 else "".join(f"; {figure}" for figure in others)
        yield f"{first}{more}: {why}."


def _closing(rows: "Sequence[Row]") -> str:
    """`42 figures: 40 exact, 1 round equal, 1 differ (all explained)`; verdicts that no figure has are left out."""
    parts = []
    for verdict, told in VERDICTS.items():
        members = [row for row in rows if row.verdict == verdict]
        unexplained = sum(row.unexplained for row in members)
        if members:
            explained = f" ({unexplained:,} unexplained)" if unexplained else " (all explained)"
            parts.append(f"{len(members):,} {told}{explained if members[0].why or unexplained else ''}")
    return f"{len(rows):,} figure{'s' * (len(rows) != 1)}: {', '.join(parts)}"
