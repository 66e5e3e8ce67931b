"""The batch runner: cases in, `verdicts.jsonl` out, streaming, and safe against a kill at any moment.

A run folder holds `manifest.json` (what was asked of which judge) and `verdicts.jsonl` (one `Judged` a line, in order
of completion, flushed as written). Running again goes on: cases that have a verdict are skipped, a half-written last
line is cut off, and failures of the server are asked again. Calls that were answered before a kill come from DSPy's
cache, so they are not paid for twice.
"""

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import Case, Judged, Verdict
from ..errors import RunError
from .jsonl import Appending, drop_unfinished_line, key, only_writer, sync, write_whole
from .stream import stream

FORMAT = 1
ASK_AGAIN = ("infrastructure", "budget")  # reasons that say nothing of the case itself


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
            write_whole(self.manifest, json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n")
        drop_unfinished_line(self.verdicts)
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
                self.done.add(key(judged.case_id))
        if again:
            kept = self.verdicts.with_suffix(".kept")
            with kept.open("w", encoding="utf-8") as file:
                for judged in read_verdicts(self.path):
                    if judged.reason not in ASK_AGAIN:
                        file.write(judged.model_dump_json() + "\n")
                sync(file)
            kept.replace(self.verdicts)
        return len(self.done)

    def locked(self) -> AbstractContextManager[None]:
        """Keep other processes from writing into the folder."""
        return only_writer(self.path / ".lock", self.path)


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
    """The verdicts of a run, one at a time; raises RunError for a line that is none, or a folder without any."""
    path = folder / "verdicts.jsonl"
    if not path.exists():
        raise RunError(f"{folder}: holds no verdicts.jsonl, so it is no run folder. Name the --out of a run.")
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
    waiting = (case for case in cases if key(case.id) not in folder.done)
    judged_cases = stream(judge, waiting, workers=workers, stop=stop or threading.Event(), failed=_of_the_server)
    with Appending(folder.verdicts) as file:
        for case, verdict in judged_cases:
            judged = Judged.of(case, verdict)
            file.add(judged.model_dump_json())
            folder.done.add(key(case.id))
            on_verdict(judged)


def _of_the_server(verdict: Verdict) -> str:
    return verdict.detail if verdict.reason == "infrastructure" else ""
