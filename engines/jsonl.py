"""JSON Lines files that survive a kill: they grow by whole lines, have one writer, and a manifest identifies them.

Writing is resumed where it stopped: an unfinished last line is cut off, and cases that have a line are skipped.
"""

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

from filelock import FileLock, Timeout

from ..data import Case
from ..errors import RunError
from ..paths import fresh_opener, private_folder, private_opener
from .manifest import FORMAT, read_manifest_file
from .run_identity import Difference, differences, merged

SYNC_EVERY = 5.0  # seconds between forced writes to the disk, against a power cut


class Appending:
    """A file opened to append whole lines to; each line is written through, and now and then forced to the disk.

    Where the disk is full, what was written of a line is cut off again, so that the file ends with a whole line.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._synced = path, time.monotonic()

    def __enter__(self) -> "Appending":
        with writing(self.path):
            self._file = open(self.path, "ab", buffering=0, opener=private_opener)
        return self

    def __exit__(self, *_: object) -> None:
        with self._file, contextlib.suppress(OSError):  # after an error that was raised already
            os.fsync(self._file.fileno())

    def add(self, line: str) -> None:
        """Append one line; raises RunError where the disk takes no more."""
        data = memoryview((line + "\n").encode())
        with writing(self.path):
            start = os.fstat(self._file.fileno()).st_size
            try:
                while data:
                    data = data[self._file.write(data) or 0 :]
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file.fileno(), start)
                raise
            if time.monotonic() - self._synced > SYNC_EVERY:
                os.fsync(self._file.fileno())
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
        self.done: dict[int, int] = {}  # a hash of each finished id: the digest of its case as a number, 0 if unknown

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
        if self.has_lines():
            self.check(manifest["identity"])
        return self.start(manifest)

    def start(self, manifest: dict[str, Any]) -> int:
        """As `open`, for an identity that is checked already; its new names are written into the manifest."""
        _make_folder(self.lines.parent, self.location)
        if self.has_lines():
            before = self.read_manifest()
            identity = merged(before["identity"], manifest["identity"])
            if identity != before["identity"]:
                source = {"source": manifest["source"]} if "source" in manifest else {}
                self._write_manifest(before | {"identity": identity} | source)
        else:
            self._write_manifest({"format": FORMAT, **manifest})
        if self.lines.exists():
            drop_unfinished_line(self.lines)
        return self.read_done()

    def read_done(self) -> int:
        """Read which cases are finished: their number."""
        if self.lines.exists():
            self.done = {key(case_id): int(content or "0", 16) for case_id, content in self.finished()}
        return len(self.done)

    def _write_manifest(self, manifest: dict[str, Any]) -> None:
        write_whole(self.manifest, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")

    def has_lines(self) -> bool:
        return self.lines.exists() and self.lines.stat().st_size > 0

    def finished(self) -> Iterator[tuple[str, str]]:
        """The id of each finished case, with its digest or ""; raises RunError for a damaged line."""
        raise NotImplementedError

    def missing(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases that are not finished yet.

        Raises:
            RunError: a case is finished under the same id and is another one.
        """
        for case in cases:
            content = self.done.get(key(case.id))
            if content is None:
                yield case
            elif content not in (0, int(case.digest, 16)):
                self.refuse_case(case)

    def refuse_case(self, case: Case, source: str = "", options: str = "") -> NoReturn:
        """Raises RunError: the case of this id in the file is another one.

        Args:
            source: what the case was read from.
            options: how it was read otherwise, if so.
        """
        raise RunError(
            f"{self.location}: case {case.id!r}{f' of {source}' if source else ''} is not the case that was judged: "
            f"{self.changed(case)}{f' ({options})' if options else ''}. Give the same cases, or another --out."
        )

    def changed(self, case: Case) -> str:
        """What differs from the case of this id in the file, in words."""
        return "it has changed"

    def append(self) -> Appending:
        """The file, to be opened by `with` and passed to `add`."""
        return Appending(self.lines)

    def add(self, file: Appending, case_id: str, line: str) -> None:
        """Append one case's line."""
        file.add(line)
        self.done[key(case_id)] = 0

    def check(self, identity: Mapping[str, Any]) -> None:
        """Raises RunError where the file's identity is another; see `engines.run_identity`."""
        for difference in differences(self.read_manifest()["identity"], identity):
            self.refuse(difference)

    def refuse(self, difference: Difference) -> NoReturn:
        """Raises RunError: the file holds something else."""
        raise RunError(
            f"{self.location}: holds {self.content} with {difference}. Give the same again, or another --out."
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
    file = FileLock(lock, mode=0o600)
    try:
        _make_folder(lock.parent, location)
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


def _make_folder(folder: Path, location: Path) -> None:
    """Make the folder, a private one where it holds nothing else."""
    if folder == location:
        private_folder(folder)
    else:
        folder.mkdir(parents=True, exist_ok=True)


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
    """Write a file atomically: it exists whole or not at all. A new file is private, an existing one keeps its mode.

    Raises:
        RunError: the disk is full, or the folder cannot be written.
    """
    with rewriting(path) as file:
        file.write(text.encode())


@contextmanager
def rewriting(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` once it is whole; as `write_whole`."""
    part = path.with_suffix(".part")
    with writing(path):
        try:
            with open(part, "wb", opener=fresh_opener) as file:
                if path.exists() and os.name == "posix":
                    os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raises RunError, naming the file, where the system cannot write."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise RunError(
            f"{path}: cannot be written ({reason}). What it holds is kept: make room, or give another --out, and run "
            "again to continue."
        ) from None
