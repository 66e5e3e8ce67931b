"""Cases from a pipe, as `--cases -` reads them: JSON Lines, a JSON array, or CSV, by how they begin."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from ..data.layout import Layout
from ..data.readers import parsed_rows
from ..errors import DataError
from .memory_rows import StoredRows

MOST_BYTES = 1 << 28  # 256 MiB; files are streamed


def piped_cases(stream: IO[bytes], options: Mapping[str, Any], layout: Layout) -> StoredRows:
    """The rows of a stream, which a run keeps in its folder.

    Args:
        options: fields of the `CaseSource` that reads them.
        layout: of which the encoding is that of the stream.

    Raises:
        DataError: nothing came, more than 256 MiB, or a row that cannot be read.
    """
    with piped_file(stream) as path:
        return piped_rows(path, options, layout)


@contextmanager
def piped_file(stream: IO[bytes]) -> Iterator[str]:
    """What a stream holds, as a file while the context lasts.

    Raises:
        DataError: nothing came, or more than 256 MiB.
    """
    content = stream.read(MOST_BYTES + 1)
    if not content.strip():
        raise DataError("--cases -: standard input is empty. Pipe rows as JSON Lines or CSV.")
    if len(content) > MOST_BYTES:
        raise DataError(f"--cases -: more than {MOST_BYTES >> 20} MiB came. Give a file, which is read in parts.")
    ending = ".jsonl" if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") else ".csv"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"stdin{ending}"
        path.write_bytes(content)
        yield str(path)


def piped_rows(path: str, options: Mapping[str, Any], layout: Layout) -> StoredRows:
    """The rows of such a file; as of `piped_cases`."""
    lines = []
    for line, row, problem in parsed_rows(path, layout):
        if problem:
            raise DataError(f"--cases - line {line}: {problem}")
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    rest = Layout(layout.values, layout.join, layout.export)
    return StoredRows("".join(lines), {**options, "layout": rest})
