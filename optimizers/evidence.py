"""The evidence of a compilation: each judge runs once over each part, and its verdicts are stored.

Heads are fitted to stored verdicts without a call. Verdicts are stored in run folders like those of `dicast judge`: a
kill loses nothing, `dicast evaluate` reads them, and a second run continues.
"""

import copy
import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import Case, Judged
from ..engines.batch import RETRIED, RunFolder, read_verdicts, run_cases
from ..errors import ExecutionError, Infrastructure, Internal, Unreadable
from ..judging.heads import Head
from ..judging.judge import Judge
from ..judging.judge_record import to_record
from ..paths import private_folder
from .cost_account import CostAccount
from .fingerprints import digest

OnVerdict = Callable[[Judged], None]


class Interrupted(Exception):
    """The user stopped the compilation; finished work is stored, and the same command continues.

    Args:
        best: the best judge so far, if it is better than the judge of the finished steps.
    """

    def __init__(self, best: Judge | None = None) -> None:
        super().__init__("interrupted")
        self.best = best


@dataclass
class ProgressCallbacks:
    """How a compilation reports its progress, and how it is stopped.

    Attributes:
        step: called with the name of a step and a line about it.
        on_verdict: called with each new verdict, from any thread.
        stop: when set, no further case is judged.
    """

    step: Callable[[str, str], None] = lambda name, text: None
    on_verdict: OnVerdict | None = None
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Evidence:
    """The verdicts of the judges of one compilation.

    Args:
        folder: holds a run folder for each judge and part.
        workers: cases in flight.
    """

    folder: Path
    account: CostAccount
    progress: ProgressCallbacks
    workers: int
    _verdicts: dict[Path, dict[str, Judged]] = field(default_factory=dict, repr=False)

    def of(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The judge's verdicts without head and threshold; the same at every call.

        Raises:
            Interrupted: the compilation was stopped before all cases were judged.
            Infrastructure: the server failed at every case, twice; or see `engines.batch.run_cases`.
            Unreadable, Internal: no case could be read or judged.
            BudgetSpent: see there.
        """
        judge = without_head(judge)
        folder = self.folder / f"{part}-{digest(identity(judge))}"
        verdicts = self._verdicts.setdefault(folder, {})
        if any(case.id not in verdicts for case in cases):
            recorded = self._record(judge, cases, folder)
            if any(map(_failed_on_server, recorded)):
                recorded = self._record(judge, cases, folder)  # a second run judges the failed cases again
            if recorded and all(judged.reason in RETRIED for judged in recorded):
                raise _failure_of(judge, recorded[0])
            for judged in recorded:
                verdicts.setdefault(judged.case_id, judged)
        return [verdicts[case.id] for case in cases]

    def _record(self, judge: Judge, cases: Sequence[Case], folder: Path) -> list[Judged]:
        private_folder(self.folder)
        with self.account.recording() as count:

            def on_verdict(judged: Judged) -> None:
                count(judged)
                if self.progress.on_verdict is not None:
                    self.progress.on_verdict(judged)

            recorded = record(judge, cases, folder, self.workers, on_verdict=on_verdict, stop=self.progress.stop)
        if len(recorded) < len(cases):
            raise Interrupted
        return recorded

    def with_head(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The verdicts after the judge's head, without abstention."""
        verdicts = self.of(judge, cases, part)
        if judge.head is None:
            return verdicts
        return [Judged.of(case, judge.head(case, judged)) for case, judged in zip(cases, verdicts, strict=True)]


def record(
    judge: Judge,
    cases: Sequence[Case],
    folder: Path,
    workers: int,
    *,
    on_verdict: OnVerdict,
    stop: threading.Event | None = None,
) -> list[Judged]:
    """The verdicts of these cases, in their order; cases whose verdict the folder holds are not judged again.

    A folder belongs to one judge. Cases may be added later. If `stop` was set, the cases that were not judged are
    missing.

    Raises:
        RunError: the folder holds verdicts of another judge or model, or of another case under a known id.
        BudgetSpent, Infrastructure: see `engines.batch.run_cases`; finished verdicts are stored.
    """
    run = RunFolder(folder)
    with run.locked():
        run.open({"identity": identity(judge) | {"models": judge.resolved_models()}, "scale": judge.score_scale})
        run_cases(judge, cases, run, workers=workers, on_verdict=on_verdict, stop=stop)
        verdicts = {judged.case_id: judged for judged in read_verdicts(folder)} if run.verdicts.exists() else {}
    return [verdicts[case.id] for case in cases if case.id in verdicts]


def identity(judge: Judge) -> dict[str, Any]:
    """What evidence depends on: all that a judge file holds of the judge but its head and threshold; files that its
    settings name count by their content."""
    content = to_record(judge).model_dump_json(exclude={"head", "threshold"})
    return {
        "judge": judge.name,
        "settings": judge.settings(),
        "lm": " + ".join(dict.fromkeys(stage.model for stage in judge.stages())) or "none",
        "data": hashlib.sha256(content.encode()).hexdigest(),
    }


def without_head(judge: Judge) -> Judge:
    """A copy without head and threshold."""
    plain_judge: Judge = judge.deepcopy()
    plain_judge.head, plain_judge.threshold = None, None
    return plain_judge


def with_head(judge: Judge, head: Head) -> Judge:
    """A copy with this head and without a threshold."""
    headed = without_head(judge)
    headed.head = copy.deepcopy(head)
    return headed


def _failed_on_server(judged: Judged) -> bool:
    return judged.reason == "infrastructure"


def _failure_of(judge: Judge, judged: Judged) -> ExecutionError:
    """Why no case could be judged."""
    kinds: tuple[type[ExecutionError], ...] = (Infrastructure, Unreadable, Internal)
    kind = next((kind for kind in kinds if kind.reason == judged.reason), Infrastructure)
    return kind(f"judge {judge.name!r}: no case could be judged; the first one: {judged.detail}")
