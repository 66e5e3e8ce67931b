"""Cases that are rewritten before they are judged: anonymised, summarised."""

import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..data import Case, Rejects, Usage
from ..data.split import sample
from ..engines.jsonl import ResumableJsonl, writing
from ..engines.ledger import Budget, Ledger, charge_to, current_ledger
from ..engines.models import Roles
from ..engines.pace import paced
from ..engines.parallel import stream
from ..engines.stop_rule import Failure
from ..errors import BudgetSpent, DeclarationError, ExecutionError, Infrastructure, ModelRefused, RunError
from ..judging.firewall import as_failure
from ..parsing import parse_object, shown
from ..paths import fresh_opener, path_of
from ..preparation.registry import build_preparation
from .case_source import Cases, case_source
from .coverage import Coverage
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
from .progress import SILENT, Progress

ENDING = ".jsonl"
PREPARED_AGAIN = "Delete the line; the case is prepared again."


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
    """

    out: Path
    status: Literal["complete", "stopped", "budget", "failures"]
    message: str = ""
    prepared: int = 0
    cases: int = 0
    coverage: Coverage = field(default_factory=lambda: Coverage(0, 0))
    failed: int = 0
    bad_rows: int = 0
    usage: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def rejects(self) -> Path:
        return PreparedCases(self.out).rejects

    def require_coverage(self, minimum: float = 1.0) -> None:
        """Do nothing, or raise RunError where a smaller proportion of the cases is prepared than the minimum (0..1)."""
        self.coverage.require(minimum, str(self.out), done="prepared")

    @property
    def bad_rows_path(self) -> Path:
        return self.out.with_suffix(".bad_rows.jsonl")


@dataclass(frozen=True)
class PreparedLine:
    """A prepared case as a line of the file."""

    case_id: str
    text: str


class PreparedCases(ResumableJsonl):
    """The file of prepared cases, `NAME.jsonl`, with `NAME.manifest.json` and `NAME.rejects.jsonl`.

    Raises:
        RunError: a name with another ending.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix != ENDING:
            raise RunError(f"{path}: the cases are written as JSON lines. Give a name that ends in {ENDING}.")
        manifest, lock = path.with_suffix(".manifest.json"), path.with_name(f".{path.name}.lock")
        super().__init__(path, manifest, lock, location=path, content="prepared cases")

    @property
    def rejects(self) -> Path:
        return self.lines.with_suffix(".rejects.jsonl")

    def finished(self) -> Iterator[tuple[str, str]]:
        """The ids of the prepared cases; what they were prepared from is not known."""
        with self.lines.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{self.lines} line {number}: not a case"
                case = parse_object(line, where, error=RunError, advice=PREPARED_AGAIN, nan=True)
                if not isinstance(case.get("id"), str):
                    raise RunError(f"{where}: field 'id' is {shown(case.get('id'))}. {PREPARED_AGAIN}")
                yield case["id"], ""


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
    """Rewrite cases into a .jsonl file, or continue; cases that failed are tried again.

    Args:
        preparation: names of `dicast list`, several as a list, or with commas as in "anonymise,summarise".
        cases: as of `dicast.run`.
        out: the file of prepared cases, which every function here takes as cases.
        lm: `provider/model`, or `role=provider/model,...`.
        settings: parameters by name.
        limit: this many cases: the first, or with `seed` a random sample.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
        seed: of the sample.
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
    program = build_preparation(names, **(settings or {})).bind(roles)
    admit_models(program, trust=False, progress=progress)
    unread = case_source(cases)
    workers, stop = workers_of(program, workers), stop or threading.Event()
    pace = pace_of(workers, timeout, in_flight, stop, progress)
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
            return as_failure(error, f"preparation {program.name!r}")

    prepare_models(program, progress=progress)
    failures, bad_rows = _Failures(file.rejects), Rejects(path.with_suffix(".bad_rows.jsonl"))
    with file.locked(), bad_rows:
        source = stored(unread, path.with_suffix(""))
        identity = {
            "with": program.name, "settings": program.settings(), "lm": str(roles),
            "models": program.resolved_models(), "data": source.digest(), "seed": seed,
            "limit": limit if seed is not None else None,
            **({"limit_groups": limit_groups} if limit_groups and seed is not None else {}), **source.reading(),
        }  # fmt: skip
        before = file.open({"identity": identity, "cases": source.source, **run_facts()})
        drawn = sample(source.cases(bad_rows if skip_bad else None), limit, seed, limit_groups=limit_groups)
        chosen = file.missing(nonempty(drawn, source))
        failures.path.unlink(missing_ok=True)
        with charge_to(ledger), paced(pace), delayed_interrupt(stop), file.append() as lines:
            progress.start(None if limit_groups else limit or source.count(), before)
            try:
                for case, result in stream(attempt, chosen, workers=workers, stop=stop, failed=_server_failure):
                    if isinstance(result, ExecutionError):
                        failures.add(case.id, result)
                    else:
                        file.add(lines, result.case_id, result.text)
                    progress.prepared(failures.count)
            except BudgetSpent as error:
                message = str(error)
    status: Literal["complete", "stopped", "budget", "failures"] = (
        "budget" if message else "stopped" if stop.is_set() else "failures" if failures.count else "complete"
    )
    done = len(file.done)
    coverage = Coverage(done + failures.count, done, failures.reasons, failures.example)
    return PrepareRun(
        path, status, message, done - before, done, coverage, failures.count, bad_rows.count, ledger.stages
    )


class _Failures:
    """A JSON Lines file of the cases that failed: `{"id", "reason", "error"}`; there is none without failures."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.reasons, self._first = Counter[str](), dict[str, str]()

    def add(self, case_id: str, error: ExecutionError) -> None:
        line = json.dumps({"id": case_id, "reason": error.reason, "error": str(error)}, ensure_ascii=False) + "\n"
        with writing(self.path), open(self.path, "ab", opener=fresh_opener) as file:
            file.write(line.encode("utf-8", "backslashreplace"))
        self.count += 1
        self.reasons[error.reason] += 1
        self._first.setdefault(error.reason, str(error))

    @property
    def example(self) -> str:
        """The first error of the most frequent reason."""
        return self._first[self.reasons.most_common(1)[0][0]] if self.reasons else ""


def _server_failure(result: PreparedLine | ExecutionError) -> Failure | None:
    is_failure = isinstance(result, ExecutionError) and result.reason == "infrastructure"
    return Failure(str(result)) if is_failure else None
