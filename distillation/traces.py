"""Traces of a judge over cases: a run folder that also holds, for each case, the calls of its judgment.

The batch runner judges the cases, so a kill or a stop loses nothing: running again continues, and answers that were
paid for come from the answer store. A case's calls are one line of `traces.jsonl`, written before its verdict.
"""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..data import Case, Judged, Usage, Verdict
from ..data.case import Record
from ..engines.batch import RunFolder, run_cases
from ..engines.jsonl import Appending, drop_unfinished_line
from ..engines.last_lines import LastLines
from ..engines.ledger import Budget, Ledger, charge_to, current_ledger
from ..errors import BudgetSpent, RunError
from ..judging.judge import Judge
from ..judging.judge_record import to_record
from ..optimizers.evidence import identity
from ..parsing import parse_record_json
from ..paths import private_folder
from .trace import Trace, traced

TRACES = "traces.jsonl"
OnVerdict = Callable[[Judged], None]


class CaseTraces(Record):
    """A line of `traces.jsonl`: the calls of one judgment."""

    case_id: str = Field(description="the id of the case")
    traces: tuple[Trace, ...] = Field(description="its calls")


@dataclass(frozen=True)
class Collected:
    """What a collection of traces has done.

    Attributes:
        folder: the run folder.
        status: "complete", "stopped", or "budget".
        message: why it ended, if not complete.
        usage: what it spent, by stage; answers from the store cost nothing.
    """

    folder: Path
    status: Literal["complete", "stopped", "budget"]
    message: str
    usage: Mapping[str, Usage]

    def traces(self) -> Iterator[Trace]:
        """See `read_traces`."""
        return read_traces(self.folder)


def collect(
    judge: Judge,
    cases: Iterable[Case],
    folder: Path,
    *,
    workers: int = 1,
    budget: Budget | None = None,
    on_verdict: OnVerdict | None = None,
    stop: threading.Event | None = None,
) -> Collected:
    """Judge the cases that the folder has no verdict of, and record the calls; cases may be added later.

    Args:
        judge: the teacher; its head counts, its threshold abstains.
        folder: a run folder of this judge, or a new one.
        workers: cases judged at once.
        on_verdict: called with each new verdict.
        stop: once set, no new case starts.

    Raises:
        RunError: the folder holds a run of another judge, or of another case under a known id, or is in use.
        Infrastructure, DeclarationError: see `engines.batch.run_cases`; what is finished is stored.
    """
    stop, message = stop or threading.Event(), ""
    private_folder(folder)
    run, ledger = RunFolder(folder), Ledger(budget=budget or Budget(), parent=current_ledger())
    with run.locked():
        run.open({"identity": _identity(judge), "scale": judge.score_scale})
        drop_unfinished_line(folder / TRACES)
        with Appending(folder / TRACES) as file, charge_to(ledger):
            tracing = _Tracing(judge, file)
            try:
                run_cases(tracing, cases, run, workers=workers, on_verdict=on_verdict or _ignore, stop=stop)
            except BudgetSpent as error:
                message = str(error)
    status: Literal["complete", "stopped", "budget"]
    status = "budget" if message else "stopped" if stop.is_set() else "complete"
    return Collected(folder, status, message, ledger.stages)


def read_traces(folder: Path) -> Iterator[Trace]:
    """The traces of the cases that have a verdict, in order of completion.

    Raises:
        RunError: no traces, or a damaged line.
    """
    path = folder / TRACES
    if not path.is_file():
        raise RunError(f"{folder}: has no {TRACES}, so no traces were collected here. Collect them with this --out.")
    judged = {verdict.case_id for verdict in RunFolder(folder).judged()}
    for number, line in LastLines(path, "case_id"):
        where = f"{path} line {number}: not the traces of a case"
        read = parse_record_json(CaseTraces, line, where, error=RunError, advice="Delete the folder and collect anew.")
        if read.case_id in judged:
            yield from read.traces


class _Tracing:
    """The judge, whose calls are written before its verdict is."""

    def __init__(self, judge: Judge, file: Appending) -> None:
        self._judge, self._file, self._lock = judge, file, threading.Lock()

    def __call__(self, case: Case) -> Verdict:
        verdict, traces = traced(self._judge, case)
        line = CaseTraces(case_id=case.id, traces=traces).model_dump_json()
        with self._lock:
            self._file.add(line)
        return verdict


def _identity(judge: Judge) -> dict[str, object]:
    """As of evidence, with head and threshold."""
    content = to_record(judge).model_dump_json(include={"head", "threshold"})
    head = hashlib.sha256(content.encode()).hexdigest()[:16]
    return identity(judge) | {"models": judge.resolved_models(), "head": head}


def _ignore(judged: Judged) -> None:
    pass
