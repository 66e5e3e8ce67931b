"""Rows of Excel workbooks, read one at a time; every cell is a text, as in CSV."""

import datetime
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import DataError, DeclarationError, install_hint
from ..parsing import shown
from .csv_rows import ParsedRow, check_names

MOST_BYTES = 1 << 30  # of a workbook, unpacked
AGAIN = "Open it in a spreadsheet program and save it again, as .xlsx or as CSV in UTF-8."
OLD = b"\xd0\xcf\x11\xe0"  # how .xls of before 2007 and encrypted workbooks begin


def sheet_rows(path: Path, sheet: str = "") -> Iterator[ParsedRow]:
    """The rows of one sheet by its header, the first row that is not empty.

    Args:
        sheet: its name; "" for the first one.

    Raises:
        DeclarationError: openpyxl is not installed.
        DataError: no workbook, or a damaged one; no such sheet; a column without a name, or two of one name.
    """
    header: list[str] = []
    for line, cells in _cells(path, sheet):
        texts = [_text(cell) for cell in cells]
        if not any(texts):
            continue
        if not header:
            header = _header(path, line, texts)
            continue
        if any(texts[len(header) :]):
            surplus = shown(texts[len(header) :])
            yield line, dict(zip(header, texts, strict=False)), f"field 'row' is {surplus}. It has no name above it."
            continue
        texts += [""] * (len(header) - len(texts))
        yield line, dict(zip(header, texts, strict=False)), ""


def sheet_names(path: Path) -> list[str]:
    """The names of the sheets, in order; raises as `sheet_rows`."""
    workbook = _opened(path)
    try:
        return [worksheet.title for worksheet in workbook.worksheets]
    finally:
        workbook.close()


def _cells(path: Path, sheet: str) -> Iterator[tuple[int, list[Any]]]:
    workbook = _opened(path)
    try:
        names = [worksheet.title for worksheet in workbook.worksheets]
        if not names or (sheet and sheet not in names):
            raise DataError(f"{path}: has no sheet {sheet!r}. Its sheets are {', '.join(names) or 'none'}.")
        chosen = workbook[sheet or names[0]]
        chosen.reset_dimensions()  # a wrong size in the file would hide rows
        for line, cells in enumerate(chosen.iter_rows(values_only=True), start=1):
            yield line, list(cells)
    except DataError:
        raise
    except Exception as error:  # openpyxl raises whatever its parsers meet in a damaged part
        raise DataError(f"{path}: a part of the workbook is damaged ({_reason(error)}). {AGAIN}") from None
    finally:
        workbook.close()


def _opened(path: Path) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DeclarationError(f"{path}: reading Excel files needs openpyxl. {install_hint('data')}") from None
    try:
        with path.open("rb") as file:
            if file.read(4) == OLD:
                raise DataError(f"{path}: is a workbook of before 2007, or has a password. {AGAIN}")
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > MOST_BYTES:
            raise DataError(f"{path}: holds {size >> 20:,} MiB, unpacked. Save it as CSV in UTF-8.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and validation, which hold no data
            return openpyxl.load_workbook(path, read_only=True, data_only=True)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}). Give another file.") from None
    except Exception as error:  # no ZIP file, or one without the parts of a workbook
        raise DataError(f"{path}: is no Excel workbook ({_reason(error)}). {AGAIN}") from None


def _header(path: Path, line: int, texts: list[str]) -> list[str]:
    while texts and not texts[-1].strip():
        texts.pop()
    for column, name in enumerate(texts):
        if not name.strip() and column:
            raise DataError(f"{path} line {line}: column {column + 1} has no name. Name every column in the header.")
    check_names(f"{path} line {line}", texts)
    return texts


def _text(cell: Any) -> str:
    """A cell as it would be in CSV: 3.0 is 3, and TRUE is true."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
