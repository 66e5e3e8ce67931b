"""The batch runner: cases in, `verdicts.jsonl` out, streaming, and safe against a kill at any moment.

A run folder holds `manifest.json` (what was asked of which judge) and `verdicts.jsonl` (one `Judged` a line, in order
of completion, flushed as written). Running again goes on: cases that have a verdict are skipped, a half-written last
line is cut off, and failures of the server are asked again. Calls that were answered before a kill come from DSPy's
cache, so they are not paid for twice.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from ..data import Case, Judged, Verdict
from ..errors import BudgetSpent, DeclarationError, Infrastructure, RunError

FORMAT = 1
ASK_AGAIN = ("infrastructure", "budget")  # reasons that say nothing of the case itself
STOP_WITHIN = 0.2  # seconds until a stop reaches the cases that wait for a worker
SYNC_EVERY = 5.0  # seconds between forced writes to the disk, against a power cut


@dataclass
class RunFolder:
    """A run's files, and which cases are done.

    Raises:
        RunError: the folder holds a run of something else, is in use, or its verdicts are damaged.
    """

    path: Path
    done: set[int] = field(default_factory=set, repr=False)

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def verdicts(self) -> Path:
        return self.path / "verdicts.jsonl"

    def open(self, manifest: dict[str, Any]) -> int:
        """Begin the run, or go on with it: how many verdicts it already has. A run without any may be begun anew.

        Args:
            manifest: `manifest["identity"]` must equal the one of the run that is there.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        if self.manifest.exists() and self.verdicts.exists() and self.verdicts.stat().st_size:
            before = read_manifest(self.path)["identity"]
            changed = [
                name for name in before | manifest["identity"] if before.get(name) != manifest["identity"].get(name)
            ]
            if changed:
                name = changed[0]
                raise RunError(
                    f"{self.path}: holds a run with {name} = {before.get(name)!r}, now it is "
                    f"{manifest['identity'].get(name)!r}. Give another --out, or delete the folder."
                )
        else:
            _write_whole(self.manifest, json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n")
        _drop_unfinished_line(self.verdicts)
        return self._take_stock()

    def _take_stock(self) -> int:
        """Learn which cases are done; verdicts to ask again are taken out of the file."""
        if not self.verdicts.exists():
            return 0
        again = 0
        for judged in read_verdicts(self.path):
            if judged.reason in ASK_AGAIN:
                again += 1
            else:
                self.done.add(_key(judged.case_id))
        if again:
            kept = self.verdicts.with_suffix(".kept")
            with kept.open("w", encoding="utf-8") as file:
                for judged in read_verdicts(self.path):
                    if judged.reason not in ASK_AGAIN:
                        file.write(judged.model_dump_json() + "\n")
                _sync(file)
            kept.replace(self.verdicts)
        return len(self.done)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from writing into the folder."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # no flock on this system
                pass
            except OSError:
                raise RunError(
                    f"{self.path}: another process is writing this run. Wait for it, or give another --out."
                ) from None
            yield


def read_manifest(folder: Path) -> dict[str, Any]:
    """Raises RunError when the folder holds no run, or one of a format this version does not know."""
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunError(f"{folder}: holds no manifest.json, so it is no run folder.") from None
    except json.JSONDecodeError as error:
        raise RunError(f"{path}: not JSON ({error}). Delete the folder and run again.") from None
    if manifest.get("format") != FORMAT:
        raise RunError(f"{path}: format {manifest.get('format')!r} is not {FORMAT}. Use the dicast that wrote it.")
    return manifest


def read_verdicts(folder: Path) -> Iterator[Judged]:
    """The verdicts of a run, one at a time; raises RunError for a line that is none."""
    path = folder / "verdicts.jsonl"
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield Judged.model_validate_json(line)
            except ValueError as error:
                reason = str(error).splitlines()[0]
                raise RunError(
                    f"{path} line {number}: not a verdict ({reason}). Delete the line; the case is judged again."
                ) from None


def run_cases(
    judge: Callable[[Case], Verdict],
    cases: Iterable[Case],
    folder: RunFolder,
    *,
    workers: int,
    on_verdict: Callable[[Judged], None],
    stop: threading.Event | None = None,
) -> None:
    """Judge the cases that have no verdict yet and write each verdict as it comes.

    Args:
        workers: cases in flight; memory holds twice as many at most.
        stop: when set, no new case is begun, and those in flight are finished and written.

    Raises:
        BudgetSpent: the budget is used up; what is done is written.
        Infrastructure: case after case failed at the server; what is done is written.
        DeclarationError: a model or a case that cannot be judged at all.
    """
    stop = stop or threading.Event()
    most_failures = max(5, 2 * workers)
    failures = 0
    problem: BudgetSpent | DeclarationError | Infrastructure | None = None
    with folder.verdicts.open("a", encoding="utf-8") as file, ThreadPoolExecutor(workers) as pool:
        in_flight: dict[Future[Verdict], Case] = {}
        waiting = (case for case in cases if _key(case.id) not in folder.done)
        synced = time.monotonic()
        while True:
            while problem is None and not stop.is_set() and len(in_flight) < 2 * workers:
                case = next(waiting, None)
                if case is None:
                    break
                in_flight[pool.submit(copy_context().run, judge, case)] = case
            if not in_flight:
                break
            finished, _ = wait(in_flight, timeout=STOP_WITHIN, return_when=FIRST_COMPLETED)
            if problem is not None or stop.is_set():
                for future in [
                    future for future in in_flight if future.cancel()
                ]:  # not begun yet: left for the next run
                    del in_flight[future]
            for future in finished & in_flight.keys():
                case = in_flight.pop(future)
                try:
                    verdict = future.result()
                except (BudgetSpent, DeclarationError) as error:
                    problem = problem or error
                    continue
                judged = Judged.of(case, verdict)
                file.write(judged.model_dump_json() + "\n")
                file.flush()
                folder.done.add(_key(case.id))
                failures = failures + 1 if verdict.reason == "infrastructure" else 0
                if failures >= most_failures and problem is None:
                    problem = Infrastructure(
                        f"{verdict.detail} {failures} cases in a row failed so. Run again to go on."
                    )
                on_verdict(judged)
            if time.monotonic() - synced > SYNC_EVERY:
                _sync(file)
                synced = time.monotonic()
        _sync(file)
    if problem is not None:
        raise problem


def _key(case_id: str) -> int:
    """8 bytes stand for an id, so that a million ids fit in memory."""
    return int.from_bytes(hashlib.blake2b(case_id.encode(), digest_size=8).digest())


def _drop_unfinished_line(path: Path) -> None:
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


def _write_whole(path: Path, text: str) -> None:
    """Write so that the file is there whole or not at all."""
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        _sync(file)
    part.replace(path)


def _sync(file: IO[str]) -> None:
    file.flush()
    os.fsync(file.fileno())
