"""The batch runner: cases in, `verdicts.jsonl` out, streaming, and safe against a kill at any moment.

A run folder holds `manifest.json` (which judge judged which cases) and `verdicts.jsonl` (one `Judged` a line, in order
of completion, flushed as written). Running again continues: cases that have a verdict are skipped, an unfinished last
line is cut off, and cases that failed at the server are judged again. Calls that were answered before a kill come from
DSPy's cache, so they are not paid for twice.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..data import Case, Judged, Verdict
from ..errors import Infrastructure, RunError
from ..parsing import parse_record_json
from .jsonl import ResumableJsonl, sync
from .odd_cases import LenientJudge, failure_of
from .parallel import stream

DELETE = "Delete the line; the case is judged again."
RETRIED = (
    "infrastructure",
    "budget",
    "internal",
    "unreadable",
)  # reasons of unscored verdicts that say nothing about the case itself


class RunFolder(ResumableJsonl):
    """A run's files, and which cases have a verdict.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(
            path / "verdicts.jsonl", path / "manifest.json", path / ".lock", location=path, content="a run"
        )
        self.path = path

    @property
    def verdicts(self) -> Path:
        return self.lines

    def finished(self) -> Iterator[str]:
        """The ids of the cases with a verdict; verdicts to retry are removed from the file first."""
        if any(judged.reason in RETRIED for judged in read_verdicts(self.path)):
            rewritten = self.lines.with_suffix(".kept")
            with rewritten.open("w", encoding="utf-8") as file:
                for judged in read_verdicts(self.path):
                    if judged.reason not in RETRIED:
                        file.write(judged.model_dump_json() + "\n")
                sync(file)
            rewritten.replace(self.lines)
        return (judged.case_id for judged in read_verdicts(self.path))

    def read_manifest(self) -> dict[str, Any]:
        if not self.manifest.exists():
            raise RunError(f"{self.path}: has no manifest.json, so it is not a run folder. Name the --out of a run.")
        return super().read_manifest()


def read_manifest(folder: Path) -> dict[str, Any]:
    """A run's manifest; raises RunError when the folder holds no run, or one of an unknown format."""
    return RunFolder(folder).read_manifest()


def read_verdicts(folder: Path) -> Iterator[Judged]:
    """The verdicts of a run, one at a time; raises RunError for a damaged line, or a folder without verdicts."""
    path = folder / "verdicts.jsonl"
    if not path.exists():
        raise RunError(f"{folder}: has no verdicts.jsonl, so it is not a run folder. Name the --out of a run.")
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            where = f"{path} line {number}: not a verdict"
            yield parse_record_json(Judged, line, where, error=RunError, advice=DELETE)


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
        workers: cases in flight; memory holds at most twice as many.
        stop: once set, no new case starts, and the cases in flight are finished and written.

    Raises:
        BudgetSpent: the budget is used up; finished verdicts are written.
        Infrastructure: nothing works (`StopRule`); finished verdicts are written.
        DeclarationError: a model that cannot be used, or no case that can be judged; likewise.
    """
    lenient, finished = LenientJudge(judge), 0
    judged_cases = stream(
        lenient, folder.missing(cases), workers=workers, stop=stop or threading.Event(), failed=failure_of
    )
    with folder.append() as file:
        try:
            for case, verdict in judged_cases:
                judged = Judged.of(case, verdict)
                folder.add(file, case.id, judged.model_dump_json())
                finished += 1
                on_verdict(judged)
        except Infrastructure:
            lenient.check(finished)
            raise
    lenient.check(finished)
