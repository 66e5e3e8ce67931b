"""Streaming readers: JSONL and CSV (also gzipped), Parquet and Hugging Face data sets to cases.

A file is never read into memory as a whole. A bad row is an error that names file, line, field and value; with
`rejects` it is written there, counted, and reading goes on. Ids must be unique: a digest of every id stays in memory
(about 70 bytes a row).
"""

import csv
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from pydantic import ValidationError

from ..errors import DataError, DeclarationError
from .case import Case
from .rows import FieldError, Row, Scale, bad_row, explain, row_to_case

HUB = "hf:"
SURPLUS = "(more cells than the header)"
BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


class Rejects:
    """A JSONL file of the rows that could not be read: `{"line", "error", "row"}`; created at the first bad row."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.first = path, 0, ""
        self._file: IO[str] | None = None

    def add(self, line: int, error: str, row: object) -> None:
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8")
            self.first = f"line {line}: {error}"
        self._file.write(json.dumps({"line": line, "error": error, "row": row}, ensure_ascii=False, default=str) + "\n")
        self.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


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
    for line, row in _rows(name, rejects):
        try:
            if SURPLUS in row:
                raise FieldError(
                    "row", row[SURPLUS], "It has more cells than the header; quote texts that hold commas."
                )
            if fields:
                row = _renamed(row, fields, first=not seen)
            case = row_to_case(row, default_id=f"{stem}:{line}", scale=scale)
            key = int.from_bytes(hashlib.blake2b(case.id.encode(), digest_size=8).digest())
            if key in seen:
                raise FieldError("id", case.id, "An earlier row has the same id; ids must be unique.")
            seen.add(key)
        except (FieldError, ValidationError) as error:
            if rejects is None:
                raise bad_row(name, line, error) from None
            rejects.add(line, explain(error), dict(row))
            continue
        yield case


def _renamed(row: Row, fields: Mapping[str, str], *, first: bool) -> Row:
    """The row with our names; a column that the first row lacks is a misspelt one."""
    missing = [theirs for theirs in fields.values() if first and theirs not in row]
    if missing:
        raise FieldError("fields", missing[0], f"The rows have no such column; theirs are {', '.join(map(str, row))}.")
    other = {name: value for name, value in row.items() if name not in fields.values()}
    return {**other, **{ours: row.get(theirs) for ours, theirs in fields.items()}}


def _rows(name: str, rejects: Rejects | None) -> Iterator[tuple[int, Row]]:
    if name.startswith(HUB):
        yield from _hub_rows(name.removeprefix(HUB))
        return
    path = Path(name)
    if not path.is_file():
        raise DataError(
            f"{name}: there is no such file. Give a .jsonl, .csv or .parquet file, hf:NAME or a catalogue name."
        )
    suffix = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
    if suffix == ".parquet":
        yield from _parquet_rows(path)
    elif suffix == ".csv":
        yield from _csv_rows(path)
    elif suffix in (".jsonl", ".json", ".ndjson"):
        yield from _jsonl_rows(path, rejects)
    else:
        raise DataError(f"{name}: the ending {suffix!r} is not known. Use .jsonl, .csv or .parquet (.gz may follow).")


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _jsonl_rows(path: Path, rejects: Rejects | None) -> Iterator[tuple[int, Row]]:
    with _open(path) as file:
        try:
            for line, raw in enumerate(file, start=1):
                if not raw.strip():
                    continue
                problem = ""
                try:
                    row = json.loads(raw)
                    if isinstance(row, dict):
                        yield line, row
                        continue
                    problem = f"the line is a JSON {type(row).__name__}, not an object. Write one object a line."
                except UnicodeDecodeError as error:
                    problem = f"byte {error.start} is not UTF-8. Save the file as UTF-8."
                except json.JSONDecodeError as error:
                    problem = f"not JSON ({error.msg}, column {error.colno}). Write one JSON object a line."
                except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
                    problem = f"not JSON that can be read ({error}). Write one JSON object a line."
                if rejects is None:
                    raise DataError(f"{path} line {line}: {problem}")
                rejects.add(line, problem, raw.decode("utf-8", "replace").rstrip("\n"))
        except BROKEN_GZIP as error:
            raise DataError(f"{path}: not a whole gzip file ({error}). Copy it again.") from None


def _csv_rows(path: Path) -> Iterator[tuple[int, Row]]:
    csv.field_size_limit(2**27)  # the default of 128 KiB is shorter than some documents
    with _open(path) as file:
        lines = (raw.decode("utf-8" if number else "utf-8-sig") for number, raw in enumerate(file))
        reader = csv.DictReader(lines, restkey=SURPLUS)
        try:
            for row in reader:
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            line = reader.line_num + isinstance(error, UnicodeDecodeError)  # a line that is not decoded is not counted
            raise DataError(f"{path} line {line}: not CSV in UTF-8 ({error}). Save it as such.") from None
        except BROKEN_GZIP as error:
            raise DataError(f"{path}: not a whole gzip file ({error}). Copy it again.") from None


def _parquet_rows(path: Path) -> Iterator[tuple[int, Row]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DeclarationError(f"{path}: reading Parquet needs pyarrow. pip install 'dicast[data]'") from None
    try:
        file = parquet.ParquetFile(path)
    except Exception as error:  # pyarrow raises its own and OSError for what is no Parquet file
        raise DataError(f"{path}: not a Parquet file ({error}).") from None
    line = 0
    for batch in file.iter_batches(batch_size=1024):
        for row in batch.to_pylist():
            line += 1
            yield line, row


def _hub_rows(name: str) -> Iterator[tuple[int, Row]]:
    try:
        import datasets
    except ImportError:
        raise DeclarationError(f"hf:{name}: reading from the hub needs datasets. pip install 'dicast[data]'") from None
    path, _, split = name.partition(":")
    line = 0
    try:
        rows: Any = datasets.load_dataset(path, split=split or "train", streaming=True)
        for line, row in enumerate(rows, start=1):
            yield line, row
    except DataError:
        raise
    except Exception as error:  # the library raises many kinds: no such name or split, no network, a broken shard
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise DataError(f"hf:{name} after row {line}: the data set cannot be read ({reason}).") from None


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
