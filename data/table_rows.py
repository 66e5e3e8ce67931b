"""Rows of Parquet files and of Hugging Face data sets."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import DataError, DeclarationError, install_hint
from .csv_rows import ParsedRow, check_names


def parquet_rows(path: Path) -> Iterator[ParsedRow]:
    """The rows of a Parquet file, read in batches.

    Raises:
        DeclarationError: pyarrow is not installed.
        DataError: the file cannot be read, is damaged, or has two columns of one name.
    """
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise DeclarationError(f"{path}: reading Parquet needs pyarrow. {install_hint('data')}") from None
    line = 0
    try:
        with parquet.ParquetFile(path) as file:
            check_names(str(path), file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=1024):
                for row, problem in _batch_rows(batch):
                    line += 1
                    yield line, row, problem
    except DataError:
        raise
    except Exception as error:  # pyarrow raises its own and OSError for what is no Parquet file, or a damaged page
        where = f"{path} after row {line}: the file is damaged" if line else f"{path}: not a Parquet file"
        raise DataError(f"{where} ({_one_line(error)}). Copy it again.") from None


def _batch_rows(batch: Any) -> Iterator[tuple[dict[str, Any], str]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (ValueError, OverflowError):  # a text that is not UTF-8, a date beyond the year 9999
        for index in range(batch.num_rows):
            try:
                (row,) = batch.slice(index, 1).to_pylist()
                yield row, ""
            except (ValueError, OverflowError) as error:
                yield {}, f"a value cannot be read ({_one_line(error)})."
        return
    for row in rows:
        yield row, ""


def hub_rows(name: str) -> Iterator[ParsedRow]:
    """The rows of `NAME[:SPLIT]` on the Hugging Face hub, or of a folder of that library.

    Raises:
        DeclarationError: datasets is not installed.
        DataError: the data set cannot be read.
    """
    path, _, split = name.partition(":")
    if not path.strip():
        raise DataError("hf: no data set is named. Write hf:NAME or hf:NAME:SPLIT.")
    try:
        import datasets
    except ImportError:
        raise DeclarationError(f"hf:{name}: reading from the hub needs datasets. {install_hint('data')}") from None
    line = 0
    try:
        rows: Any = datasets.load_dataset(path, split=split or "train", streaming=True)
        for line, row in enumerate(rows, start=1):
            yield line, row, ""
    except DataError:
        raise
    except Exception as error:  # the library raises many kinds: no such name or split, no network, a broken shard
        reason = f"{type(error).__name__}: {_one_line(error)}"
        if isinstance(error, IndexError | KeyError | TypeError | AttributeError):
            reason = f"the library fails with {reason}; is the name right?"
        raise DataError(f"hf:{name} after row {line}: the data set cannot be read ({reason}).") from None


def _one_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
