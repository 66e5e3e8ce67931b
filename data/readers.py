"""Streaming readers: JSON, JSONL and CSV (also gzipped), Excel, Parquet and Hugging Face data sets to cases.

A file is not read into memory as a whole, except where several rows are one case. A bad row is an error that names
file, line, field and value; with `rejects` it is written there, counted, and reading goes on. Ids must be unique: a
digest of every id stays in memory (about 70 bytes a row).
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from ..errors import DataError
from ..parsing import explain
from .case import Case
from .category_rows import category_words, may_be_of_category
from .category_words import MOST, of_counts
from .csv_rows import ParsedRow, csv_rows
from .json_rows import json_rows
from .layout import PLAIN, Fields, Layout, arrange
from .rejects import Rejects
from .row_fields import FieldError, Row
from .rows import Scale, bad_row, row_to_case
from .sheet_rows import sheet_rows
from .table_rows import hub_rows, parquet_rows

HUB = "hf:"
MOST_WORDS = 5 * MOST  # spellings of categories that are counted
ENDINGS = ".jsonl, .json, .csv, .tsv, .xlsx or .parquet"


def read_cases(
    source: str | Path,
    *,
    fields: Fields | None = None,
    scale: Scale = (1, 5),
    categories: Sequence[str] = (),
    rejects: Rejects | None = None,
    layout: Layout = PLAIN,
) -> Iterator[Case]:
    """The cases of a file or of a Hugging Face data set, one at a time, in order.

    Args:
        source: a path ending in .jsonl, .json (one object a line, or one array), .csv, .tsv, .xlsx or .parquet, or
            `hf:NAME[:SPLIT]`.
        fields: our field name -> the name of the column that holds it, as in {"response_a": "chosen"}, or the names of
            several, as in {"votes": ("anna", "ben")}.
        scale: lowest and highest score of pointwise rows that name no scale.
        categories: what texts without a score may be labelled with, of two the positive one last. Without it they are
            the words of all labels, for which a file of such texts is read twice (data/category_words.py).
        rejects: takes the bad rows; without it the first bad row raises.
        layout: how rows are arranged otherwise: other words of labels, several rows a case, a tool's export.

    Raises:
        DataError: the file cannot be read, or a row is bad or repeats an id (file, line, field, value).
    """
    name = str(source)
    stem = name.removeprefix(HUB) if name.startswith(HUB) else Path(name.removesuffix(".gz")).stem
    seen: set[int] = set()
    known: Sequence[str] | None = categories or None
    for line, row, named, problem in arrange(parsed_rows(name, layout), fields or {}, layout):
        try:
            if problem is not None:
                raise problem
            if known is None and may_be_of_category(named):
                known = find_categories(name, fields, layout)
            case = row_to_case(named, default_id=f"{stem}:{line}", scale=scale, categories=known or ())
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


def find_categories(source: str | Path, fields: Fields | None = None, layout: Layout = PLAIN) -> tuple[str, ...]:
    """The categories of the labels of a whole file or set, in order; () where its labels are no words.

    Raises:
        DataError: the file cannot be read, or its labels are no categories.
    """
    counts, name = Counter[str](), str(source)
    for _, _, named, problem in arrange(parsed_rows(name, layout), fields or {}, layout):
        if problem is not None or not isinstance(named, dict):
            continue
        if may_be_of_category(named) and not named.get("categories") and len(counts) <= MOST_WORDS:
            counts.update(category_words(named))
    try:
        return of_counts(counts)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None


def read_rows(source: str) -> Iterator[Row]:
    """The rows of a file or data set as they are, for other things than cases.

    Raises:
        DataError: the file cannot be read, or a row is bad (file, line).
    """
    for line, row, problem in parsed_rows(source):
        if problem:
            raise DataError(f"{source} line {line}: {problem}")
        yield row


def parsed_rows(name: str, layout: Layout = PLAIN) -> Iterator[ParsedRow]:
    """The rows of a file or data set as its format gives them, by the ending of its name.

    Raises:
        DataError: no such file, an ending that is not known, or a file that cannot be read.
    """
    if name.startswith(HUB):
        yield from hub_rows(name.removeprefix(HUB))
        return
    path = Path(name)
    if not path.is_file():
        raise DataError(f"{name}: there is no such file. Give a {ENDINGS} file, hf:NAME or a catalogue name.")
    suffix = next((suffix.lower() for suffix in reversed(path.suffixes) if suffix != ".gz"), "")
    if suffix == ".parquet":
        yield from parquet_rows(path)
    elif suffix in (".csv", ".tsv"):
        yield from csv_rows(path, layout.encoding)
    elif suffix in (".xlsx", ".xlsm"):
        yield from sheet_rows(path, layout.sheet)
    elif suffix in (".jsonl", ".json", ".ndjson"):
        yield from json_rows(path, layout.encoding)
    else:
        raise DataError(f"{name}: the ending {suffix!r} is not known. Use {ENDINGS} (.gz may follow).")


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
