"""The rows that could not be read, kept aside in a file."""

import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ..errors import DataError
from ..parsing import shown

NO_LINK = getattr(os, "O_NOFOLLOW", 0)  # a link could lead the texts to a file of somebody else


class Rejects:
    """A private JSONL file of rows that could not be read, `{"line", "error", "row"}`; made at the first bad row."""

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.first = path, 0, ""
        self._file: IO[bytes] | None = None

    def add(self, line: int, error: str, row: object) -> None:
        """Write a row, whatever it holds; raises DataError where the file cannot be made."""
        if self._file is None:
            self._file = self._opened()
            self.first = f"line {line}: {error}"
        content = {"line": line, "error": error, "row": row}
        try:
            text = json.dumps(content, ensure_ascii=False, default=str)
        except (ValueError, TypeError, RecursionError):  # a key that is no text, a value inside itself
            text = json.dumps(content | {"row": shown(row)}, ensure_ascii=False)
        self._file.write(text.encode("utf-8", "backslashreplace") + b"\n")  # \ud83d is how JSON writes half a character
        self.count += 1

    def _opened(self) -> IO[bytes]:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | NO_LINK
            return os.fdopen(os.open(self.path, flags, 0o600), "wb")
        except OSError as error:
            reason = "it is a link" if self.path.is_symlink() else error.strerror or error
            raise DataError(f"{self.path}: cannot take the bad rows ({reason}). Remove it.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()
