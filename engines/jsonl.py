"""JSON Lines files that survive a kill: they grow by whole lines, have one writer, and a manifest identifies them.

Writing is resumed where it stopped: an unfinished last line is cut off, and cases that have a line are skipped.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from ..data import Case
from ..errors import RunError
from .manifest import FORMAT, read_manifest_file

SYNC_EVERY = 5.0  # seconds between forced writes to the disk, against a power cut


class Appending:
    """A file opened to append whole lines to; each line is flushed, and now and then forced to the disk."""

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


class ResumableJsonl:
    """A JSON Lines file, one line a case, with the manifest that identifies its content and a lock for one writer.

    Args:
        lines: the JSON Lines file.
        manifest: JSON with `format` and `identity`; a file with another identity is not continued.
        lock: the file that keeps other processes from writing.
        location: the path that messages name.
        content: what the file holds, in messages.
    """

    def __init__(self, lines: Path, manifest: Path, lock: Path, *, location: Path, content: str) -> None:
        self.lines, self.manifest, self.lock = lines, manifest, lock
        self.location, self.content = location, content
        self.done: set[int] = set()

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from writing; raises RunError when one is."""
        return only_writer(self.lock, self.location)

    def open(self, manifest: dict[str, Any]) -> int:
        """Start the file or continue it: the number of finished cases. A file without any may be started anew.

        Args:
            manifest: `manifest["identity"]` must equal the identity of the existing file.

        Raises:
            RunError: the file holds something else, or is damaged.
        """
        self.lines.parent.mkdir(parents=True, exist_ok=True)
        if self.has_lines():
            self.check(manifest["identity"])
        else:
            write_whole(self.manifest, json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n")
        if self.lines.exists():
            drop_unfinished_line(self.lines)
            self.done = {key(case_id) for case_id in self.finished()}
        return len(self.done)

    def has_lines(self) -> bool:
        return self.lines.exists() and self.lines.stat().st_size > 0

    def finished(self) -> Iterator[str]:
        """The ids of the finished cases; raises RunError for a damaged line."""
        raise NotImplementedError

    def missing(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases that are not finished yet."""
        return (case for case in cases if key(case.id) not in self.done)

    def append(self) -> Appending:
        """The file, to be opened by `with` and passed to `add`."""
        return Appending(self.lines)

    def add(self, file: Appending, case_id: str, line: str) -> None:
        """Append one case's line."""
        file.add(line)
        self.done.add(key(case_id))

    def check(self, identity: dict[str, Any]) -> None:
        """Raises RunError where the file's identity is another; None, False and a missing value are equal."""
        before = self.read_manifest()["identity"]
        for name in before | identity:
            values = [None if value is False else value for value in (before.get(name), identity.get(name))]
            if values[0] != values[1]:
                kind = "folder" if self.location.is_dir() else "file"
                raise RunError(
                    f"{self.location}: holds {self.content} with {name} = {before.get(name)!r}, now it is "
                    f"{identity.get(name)!r}. Give another --out, or delete the {kind}."
                )

    def read_manifest(self) -> dict[str, Any]:
        """The manifest; raises RunError when it is missing, damaged, or of an unknown format."""
        if not self.manifest.exists():
            raise RunError(
                f"{self.location}: has no manifest {self.manifest.name} that says how it was written. "
                "Give another path."
            )
        return read_manifest_file(self.manifest, self.lines)


@contextmanager
def only_writer(lock: Path, location: Path) -> Iterator[None]:
    """Keep other processes from writing; raises RunError when one is, or the folder cannot be written.

    Args:
        lock: the lock's own file; it is emptied, and stays.
        location: what the message names.
    """
    file = FileLock(lock)
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file.acquire(blocking=False)
    except Timeout:  # an OSError too
        raise RunError(
            f"{location}: in use, another process is writing here. Wait for it, or give another --out."
        ) from None
    except OSError as error:
        raise RunError(f"{location}: cannot be written ({error.strerror or error}). Give another --out.") from None
    try:
        yield
    finally:
        file.release()


def key(case_id: str) -> int:
    """An 8-byte hash of an id, so that a million ids fit in memory."""
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest())


def drop_unfinished_line(path: Path) -> None:
    """Cut off everything after the last newline: what a kill left of a line."""
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
    """Write a file atomically: it exists whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        sync(file)
    part.replace(path)


def sync(file: IO[str]) -> None:
    """Force what was written to the disk."""
    file.flush()
    os.fsync(file.fileno())
