"""Rows in memory: dicts, records or a data frame, written to a file before anything reads them."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.case import Record
from ..data.readers import file_digest
from ..engines.jsonl import write_whole
from ..errors import DataError
from ..paths import private_folder
from .case_source import CaseSource


@dataclass(frozen=True)
class StoredRows:
    """Rows in memory that are written to a file before they are read, so that any later run can read them again.

    Attributes:
        text: the rows as JSON Lines.
        options: the fields of the `CaseSource` that reads them.
    """

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def digest(self) -> str:
        """SHA-256 of the file that `store` writes."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def stem(self) -> str:
        return f"rows-{self.digest()[:8]}"

    def store(self, path: Path) -> CaseSource:
        """Write the rows, unless the file holds them already; the source that reads them."""
        if not path.is_file() or file_digest(path) != self.digest():
            private_folder(path.parent)
            write_whole(path, self.text)
        return CaseSource(str(path), **self.options)


def rows_of(rows: Any, who: str, advice: str) -> Iterable[Any]:
    """The rows of a data frame, or of any other iterable.

    Args:
        who: begins the message about anything else.
        advice: ends it: what to give.

    Raises:
        DataError: one thing, something that has no rows, or a frame with two columns of one name.
    """
    if hasattr(rows, "to_dicts"):  # polars
        return list(rows.to_dicts())
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # pandas
        if repeated := [str(name) for name, count in Counter(rows.columns).items() if count > 1]:
            raise DataError(f"{who}: more than one column is called {repeated[0]!r}. Rename all but one of them.")
        return list(rows.to_dict("records"))
    if isinstance(rows, Mapping | Record) or not isinstance(rows, Iterable):
        raise DataError(f"{who}: a {type(rows).__name__} is not a collection of rows. Give {advice}.")
    return rows


def json_row(who: str, number: int, row: Any, *, nulls: Collection[str] = ()) -> str:
    """One row as JSON, without its missing values.

    Args:
        nulls: fields whose missing value stays, as null.

    Raises:
        DataError: neither a mapping nor a record, or a value that JSON cannot hold.
    """
    if not isinstance(row, Mapping | Record):
        raise DataError(f"{who}, row {number}: a {type(row).__name__} is not a row. Give dicts.")
    try:
        if isinstance(row, Record):
            return row.model_dump_json()
        values = {str(name): value for name, value in row.items() if not _is_missing(value)}
        values |= {name: None for name in nulls if name in row and name not in values}
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=_json_value)
        text.encode()
        return text
    except UnicodeEncodeError:
        raise DataError(f"{who}, row {number}: a text holds half of a UTF-16 pair. Repair the text.") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{who}, row {number}: {error}. Give texts, numbers, lists and dicts.") from None


def _is_missing(value: Any) -> bool:
    """What data frames hold where a row has no value: None, NaN, NaT."""
    return value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("<NA>", "NaT")


def _json_value(value: Any) -> Any:
    """NumPy scalars and arrays as Python's own; records as dicts."""
    for method in ("model_dump", "tolist", "isoformat"):
        if hasattr(value, method):
            return getattr(value, method)()
    raise TypeError(f"a {type(value).__name__} is not JSON")
