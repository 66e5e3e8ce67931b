"""The rows of a published set's file: JSON Lines, a JSON array, CSV or Parquet, also gzipped."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from ...data.readers import read_rows
from ...errors import DataError
from ...parsing import JsonError, load_json
from .judgment import Row

ARRAY = b"["


def read_set_file(path: Path) -> Iterator[Row]:
    """The rows, in order.

    Raises:
        DataError: the file cannot be read, or holds what is no row.
    """
    if not path.is_file():
        raise DataError(f"{path}: there is no such file. Give the set's file, as it is published.")
    if ".json" in path.suffixes and _opened(path, 64).lstrip().startswith(ARRAY):
        yield from _array(path)
    else:
        yield from read_rows(str(path))


def _array(path: Path) -> Iterator[Row]:
    try:
        rows = load_json(_opened(path, -1), nan=True)
    except JsonError as error:
        raise DataError(f"{path}: {error}. Copy the file again.") from None
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(f"{path}: element {number} is no object. Give the set's file, as it is published.")
        yield row


def _opened(path: Path, size: int) -> bytes:
    """So many bytes of the file, unpacked; -1: all."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            return file.read(size)
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read ({error}). Copy the file again.") from None
