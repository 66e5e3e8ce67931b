"""What a user gives as cases: a path, a name, rows in memory; a file is read as the project of its folder says."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data import Case
from ..data.refusal_detection import RefusalFilter
from ..errors import DataError
from .case_source import CaseSource
from .memory_rows import StoredRows, json_row, rows_of
from .project import project_reading

Cases = str | Path | CaseSource | StoredRows | Iterable[Case | Mapping[str, Any]]  # or a pandas or polars data frame


def case_source(cases: Any, **options: Any) -> CaseSource | StoredRows:
    """The source of what a user gives as cases.

    Args:
        cases: a file, which is read as the dicast.toml of the working folder says where it has the columns of its
            data; the name of a public set, `hf:NAME`, a CaseSource, a list of dicts or of Case, or a pandas or polars
            DataFrame with the columns of a file.
        options: fields of the CaseSource; None leaves a field as it is.

    Raises:
        DataError: rows that are neither dicts nor cases, or hold a value that JSON cannot.
    """
    set_options = {name: value for name, value in options.items() if value is not None}
    if isinstance(cases, CaseSource):
        return CaseSource(**{**cases.__dict__, **set_options})
    if isinstance(cases, StoredRows):
        return StoredRows(cases.text, {**cases.options, **set_options})
    if isinstance(cases, str | Path):
        is_stated = bool({"fields", "layout"} & set_options.keys())
        read = None if is_stated else project_reading(cases)
        return replace(read or CaseSource(str(cases)), **set_options)
    listed = rows_of(cases, "cases", "a path, a list of dicts, a list of Case, or a DataFrame")
    rows = [json_row("cases", number, row) for number, row in enumerate(listed, start=1)]
    if not rows:
        raise DataError("cases: there is no row. Give at least one.")
    return StoredRows("".join(row + "\n" for row in rows), set_options)


def filtered_for(source: CaseSource | StoredRows, refusals: RefusalFilter) -> CaseSource | StoredRows:
    """The source, with this filter of refusals where it names none."""
    if isinstance(source, StoredRows):
        return StoredRows(source.text, {"refusals": refusals, **source.options})
    return source if source.refusals else replace(source, refusals=refusals)
