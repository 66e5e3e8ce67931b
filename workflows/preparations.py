"""Cases that are prepared before they are judged: rewritten one by one, or built out of a whole set."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..data import Case, Rejects, Usage
from ..data.split import sample
from ..engines.ledger import Budget, Ledger, charge_to, current_ledger
from ..engines.models import Roles
from ..engines.pace import paced
from ..engines.parallel import stream
from ..engines.stop_rule import Failure
from ..errors import BudgetSpent, DeclarationError, ExecutionError, Infrastructure, ModelRefused
from ..judging.firewall import as_failure
from ..paths import path_of
from ..preparation.registry import build_pipeline
from ..preparation.set_preparation import BuiltCases
from .coverage import Coverage
from .given_cases import Cases, case_source
from .interrupts import delayed_interrupt
from .preflight import (
    admit_models,
    as_budget,
    check_limits,
    nonempty,
    pace_of,
    prepare_models,
    run_facts,
    stored,
    workers_of,
)
from .prepared_cases import Failures, PreparedCases, PreparedLine
from .progress import SILENT, Progress
from .set_task import task_notice

Status = Literal["complete", "stopped", "budget", "failures"]


@dataclass(frozen=True)
class PrepareRun:
    """How a preparation ended.

    Attributes:
        out: the file of prepared cases.
        status: "complete", "stopped", "budget", or "failures" where single cases failed.
        message: why it ended, if by the budget.
        prepared: cases prepared by this call.
        cases: cases in the file.
        coverage: how many of all cases are in the file, and why the others are not.
        failed: cases that failed; they are in `rejects`, and are tried again by the next call.
        bad_rows: rows that could not be read; they are in `bad_rows_path`.
        usage: what this call spent, by stage.
        built: what a preparation of the whole set reports: counts, what it left out, the figures of its parts.
        files: the file of each part of the cases, by name; once every case is prepared.
    """

    out: Path
    status: Status
    message: str = ""
    prepared: int = 0
    cases: int = 0
    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    failed: int = 0
    bad_rows: int = 0
    usage: Mapping[str, Usage] = field(default_factory=dict)
    built: BuiltCases | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    @property
    def rejects(self) -> Path:
        return PreparedCases(self.out).rejects

    def require_coverage(self, minimum: float = 1.0) -> None:
        """Do nothing, or raise RunError where a smaller proportion of the cases is prepared than the minimum (0..1)."""
        self.coverage.require(minimum, str(self.out), done="prepared")

    @property
    def bad_rows_path(self) -> Path:
        return self.out.with_suffix(".bad_rows.jsonl")


def prepare(
    preparation: str | Sequence[str],
    cases: Cases,
    out: str | Path,
    *,
    lm: str | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> PrepareRun:
    """Rewrite cases, or build them out of a whole set, into a .jsonl file, or continue; cases that failed are tried
    again.

    Args:
        preparation: names of `dicast list`, several as a list, or with commas as in "anonymise,summarise". A
            preparation that builds cases out of a whole set, such as "histories", comes first.
        cases: as of `dicast.run`.
        out: the file of prepared cases, which every function here takes as cases.
        lm: `provider/model`, or `role=provider/model,...`.
        settings: parameters by name.
        limit: this many cases: the first, or with `seed` a random sample.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
        seed: of the sample, and of what a preparation of a whole set draws (there 0 by default).
        workers: cases at once.
        timeout: seconds until the first byte of an answer, of which the whole may take twice that; by default 120, of a
            local model 1,800.
        in_flight: requests to one model at once, at most; by default four for each worker, but at least 32.
        budget: limits, as in "calls=1000,minutes=30".
        skip_bad: leave bad rows out.
        progress: callbacks.
        stop: once set, no new case starts; what is done is kept.

    Raises:
        DeclarationError: an unknown preparation, parameter or model.
        RunError: the file holds cases that were prepared in another way, or is in use.
        Infrastructure: case after case failed at the server; what is done is kept.
    """
    check_limits(limit, limit_groups)
    path, roles = path_of(out), Roles.parse(lm) if lm else Roles({})
    names = preparation if isinstance(preparation, str) else ",".join(map(str, preparation or ()))
    pipeline = build_pipeline(names, **(settings or {}))
    program = pipeline.of_cases.bind(roles)
    admit_models(program, trust=False, progress=progress)
    unread = case_source(cases)
    workers, stop = workers_of(program, workers), stop or threading.Event()
    pace = pace_of(workers, timeout, in_flight, stop, progress, program)
    file, ledger, message = PreparedCases(path), Ledger(budget=as_budget(budget), parent=current_ledger()), ""

    def attempt(case: Case) -> PreparedLine | ExecutionError:
        try:
            prepared: Case = program(case)
            return PreparedLine(prepared.id, prepared.model_dump_json())
        except ModelRefused as error:
            return Infrastructure(str(error))
        except (BudgetSpent, DeclarationError):
            raise
        except Exception as error:
            return as_failure(error, f"preparation {pipeline.name!r}")

    prepare_models(program, progress=progress)
    if notice := task_notice(unread):
        progress.notice(notice)
    failures, bad_rows = Failures(file.rejects), Rejects(path.with_suffix(".bad_rows.jsonl"))
    with file.locked(), bad_rows:
        source = stored(unread, path.with_suffix(""))
        is_drawn = seed is not None or pipeline.of_set is not None  # so that other limits give other cases
        identity = {
            "with": pipeline.name, "settings": pipeline.settings(), "lm": str(roles),
            "models": program.resolved_models(), "data": source.digest(),
            "seed": (seed or 0) if pipeline.of_set else seed,
            "limit": limit if is_drawn else None,
            **({"limit_groups": limit_groups} if limit_groups and is_drawn else {}), **source.reading(),
        }  # fmt: skip
        before = file.open({"identity": identity, "cases": source.source, **run_facts()})
        rows = nonempty(
            sample(source.cases(bad_rows if skip_bad else None), limit, seed, limit_groups=limit_groups), source
        )
        total = None if limit_groups else limit or source.count()
        built: BuiltCases | None = None
        if pipeline.of_set is not None:
            progress.start(total, 0)
            built = pipeline.of_set.build(list(_counted(rows, progress)), seed=seed or 0)
            rows, total = iter(built.cases), len(built.cases)
        failures.path.unlink(missing_ok=True)
        if built is not None and not pipeline.of_cases.steps:
            file.write_all(built.cases)
        else:
            with charge_to(ledger), paced(pace), delayed_interrupt(stop), file.append() as lines:
                progress.start(total, before)
                try:
                    missing = file.missing(rows)
                    for case, result in stream(attempt, missing, workers=workers, stop=stop, failed=_server_failure):
                        if isinstance(result, ExecutionError):
                            failures.add(case.id, result)
                        else:
                            file.add(lines, result.case_id, result.text)
                        progress.prepared(failures.count)
                except BudgetSpent as error:
                    message = str(error)
        is_whole = not (message or stop.is_set() or failures.count)
        files = file.write_parts(built.files) if built is not None and is_whole else {}
    status: Status = (
        "budget" if message else "stopped" if stop.is_set() else "failures" if failures.count else "complete"
    )
    done = len(file.done)
    coverage = Coverage(done + failures.count, done, failures.reasons, failures.example)
    return PrepareRun(
        path,
        status,
        message,
        done - before,
        done,
        coverage,
        failures.count,
        bad_rows.count,
        ledger.stages,
        built,
        files,
    )


def _counted(cases: Iterable[Case], progress: Progress) -> Iterator[Case]:
    """The same cases, each of which is progress."""
    for case in cases:
        progress.prepared(0)
        yield case


def _server_failure(result: PreparedLine | ExecutionError) -> Failure | None:
    is_failure = isinstance(result, ExecutionError) and result.reason == "infrastructure"
    return Failure(str(result)) if is_failure else None
