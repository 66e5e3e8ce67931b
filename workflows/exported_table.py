"""A run as a table for spreadsheets and data frames: a row a verdict, with the texts and what else its case had."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..data import Case
from ..engines.jsonl import writing
from ..errors import DeclarationError, RunError, install_hint
from ..paths import path_of
from .case_source import CaseSource
from .run_results import AnyRun, open_run
from .run_tables import flat_row
from .run_texts import texts_of

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that a spreadsheet program computes


def export_table(run: AnyRun, out: str | Path, *, cases: CaseSource | None = None, texts: bool = True) -> int:
    """Write the verdicts of a run as a table; the number of its rows.

    Args:
        run: a run folder, or what `open_run` takes.
        out: the file, by whose ending the format is chosen; it is written whole.
        cases: where the texts are, if not where the run read them.
        texts: whether rows have the texts and the other columns of their cases.

    Raises:
        RunError: another ending, or a verdict whose case is not in the cases any more.
        DeclarationError: a library that writes the format is not installed.
    """
    path = path_of(out)
    suffix = path.suffix.lower()
    if suffix not in ENDINGS:
        raise RunError(f"--out {path}: the ending {suffix!r} is not known. Use one of {', '.join(ENDINGS)}.")
    rows = list(table_rows(run, cases=cases, texts=texts))
    names = list(dict.fromkeys(name for row in rows for name in row))
    with writing(path):
        if suffix == ".jsonl":
            path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
        elif suffix == ".parquet":
            _write_parquet(path, names, rows)
        elif suffix == ".xlsx":
            _write_workbook(path, names, rows)
        else:
            with path.open("w", encoding="utf-8-sig", newline="") as file:  # Excel reads UTF-8 by its mark alone
                write_csv(file, names, rows, "\t" if suffix == ".tsv" else ",")
    return len(rows)


def table_text(run: AnyRun, *, cases: CaseSource | None = None, texts: bool = True) -> str:
    """The same as CSV in one text; arguments as of `export_table`."""
    rows, file = list(table_rows(run, cases=cases, texts=texts)), io.StringIO(newline="")
    write_csv(file, list(dict.fromkeys(name for row in rows for name in row)), rows, ",")
    return file.getvalue()


def table_rows(run: AnyRun, *, cases: CaseSource | None, texts: bool) -> Iterator[dict[str, Any]]:
    """A flat row for each verdict, those of its case behind it, in the order of the cases; else as they were judged."""
    opened = open_run(run)
    rows = {judged.case_id: flat_row(judged) for judged in opened}
    source = texts_of(opened.path, opened.source, cases) if texts else None
    if source is None:
        yield from rows.values()
        return
    for case in source.cases():
        row = rows.pop(case.id, None)
        if row is not None:
            yield row | {name: value for name, value in _texts(case).items() if name not in row}
    if rows:
        raise RunError(f"{opened.path}: case {min(rows)!r} is no longer in {source.source}. Use --no-texts.")


def _texts(case: Case) -> dict[str, Any]:
    names: tuple[str, ...] = ("response_a", "response_b") if case.is_pair else ("response",)
    if len(case.candidates) > 2:
        names = tuple(f"option_{number}" for number in range(len(case.candidates)))
    candidates = dict(zip(names, (candidate.text for candidate in case.candidates), strict=True))
    votes = {"votes": json.dumps([vote.answer for vote in case.votes])} if case.votes else {}
    return {
        "query": case.query,
        **candidates,
        **votes,
        **{str(name): _plain(value) for name, value in case.meta.items()},
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | None) else json.dumps(value, ensure_ascii=False, default=str)


def write_csv(file: IO[str], names: list[str], rows: list[dict[str, Any]], mark: str) -> None:
    """Rows as CSV. A text that a spreadsheet program would compute, such as =1+1, gets an apostrophe before it."""
    writer = csv.DictWriter(file, names, delimiter=mark)
    writer.writerow({name: _inert(name) for name in names})
    writer.writerows({name: _inert(value) for name, value in row.items()} for row in rows)


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _write_parquet(path: Path, names: list[str], rows: list[dict[str, Any]]) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise DeclarationError(f"{path}: writing Parquet needs pyarrow. {install_hint('data')}") from None
    whole = [{name: row.get(name) for name in names} for row in rows]
    mixed = [name for name in names if len({type(row[name]) for row in whole if row[name] is not None}) > 1]
    for row in whole:
        row.update({name: str(row[name]) for name in mixed if row[name] is not None})
    parquet.write_table(pyarrow.Table.from_pylist(whole), path)


def _write_workbook(path: Path, names: list[str], rows: list[dict[str, Any]]) -> None:
    try:
        import openpyxl
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    except ImportError:
        raise DeclarationError(f"{path}: writing Excel files needs openpyxl. {install_hint('data')}") from None
    book = openpyxl.Workbook()
    lines: list[list[Any]] = [list(names), *([row.get(name) for name in names] for row in rows)]
    for number, line in enumerate(lines, start=1):
        for column, value in enumerate(line, start=1):
            if isinstance(value, str):
                cell = book.active.cell(number, column, ILLEGAL_CHARACTERS_RE.sub("\ufffd", value)[:32767])
                cell.data_type = "s"  # also of what begins with =
            else:
                book.active.cell(number, column, value)
    book.save(path)
