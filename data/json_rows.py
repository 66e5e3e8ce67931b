"""Rows of JSON files: one object a line, one array of objects, or one object with the rows in it.

Arrays are what Label Studio, Argilla, Langfuse and pandas write; `{"columns": ..., "data": ...}` is the split form of
pandas and of MLflow's tables; an object of equally long lists is a table by columns (Argilla's `to_dict`).
"""

import codecs
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..parsing import JsonError, json_elements, json_kind, load_json
from .csv_rows import ParsedRow
from .lines import lines_of

ONE_A_LINE = "Write one JSON object a line."
MOST_BYTES = 1 << 27  # of a file that is one object over several lines: 128 MiB
WRAPPERS = ("data", "rows", "records", "items", "results", "examples", "traces", "tasks")
ARRAY = re.compile(rb"\[\s*(\{|$)")  # of objects
OURS = {"query", "question", "candidates", "response", "response_a", "text"}  # of a row that is one case


def json_rows(path: Path, encoding: str = "") -> Iterator[ParsedRow]:
    """The rows of a JSON file, with the line, or the place in the array, of each.

    Raises:
        DataError: the file cannot be read, or its array or object is broken.
    """
    first = [line for line in islice(lines_of(path, encoding), 2) if line.strip()]
    start = first[0].lstrip(codecs.BOM_UTF8).strip() if first else b""
    if ARRAY.match(start) and not _is_whole(start, list):
        yield from _array_rows(path, encoding)
        return
    rows = _objects(_whole(start)) if start[:1] == b"[" else []
    if start[:1] == b"{" and (len(first) == 1 or not _is_whole(start, dict)):
        rows = _inside(path, encoding)
    if rows:
        yield from ((number, row, "") for number, row in enumerate(rows, start=1))
    else:
        yield from _line_rows(path, encoding)


def _line_rows(path: Path, encoding: str) -> Iterator[ParsedRow]:
    for line, raw in enumerate(lines_of(path, encoding), start=1):
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


def _array_rows(path: Path, encoding: str) -> Iterator[ParsedRow]:
    try:
        parts = codecs.iterdecode(lines_of(path, encoding), "utf-8-sig")
        for number, row in enumerate(json_elements(parts), start=1):
            if isinstance(row, dict):
                yield number, row, ""
            else:
                yield number, row, f"the element is a JSON {json_kind(row)}, not an object."
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is not UTF-8 ({error.reason}). Save the file as UTF-8.") from None
    except JsonError as error:
        raise DataError(f"{path}: {error}. Export it again.") from None


def _inside(path: Path, encoding: str) -> list[dict[str, Any]]:
    """The rows of a file that is one object; [] where it is none, or holds none: its lines are read then."""
    content = bytearray()
    for line in lines_of(path, encoding):
        content += line
        if len(content) > MOST_BYTES:
            return []
    try:
        value = load_json(bytes(content), nan=True)
    except JsonError:
        return []
    return rows_of_object(value) if isinstance(value, dict) else []


def rows_of_object(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that one object holds: a list of objects, a table by rows or by columns; else the object itself.

    Example:
        >>> rows_of_object({"columns": ["q", "label"], "data": [["a?", "pass"], ["b?", "fail"]]})
        [{'q': 'a?', 'label': 'pass'}, {'q': 'b?', 'label': 'fail'}]
        >>> rows_of_object({"q": ["a?", "b?"], "label": ["pass", "fail"]})
        [{'q': 'a?', 'label': 'pass'}, {'q': 'b?', 'label': 'fail'}]
        >>> rows_of_object({"data": [{"q": "a?"}], "meta": {"page": 1}})
        [{'q': 'a?'}]
    """
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, names), row, strict=False)) for row in data]
    if not OURS & value.keys():
        for name in WRAPPERS:
            if rows := _objects(value.get(name)):
                return rows
    lists = list(value.values())
    if len(lists) > 1 and all(isinstance(cells, list) and len(cells) == len(lists[0]) for cells in lists) and lists[0]:
        return [dict(zip(value, cells, strict=True)) for cells in zip(*lists, strict=True)]
    return [value]


def _objects(value: object) -> list[dict[str, Any]]:
    """The value, if it is a list of objects and holds any; else []."""
    return value if isinstance(value, list) and value and all(isinstance(item, dict) for item in value) else []


def _is_whole(line: bytes, kind: type) -> bool:
    """Whether a line is a JSON value of this kind by itself."""
    return isinstance(_whole(line), kind)


def _whole(line: bytes) -> Any:
    """The JSON value that a line is by itself; None for any other line."""
    try:
        return load_json(line, nan=True)
    except JsonError:
        return None
