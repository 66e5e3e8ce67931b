"""The lines of a text file, gzipped or not, one at a time."""

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import DataError

MOST_BYTES = 1 << 28  # of a line: 256 MiB, so that a file of one endless line does not fill the memory
BROKEN_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)


def lines_of(path: Path, encoding: str = "") -> Iterator[bytes]:
    """The lines of a file, each with its end. A file that ends its lines with CR alone is read as well.

    Args:
        encoding: of the file, of which the lines are then written as UTF-8; "" for a file that is UTF-8.

    Raises:
        DataError: the file cannot be read, is no whole gzip file, has another encoding, or a line of more than 256 MiB.
    """
    if encoding:
        yield from _translated(path, encoding)
        return
    try:
        with _opened(path) as file:
            first = file.readline(MOST_BYTES)
            if b"\r" in first[:-2] and not first.endswith(b"\n"):
                yield from first.splitlines(keepends=True)
            elif first:
                yield _bounded(path, first)
            while line := file.readline(MOST_BYTES):
                yield line if len(line) < MOST_BYTES else _bounded(path, line)
    except BROKEN_GZIP as error:
        raise DataError(f"{path}: not a whole gzip file ({error}). Copy it again.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}). Give another file.") from None


def _translated(path: Path, encoding: str) -> Iterator[bytes]:
    try:
        with _opened(path) as file, io.TextIOWrapper(file, encoding, newline="\n") as text:
            while line := text.readline(MOST_BYTES):
                yield _bounded(path, line.encode("utf-8", "surrogatepass"))
    except LookupError:
        raise DataError(f"{path}: no encoding is called {encoding!r}. Name one such as utf-8, cp1252.") from None
    except UnicodeError as error:
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{path}: is not {encoding} ({reason}). Name another encoding, or save it as UTF-8.") from None
    except BROKEN_GZIP as error:
        raise DataError(f"{path}: not a whole gzip file ({error}). Copy it again.") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}). Give another file.") from None


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _bounded(path: Path, line: bytes) -> bytes:
    if len(line) < MOST_BYTES:
        return line
    raise DataError(f"{path}: has a line of more than {MOST_BYTES >> 20} MiB. Write one row a line.")
