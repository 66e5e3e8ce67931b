"""What happens before the first case: models made ready, cases sampled, the manifest's facts."""

import math
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from ..data import Case, Rejects
from ..data.split import sample
from ..engines.ledger import Budget
from ..engines.models import asked_in_turn, default_workers, prepare
from ..engines.pace import IN_FLIGHT, Pace
from ..errors import DataError, DeclarationError
from ..judging.judge import Judge, learned_from
from ..judging.judge_file import read
from ..judging.module_base import StagedModule
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.fingerprints import exclude_seen
from ..paths import private_folder
from .case_filters import ExcludedCases
from .case_source import NO_ROW, ROWS, CaseSource
from .label_count import LabelCount
from .memory_rows import StoredRows
from .progress import Progress

NO_CASE = "--cases {}: holds no case, or none that the options leave. Give others."


def admit_models(judge: StagedModule, *, trust: bool, progress: Progress) -> None:
    """Say where texts go that a judge file sends; raises ModelError where the user has not allowed it."""
    for line in judge.admit(trust=trust):
        progress.notice(line)


@contextmanager
def fresh_folder(path: Path) -> Iterator[None]:
    """A run folder that is removed again where it is new, and its first case cannot be read."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        yield
    except DataError:
        if path in missing and not (path / "manifest.json").exists():
            for name in (ROWS, ".lock"):
                (path / name).unlink(missing_ok=True)
            with suppress(OSError):  # rejects of bad rows stay, and so does their folder
                for folder in missing:
                    folder.rmdir()
        raise


def prepare_models(judge: StagedModule, *others: str, progress: Progress) -> None:
    """Make the models of a judge's stages and of its evidence, and `others`, ready before the first case."""
    models = [*(stage.model for stage in judge.stages()), *others]
    for model in filter(None, dict.fromkeys(models)):
        prepare(model, progress.download)
    for _, part in judge.named_sub_modules(Judge):
        part.check_demos()
        part.check_evidence()
        for source in part.sources():
            source.prepare(progress.download)


def models_of(judge: StagedModule, others: Iterable[str] = ()) -> list[str]:
    """The model strings that a judge is bound to, then the others, each once."""
    return [model for model in dict.fromkeys([*(seat.model for seat in judge.seats()), *others]) if model]


def workers_of(judge: StagedModule, workers: int | None = None) -> int:
    """The cases to judge at once: `workers`, or by default what the engines of the judge's models say.

    Raises:
        DeclarationError: `workers` is not a whole number of at least 1.
    """
    check_count("workers", workers)
    return default_workers(models_of(judge)) if workers is None else workers


def pace_of(
    workers: int,
    timeout: float | None,
    in_flight: int | None,
    stop: threading.Event,
    progress: Progress,
    program: StagedModule | None = None,
) -> Pace:
    """How the calls of a run are made.

    Args:
        program: whose questions are asked one after another where its models are faster so; None: at once.

    Raises:
        DeclarationError: `timeout` is no number of seconds, or `in_flight` not a whole number of at least 1.
    """
    check_count("in_flight", in_flight)
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and 0 < timeout < math.inf):
        raise DeclarationError(f"timeout: {timeout!r} is not a number of seconds over 0. Give one, or None.")
    in_turn = program is not None and asked_in_turn(models_of(program))
    in_flight = in_flight or max(IN_FLIGHT, 4 * workers)
    return Pace(timeout, in_flight, in_turn, stop, on_silence=progress.waiting)


def check_count(name: str, value: int | None) -> None:
    """Raises DeclarationError for a number of cases that is neither None nor a whole number of at least 1."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise DeclarationError(f"{name}: {value!r} is not a whole number of at least 1. Give one, or None.")


def check_limits(limit: int | None, limit_groups: int | None) -> None:
    """Raises DeclarationError for a number that `check_count` refuses, or for two limits at once."""
    check_count("limit", limit)
    check_count("limit_groups", limit_groups)
    if limit is not None and limit_groups is not None:
        raise DeclarationError(
            f"limit_groups: {limit_groups} groups and limit {limit} cases were both given. Give one of them: "
            "limit_groups keeps groups whole."
        )


def as_budget(budget: "Budget | str | None") -> Budget:
    """A budget; text as in `calls=1000,minutes=30`. Raises DeclarationError for anything else."""
    if isinstance(budget, Budget):
        return budget
    if budget is not None and not isinstance(budget, str):
        raise DeclarationError(f'budget: {budget!r} is not a text. Write it as in "calls=1000,minutes=30".')
    try:
        return Budget.parse(budget or "")
    except ValueError as error:
        raise DeclarationError(f"budget {error}") from None


def stored(source: CaseSource | StoredRows, folder: Path) -> CaseSource:
    """The source itself; rows of memory are written into the folder first."""
    return source if isinstance(source, CaseSource) else source.store(folder / ROWS)


def read_sample(
    source: CaseSource,
    folder: Path,
    limit: int | None,
    seed: int | None,
    *,
    limit_groups: int | None = None,
    skip_bad: bool,
    progress: Progress,
) -> list[Case]:
    """The cases; with `limit` or `limit_groups` a random sample of cases or of whole groups.

    Args:
        seed: of the sample; not used without a limit.
        folder: takes `rejects.jsonl`, with the bad rows, if `skip_bad`.
        skip_bad: leave out bad rows; the first one raises otherwise.

    Raises:
        DataError: no case.
    """
    seed, left_out = seed if limit or limit_groups else None, ExcludedCases()
    if skip_bad:
        private_folder(folder)
        with Rejects(folder / "rejects.jsonl") as rejects:
            cases = list(sample(source.cases(rejects, left_out), limit, seed, limit_groups=limit_groups))
        if rejects.count:
            progress.notice(f"{rejects.count:,} bad rows are in {rejects.path}")
    else:
        cases = list(sample(source.cases(None, left_out), limit, seed, limit_groups=limit_groups))
    if not cases:
        raise no_case(source, left_out)
    labels = LabelCount()
    for _ in labels.counted(cases):
        pass
    for notice in filter(None, (*left_out.notices(source.not_by), labels.notice())):
        progress.notice(notice)
    return cases


def nonempty(cases: Iterable[Case], source: CaseSource, left_out: ExcludedCases | None = None) -> Iterator[Case]:
    """The same cases; the first is read at once. Raises DataError where there is none."""
    remaining = iter(cases)
    first = next(remaining, None)
    if first is None:
        raise no_case(source, left_out)
    return chain([first], remaining)


def no_case(source: CaseSource, left_out: ExcludedCases | None = None) -> DataError:
    """The error of a source without a case: its file has no row, or what the filters of responses left out."""
    if not source.has_row():
        return DataError(NO_ROW.format(f"--cases {source.source}"))
    reasons = left_out.notices(source.not_by) if left_out else ()
    return DataError(" ".join((NO_CASE.format(source.source), *reasons)))


def exclude_training_cases(cases: list[Case], judge: str, built: Judge, progress: Progress) -> list[Case]:
    """The cases that a judge file was not compiled on, and that the judge did not learn from.

    Raises:
        DataError: none is left.
    """
    fingerprints = read(judge).training.get("cases") if judge.endswith(JUDGE_SUFFIX) else None
    has_learned = learned_from(built)
    left = [case for case in exclude_seen(cases, fingerprints) if not has_learned(case)]
    count = len(cases) - len(left)
    if not left:
        raise DataError(
            f"--cases: {judge} was compiled on all of these {count:,} cases. Give cases that are new to it."
        )
    if count:
        progress.notice(f"{judge} was compiled on {count:,} of these {len(cases):,} cases; they are excluded.")
    return left


def run_facts() -> dict[str, Any]:
    """The time and the versions, for a manifest."""
    versions = {name: version(name) for name in ("dicast", "dspy", "litellm", "pydantic")}
    return {"started": datetime.now(UTC).isoformat(timespec="seconds"), "versions": versions}
