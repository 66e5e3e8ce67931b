"""Streaming readers: JSONL and CSV (also gzipped), Parquet and Hugging Face data sets to cases.

A file is never read into memory as a whole. A bad row is an error that names file, line, field and value; with
`rejects` it is written there, counted, and reading goes on. Ids must be unique: a digest of every id stays in memory
(about 70 bytes a row).
"""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from ..errors import DataError
from ..parsing import JsonError, explain, json_kind, load_json
from .case import Case
from .csv_rows import ParsedRow, csv_rows
from .lines import lines_of
from .rejects import Rejects
from .rows import FieldError, Row, Scale, bad_row, row_to_case
from .table_rows import hub_rows, parquet_rows

HUB = "hf:"
ONE_A_LINE = "Write one JSON object a line."


def read_cases(
    source: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    scale: Scale = (1, 5),
    rejects: Rejects | None = None,
) -> Iterator[Case]:
    """The cases of a file or of a Hugging Face data set, one at a time, in order.

    Args:
        source: a path ending in .jsonl, .json (one object a line), .csv or .parquet, or `hf:NAME[:SPLIT]`.
        fields: our field name -> the name of the column that holds it, as in {"response_a": "chosen"}.
        scale: lowest and highest score of pointwise rows that name no scale.
        rejects: takes the bad rows; without it the first bad row raises.

    Raises:
        DataError: the file cannot be read, or a row is bad or repeats an id (file, line, field, value).
    """
    name = str(source)
    stem = name.removeprefix(HUB) if name.startswith(HUB) else Path(name.removesuffix(".gz")).stem
    seen: set[int] = set()
    for line, row, problem in _rows(name):
        try:
            if problem:
                raise FieldError("row", row, "", problem)
            named = _renamed(row, fields, first=not seen) if fields else row
            case = row_to_case(named, default_id=f"{stem}:{line}", scale=scale)
            key = int.from_bytes(hashlib.blake2b(case.id.encode(), digest_size=8).digest())
            if key in seen:
                raise FieldError("id", case.id, "An earlier row has the same id; ids must be unique.")
            seen.add(key)
        except (FieldError, ValidationError) as error:
            if rejects is None:
                raise bad_row(name, line, error) from None
            rejects.add(line, explain(error), row)
            continue
        yield case


def _renamed(row: Row, fields: Mapping[str, str], *, first: bool) -> Row:
    """The row with our names; a column that the first row lacks is a misspelt one."""
    missing = [theirs for theirs in fields.values() if first and theirs not in row]
    if missing:
        raise FieldError(
            "fields", missing[0], f"The rows have no such column; theirs are {', '.join(map(str, row))[:300]}."
        )
    other = {name: value for name, value in row.items() if name not in fields.values()}
    return {**other, **{ours: row.get(theirs) for ours, theirs in fields.items()}}


def _rows(name: str) -> Iterator[ParsedRow]:
    if name.startswith(HUB):
        yield from hub_rows(name.removeprefix(HUB))
        return
    path = Path(name)
    if not path.is_file():
        raise DataError(
            f"{name}: there is no such file. Give a .jsonl, .csv or .parquet file, hf:NAME or a catalogue name."
        )
    suffix = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
    if suffix == ".parquet":
        yield from parquet_rows(path)
    elif suffix == ".csv":
        yield from csv_rows(path)
    elif suffix in (".jsonl", ".json", ".ndjson"):
        yield from _jsonl_rows(path)
    else:
        raise DataError(f"{name}: the ending {suffix!r} is not known. Use .jsonl, .csv or .parquet (.gz may follow).")


def _jsonl_rows(path: Path) -> Iterator[ParsedRow]:
    for line, raw in enumerate(lines_of(path), start=1):
        if not raw.strip():
            continue
        try:
            row = load_json(raw, nan=True)
        except JsonError as error:
            advice = "Save the file as UTF-8." if "not UTF-8" in str(error) else ONE_A_LINE
            yield line, raw.decode("utf-8", "replace").rstrip("\r\n"), f"{error}. {advice}"
            continue
        if isinstance(row, dict):
            yield line, row, ""
        else:
            yield line, raw.decode().rstrip("\r\n"), f"the line is a JSON {json_kind(row)}, not an object. {ONE_A_LINE}"


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
