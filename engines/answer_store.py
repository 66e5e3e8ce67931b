"""The answer store: replies that were paid for, in one SQLite file, so that no run asks twice.

Each answer is committed as it comes (0.02 ms; write-ahead log), so that a kill loses none and several processes share
the file. It holds JSON and nothing that runs code. Where the file cannot be written or read, calls go on without it and
one warning says so.
"""

import contextlib
import logging
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TypeVar

from ..errors import DeclarationError
from ..paths import home, private_folder

FILE = "answers.sqlite"
DEFAULT_LIMIT = 10 << 30  # bytes
LIMIT_CHECKED_EVERY = 1000  # answers
CULLED = 0.1  # part of the answers, the oldest, that makes room for new answers
PATIENCE = 10.0  # seconds until another process that writes is given up on
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS answers (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, answer BLOB NOT NULL)"
)
CULL = "DELETE FROM answers WHERE number <= (SELECT min(number) + (max(number) - min(number)) * ? FROM answers)"

Result = TypeVar("Result")
logger = logging.getLogger("dicast")


_anew: ContextVar[bool] = ContextVar("dicast_anew", default=False)


@contextlib.contextmanager
def asking_anew() -> Iterator[None]:
    """Inside, in every thread that keeps the context, no store gives or takes an answer: each call is made."""
    token = _anew.set(True)
    try:
        yield
    finally:
        _anew.reset(token)


class AnswerStore:
    """Answers by key.

    Args:
        folder: where the file is or will be; None keeps the answers in memory, for this process.
        limit: bytes; the oldest answers are removed beyond it.
        file: its name in the folder.
    """

    def __init__(self, folder: Path | None, limit: int = DEFAULT_LIMIT, file: str = FILE) -> None:
        self.folder, self.limit, self.file = folder, limit, file
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0  # that opened the connection; a forked child opens its own and must not close the other
        self._inherited: sqlite3.Connection | None = None
        self._read_only = self._off = False
        self._puts = 0

    def get(self, key: bytes) -> bytes | None:
        """The answer; None when there is none, the file cannot be read, or inside `asking_anew`."""
        if _anew.get():
            return None
        row = self._run(lambda file: file.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone())
        return row[0] if row and isinstance(row[0], bytes) else None

    def put(self, key: bytes, answer: bytes) -> None:
        """Store an answer, in place of an earlier one of the same key; none inside `asking_anew`."""
        if _anew.get():
            return

        def write(file: sqlite3.Connection) -> None:
            if self._puts % LIMIT_CHECKED_EVERY == 0:
                self._cull(file)
            self._puts += 1
            file.execute("INSERT OR REPLACE INTO answers (key, answer) VALUES (?, ?)", (key, answer))

        self._run(write, writes=True)

    def forget(self, keys: list[bytes]) -> None:
        """Remove answers; the next equal call asks the model."""
        rows = [(key,) for key in keys]
        self._run(lambda file: file.executemany("DELETE FROM answers WHERE key = ?", rows), writes=True)

    def _run(self, statement: Callable[[sqlite3.Connection], Result], *, writes: bool = False) -> Result | None:
        """What the statement returns; None where it fails or there is no usable file."""
        with self._lock:
            if self._off or (writes and self._read_only):
                return None
            try:
                if self._connection is None or self._process != os.getpid():
                    self._inherited, self._connection = self._connection, None
                    self._process = os.getpid()
                    self._connection = self._open()
                return statement(self._connection)
            except (sqlite3.Error, OSError) as error:
                self._give_up(error, reading=not writes)
                return None

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def _open(self) -> sqlite3.Connection:
        path = ":memory:"
        if self.folder is not None:
            file = private_folder(self.folder) / self.file
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its other files the same mode
            path = str(file)
        connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(SCHEMA)
        return connection

    def _cull(self, connection: sqlite3.Connection) -> None:
        """Remove the oldest answers when the file is larger than the limit; their pages are used again."""
        pages, free, size = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * size > self.limit:
            connection.execute(CULL, (CULLED,))

    def _give_up(self, error: Exception, *, reading: bool) -> None:
        """Go on without writing, or without the file; says so once."""
        if not self._read_only:
            logger.warning(
                "%s: answers are not stored from here on (%s), so that later runs make these calls again. Free the "
                "disk, delete the file if it is damaged, or set DICAST_ANSWERS to another folder.",
                self.folder,
                error,
            )
        self._read_only = True
        if reading or self._connection is None:
            self._off = True
            with contextlib.suppress(sqlite3.Error):
                self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None


def default_store(file: str = FILE) -> AnswerStore:
    """The store of this process: in the folder DICAST_ANSWERS, else `answers` in the cache folder.

    DICAST_CACHE_LIMIT bounds its size: bytes, or as in 500MB or 5GB; 10 GB by default.

    Raises:
        DeclarationError: DICAST_CACHE_LIMIT is no size.
    """
    folder = os.environ.get("DICAST_ANSWERS")
    path = Path(folder).expanduser() if folder else home() / "answers"
    return _store(path, _size(os.environ.get("DICAST_CACHE_LIMIT", "")), file)


@cache
def _store(folder: Path, limit: int, file: str) -> AnswerStore:
    return AnswerStore(folder, limit, file)


def _size(text: str) -> int:
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)B?\s*", text or f"{DEFAULT_LIMIT}", re.IGNORECASE)
    size = int(float(match[1]) * UNITS[match[2].upper()]) if match else 0
    if size < 1 << 20:
        raise DeclarationError(
            f"DICAST_CACHE_LIMIT: must be a size of at least 1MB, such as 500MB or 5GB, got {text!r}."
        )
    return size
