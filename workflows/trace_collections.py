"""Traces of a teacher over cases, in a run folder that can be continued, with their counts."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ..data import Case, Rejects, Usage
from ..data.split import sample
from ..distillation.estimate import COUNTED, JudgingEstimate, able_cases, judging_estimate
from ..distillation.trace_counts import TraceCounts, count_traces
from ..distillation.traces import TRACES, collect
from ..engines.jsonl import write_whole
from ..engines.ledger import Budget
from ..engines.pace import paced
from ..errors import DeclarationError, RunError
from ..judging import Judge
from ..optimizers.compile_folder import is_compilation
from ..paths import path_of, private_folder
from .case_filters import ExcludedCases, default_refusals
from .case_source import CaseSource
from .given_cases import Cases, case_source, filtered_for
from .interrupts import delayed_interrupt
from .judge_spec import JudgeSpec, judge_spec
from .preflight import (
    admit_models,
    as_budget,
    check_limits,
    fresh_folder,
    nonempty,
    pace_of,
    prepare_models,
    stored,
    workers_of,
)
from .progress import SILENT, Progress
from .run_checks import check_seed
from .set_task import with_task

COUNTS, PAGE = "counts.json", "counts.md"


@dataclass(frozen=True)
class TraceRun:
    """How a collection of traces ended.

    Attributes:
        folder: a run folder, which `dicast evaluate` measures, with the traces.
        status: "complete", "stopped", "budget" or "dry run".
        message: why it ended, if by the budget.
        counts: of all traces in the folder; None before the first verdict.
        usage: what this call spent, by stage.
        rejected: bad rows that were left out.
        estimate: of a dry run.
    """

    folder: Path
    status: Literal["complete", "stopped", "budget", "dry run"]
    message: str = ""
    counts: TraceCounts | None = None
    usage: Mapping[str, Usage] = field(default_factory=dict)
    rejected: int = 0
    estimate: JudgingEstimate | None = None


def collect_traces(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    unlabelled: bool = False,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    trust: bool = False,
    dry_run: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> TraceRun:
    """Judge cases and keep every LM call, or continue; see `distillation.traces`.

    Args:
        judge: the teacher, as of `dicast.run`.
        cases: as of `dicast.run`, labelled or not.
        out: the folder; by default traces/JUDGE-CASES.
        lm: as of `dicast.run`.
        unlabelled: do not read labels, so that judgments are learnt by their two orders alone.
        limit: as of `dicast.run`.
        limit_groups: as of `dicast.run`.
        seed: of the sample.
        workers: as of `dicast.run`.
        timeout: as of `dicast.run`.
        in_flight: as of `dicast.run`.
        budget: limits, as in "calls=1000,minutes=30".
        skip_bad: leave bad rows out, in the folder's rejects.jsonl.
        trust: send texts to an address that only a judge file names.
        dry_run: only estimate; no model is called and nothing is written.
        progress: callbacks.
        stop: once set, no new case starts.

    Raises:
        DeclarationError: a judge that asks no model, a model or parameter that does not exist.
        DataError: cases that cannot be read.
        RunError: the folder holds something else, or is in use.
        Infrastructure: case after case failed at the server; what is finished is stored.
    """
    check_limits(limit, limit_groups)
    check_seed(seed)
    source = case_source(cases)
    spec = with_task(judge_spec(judge, lm), source, progress.notice)
    teacher = spec.build()
    if not teacher.stages():
        raise DeclarationError(f"judge {teacher.name!r} asks no model, so it leaves no traces. Give a judge that does.")
    admit_models(teacher, trust=trust, progress=progress)
    folder = path_of(out) if out is not None else Path("traces") / f"{spec.title}-{source.stem}"
    _check_folder(folder)
    workers, stop, left_out = workers_of(teacher, workers), stop or threading.Event(), ExcludedCases()
    pace = pace_of(workers, timeout, in_flight, stop, progress, teacher)
    filtered = filtered_for(source, default_refusals(teacher))
    if dry_run:
        if not isinstance(filtered, CaseSource):
            raise DeclarationError("dry run: give a file or a set; cases of memory can be counted as they are.")
        drawn = list(sample(filtered.cases(None, left_out), limit, seed, limit_groups=limit_groups))
        able = able_cases(teacher, drawn)
        estimate = judging_estimate(teacher.name, teacher, able[:COUNTED], len(able))
        return TraceRun(folder, "dry run", estimate=estimate)
    with fresh_folder(folder):
        private_folder(folder)
        with Rejects(folder / "rejects.jsonl") as rejects:
            rows = stored(filtered, folder)
            drawn_cases = sample(
                rows.cases(rejects if skip_bad else None, left_out), limit, seed, limit_groups=limit_groups
            )
            chosen = nonempty(drawn_cases, rows, left_out)
            prepare_models(teacher, progress=progress)
            total = None if limit_groups else limit or rows.count()
            progress.start(total, _judged(folder))
            with paced(pace), delayed_interrupt(stop):
                collected = collect(
                    teacher,
                    _unlabelled(chosen) if unlabelled else chosen,
                    folder,
                    workers=workers,
                    budget=as_budget(budget),
                    on_verdict=progress.verdict,
                    stop=stop,
                )
    for notice in left_out.notices(rows.not_by):
        progress.notice(notice)
    counts = None
    if (folder / TRACES).is_file() and _judged(folder):
        counts = count_traces(folder)
        write_whole(folder / PAGE, counts.markdown())
        write_whole(folder / COUNTS, counts.model_dump_json(indent=1) + "\n")
    return TraceRun(folder, collected.status, collected.message, counts, collected.usage, rejects.count)


def _unlabelled(cases: Iterator[Case]) -> Iterator[Case]:
    return (case.model_copy(update={"label": None, "votes": ()}) for case in cases)


def _check_folder(folder: Path) -> None:
    """Raises RunError for a folder of something else, such as a run without traces."""
    if is_compilation(folder):
        raise RunError(f"{folder}: holds a compilation. Give another --out.")
    if (folder / "verdicts.jsonl").exists() and not (folder / TRACES).exists():
        raise RunError(f"{folder}: holds a run without traces. Give another --out.")


def _judged(folder: Path) -> int:
    """The lines of verdicts in the folder."""
    path = folder / "verdicts.jsonl"
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(line.endswith(b"\n") for line in file)
