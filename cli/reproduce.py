"""`dicast reproduce`: published tables, recomputed from recorded judgments."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DataError
from . import FAIL, options

if TYPE_CHECKING:
    from ..reproduction import PublishedTable, TableRow

LONGEST = 60  # rows of a table that are printed without --full
MOST_DIGITS = 6  # decimals shown
VERDICTS = {"exact": "exact", "rounds equal": "round equal", "differs": "differ", "not recorded": "not recorded"}


@click.command("reproduce")
@click.argument("name", required=False, shell_complete=options.completion.tables)
@click.option(
    "--data",
    "root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of recorded judgments [default: $DICAST_RECORDED, else recorded/ beside $DICAST_DATA].",
)
@click.option("--full", is_flag=True, help="Print every value of long tables.")
@click.option("--list", "listing", is_flag=True, help="List the tables, their sources and the files they need.")
@options.json_option
def command(name: str | None, root: Path | None, full: bool, listing: bool, as_json: bool) -> int:
    """Recompute published tables from recorded judgments by other judges; no model is called.

    NAME is a table of --list, or all. Exit 1 if a value differs from the published one for an unknown reason.

    \b
    Example:
      dicast reproduce --list
      dicast reproduce all --data recorded
      dicast reproduce personalized-judge-table-2
    """
    from ..reproduction import TABLES, folder

    options.load_environment()
    if listing:
        _list(as_json)
        return 0
    if name is None:
        raise click.UsageError("Name a table of dicast reproduce --list, or all.")
    tables = list(TABLES) if name == "all" else [TABLES.find(name, "dicast reproduce --list has all.")]
    root = folder(root)
    complete = [table for table in tables if not table.missing(root)]
    if not complete:
        raise DataError(f"{name}: {tables[0].missing(root)[0]} is missing. docs/reproduce.md says where to get it.")
    results = [(table, table.rows(root)) for table in complete]
    incomplete = [(table, table.missing(root)[0]) for table in tables if table not in complete]
    rows = [row for _, table_rows in results for row in table_rows]
    if as_json:
        options.print_json(_as_dict(results, incomplete, rows))
    else:
        _print(results, incomplete, rows, full)
    return FAIL if any(row.unexplained for row in rows) else 0


def _list(as_json: bool) -> None:
    from ..reproduction import TABLES
    from . import render

    if as_json:
        options.print_json([{"name": table.name, **_source(table), "files": list(table.files)} for table in TABLES])
        return
    for table in TABLES:
        render.console.print(render.heading(table.name, table.publication.title))
        for line in (table.publication.source, f"needs {', '.join(table.files)}"):
            render.console.print(render.indented(line), style="dim")


def _source(table: "PublishedTable") -> dict[str, str]:
    return {"title": table.publication.title, "source": table.publication.source}


def _as_dict(
    results: "list[tuple[PublishedTable, list[TableRow]]]",
    incomplete: "list[tuple[PublishedTable, Path]]",
    rows: "list[TableRow]",
) -> dict[str, Any]:
    return {
        "tables": [
            {"name": table.name, **_source(table), "rows": [row.model_dump() for row in table_rows]}
            for table, table_rows in results
        ],
        "missing": [table.name for table, _ in incomplete],
        "values": len(rows),
        "verdicts": {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS},
        "unexplained": [f"{row.table}: {row.name}" for row in rows if row.unexplained],
    }


def _print(
    results: "list[tuple[PublishedTable, list[TableRow]]]",
    incomplete: "list[tuple[PublishedTable, Path]]",
    rows: "list[TableRow]",
    full: bool,
) -> None:
    from . import render

    for table, table_rows in results:
        render.console.print(render.heading(table.name, table.publication.title))
        render.console.print(table.publication.source, style="dim")
        shown = table_rows
        if not full and len(table_rows) > LONGEST:
            shown = [row for row in table_rows if row.why or row.unexplained]
        if shown is not table_rows:
            for line in _groups(table_rows):
                render.console.print(render.indented(line))
        if shown:
            columns = ["value", "recomputed", "n", "published", "difference", "verdict", "basis"]
            render.console.print(render.indented(render.table(columns, [_cells(row) for row in shown])))
        for line in _reasons(table_rows):
            render.console.print(render.indented(line), style="dim")
        render.console.print()
    for table, path in incomplete:
        render.console.print(f"{table.name}: missing ({path})", style="yellow", soft_wrap=True)
    render.console.print(_closing(rows))
    if printed := sum(row.basis == "aggregates" for row in rows):
        render.console.print(
            f"{printed:,} of them are recomputed from printed counts of runs whose judgments are not in the folder"
        )


def _groups(rows: "Sequence[TableRow]") -> Iterator[str]:
    """One line for all values whose names have the same first part."""
    groups: dict[str, list[TableRow]] = {}
    for row in rows:
        groups.setdefault(row.name.partition(",")[0], []).append(row)
    for name, members in groups.items():
        yield f"{name}: {_closing(members)}"


def _cells(row: "TableRow") -> list[str]:
    places = min(row.decimals, MOST_DIGITS)
    more = places + 1 if 0 < places < MOST_DIGITS else places
    n = f"{row.hits:,}/{row.n:,}" if row.hits is not None else f"{row.n:,}" if row.n else "-"
    return [
        row.name,
        "-" if row.recomputed is None else f"{row.recomputed:,.{more}f}",
        n,
        f"{row.published:,.{places}f}",
        "-" if row.difference is None else f"{row.difference:+z,.{more}f}",
        row.verdict_text,
        {"items": "items", "aggregates": "from aggregates", None: "-"}[row.basis],
    ]


def _reasons(rows: "Sequence[TableRow]") -> Iterator[str]:
    """Every reason once, after the names of its values."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.why:
            reasons.setdefault(row.why, []).append(row.name)
    for why, (first, *others) in reasons.items():
        more = f" and {len(others)} more" if len(others) > 2 else "".join(f"; {name}" for name in others)
        yield f"{first}{more}: {why}."


def _closing(rows: "Sequence[TableRow]") -> str:
    """`42 values: 40 exact, 1 round equal, 1 differ (all explained)`; verdicts without a value are left out."""
    parts = []
    for verdict, words in VERDICTS.items():
        members = [row for row in rows if row.verdict == verdict]
        unexplained = sum(row.unexplained for row in members)
        if members:
            explained = f" ({unexplained:,} unexplained)" if unexplained else " (all explained)"
            parts.append(f"{len(members):,} {words}{explained if members[0].why or unexplained else ''}")
    return f"{len(rows):,} value{'s' * (len(rows) != 1)}: {', '.join(parts)}"
