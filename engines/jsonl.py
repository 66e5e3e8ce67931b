"""JSON Lines files that survive a kill: whole lines, cut back to the last one, one writer at a time."""

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import RunError

SYNC_EVERY = 5.0  # seconds between forced writes to the disk, against a power cut


class Appending:
    """A file opened to append whole lines to; each is flushed, and now and then forced to the disk."""

    def __init__(self, path: Path) -> None:
        self.path, self._synced = path, time.monotonic()

    def __enter__(self) -> "Appending":
        self._file = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        sync(self._file)
        self._file.close()

    def add(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()
        if time.monotonic() - self._synced > SYNC_EVERY:
            sync(self._file)
            self._synced = time.monotonic()


@contextmanager
def only_writer(lock: Path, what: Path) -> Iterator[None]:
    """Keep other processes from writing; raises RunError when one is."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("a") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no flock on this system
            pass
        except OSError:
            raise RunError(f"{what}: another process is writing here. Wait for it, or give another --out.") from None
        yield


def key(case_id: str) -> int:
    """8 bytes stand for an id, so that a million ids fit in memory."""
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest())


def drop_unfinished_line(path: Path) -> None:
    """Cut off what a kill left of a line: everything after the last newline."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        start = end
        tail = b""
        while start and b"\n" not in tail:
            start = max(0, start - 65536)
            file.seek(start)
            tail = file.read(end - start)
        file.truncate(start + tail.rfind(b"\n") + 1)


def write_whole(path: Path, text: str) -> None:
    """Write so that the file is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        sync(file)
    part.replace(path)


def sync(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())
