"""A judge run over cases: a folder that Python and the command line share."""

import asyncio
import difflib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import Case, Rejects, Usage, Verdict
from ..data.case import digest
from ..data.split import sample
from ..engines.batch import RunFolder, retried_reasons, run_cases
from ..engines.ledger import Budget, Ledger, charge_to, current_ledger
from ..engines.pace import paced
from ..errors import BudgetSpent, DataError, DeclarationError, RunError
from ..judging import FittedJudge, Judge
from ..optimizers.compile_folder import is_compilation
from ..paths import path_of
from .case_filters import ExcludedCases, default_refusals
from .case_source import CaseSource
from .category_check import of_namable
from .given_cases import Cases, case_source, filtered_for
from .history_count import HistoryCount
from .interrupts import delayed_interrupt
from .judge_spec import BuiltJudge, JudgeSpec, judge_spec, same_judge
from .label_count import LabelCount
from .memory_rows import StoredRows
from .missing_fields import with_fields
from .preflight import (
    admit_models,
    as_budget,
    check_limits,
    fresh_folder,
    nonempty,
    pace_of,
    prepare_models,
    run_facts,
    stored,
    workers_of,
)
from .progress import SILENT, Progress
from .resume import check_cases, check_judge_part, identity_before, resume_notices
from .run_checks import check_seed
from .run_results import Run, Status
from .same_arguments import takes_arguments_of
from .seen_cases import SeenCases, fingerprints_of
from .set_task import with_task


@dataclass(frozen=True)
class RunSpec:
    """A judge and the cases that it judges: everything that decides the verdicts of a run.

    Attributes:
        judge: the judge.
        cases: where the cases come from and which are used.
        limit: this many cases; the first, or with `seed` a random sample.
        seed: of the sample.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
    """

    judge: JudgeSpec | BuiltJudge
    cases: CaseSource | StoredRows
    limit: int | None = None
    seed: int | None = None
    limit_groups: int | None = None

    @property
    def default_folder(self) -> Path:
        return Path("runs") / f"{self.judge.title}-{self.cases.stem}"

    @property
    def is_sampled(self) -> bool:
        """Whether the cases are a random sample."""
        return self.seed is not None and (self.limit or self.limit_groups) is not None

    def identity(self, judge: Judge, fitted_to: Sequence[Case] = ()) -> dict[str, Any]:
        """What must be equal for a run to be continued: judge, models, data and selection.

        Args:
            judge: the judge that the spec builds, fitted where it is to be.
            fitted_to: the cases that it is fitted to.
        """
        source = self.cases if isinstance(self.cases, CaseSource) else CaseSource("", **self.cases.options)
        return self.judge.identity(judge) | {
            "data": self.cases.digest(),
            "seed": self.seed,
            "limit": self.limit if self.seed is not None else None,
            **({"limit_groups": self.limit_groups} if self.limit_groups and self.seed is not None else {}),
            **source.reading(),
            **({"fitted_cases": digest("".join(case.digest for case in fitted_to))} if fitted_to else {}),
        }

    def manifest(
        self, judge: Judge, source: CaseSource, before: Mapping[str, Any] | None, fitted_to: Sequence[Case] = ()
    ) -> dict[str, Any]:
        """The manifest of the run.

        Args:
            source: what the cases are read from.
            before: the identity of the run that the folder holds, if any.
            fitted_to: as for `identity`.
        """
        identity = self.identity(judge, fitted_to)
        return {
            "identity": same_judge(before, identity, judge) if before else identity,
            "source": source.to_json(),
            "scale": judge.score_scale,
            "decoding": judge.decoding(),
            **({"compiled_on": compiled_on} if (compiled_on := fingerprints_of(self.judge)) else {}),
            **run_facts(),
        }


def run(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    aspect: str | None = None,
    no_ties: bool | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    retry: str | None = None,
    trust: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> Run:
    """Judge cases and write a run folder, or continue one; `dicast judge` continues it as well.

    Args:
        judge: a name of `dicast list`, a YAML or judge file, a `dicast.Judge`, or a `JudgeSpec`.
        cases: a file, the name of a public set, `hf:NAME`, a list of dicts or of `dicast.Case`, a pandas or polars
            DataFrame, or a `CaseSource` with further options.
        out: the run folder; by default runs/JUDGE-CASES.
        lm: `provider/model`, or `role=provider/model,...`.
        limit: this many cases: the first, or with `seed` a random sample.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
        seed: of the sample.
        aspect: only cases of this aspect.
        no_ties: leave out cases whose human label is a tie.
        workers: cases judged at once; by default as the engine of the model says.
        timeout: seconds until the first byte of an answer, of which the whole may take twice that; by default 120, of a
            local model 1,800.
        in_flight: requests to one model at once, at most; by default four for each worker, but at least 32.
        budget: limits, as in "calls=1000,tokens=2e6,cost=5,minutes=30".
        skip_bad: leave bad rows out, in the folder's rejects.jsonl; the first one raises otherwise.
        retry: reasons of unscored verdicts that are judged again too, with commas, or "all"; infrastructure, budget,
            internal and unreadable always are.
        trust: send texts to an address that only a judge file names.
        progress: callbacks.
        stop: once set, no new case starts; the run is returned with the verdicts so far.

    Returns:
        The run; its `status` says whether it is complete, was stopped, or has spent its budget.

    Raises:
        DeclarationError: a judge, model or parameter that does not exist.
        DataError: cases that cannot be read.
        RunError: the folder holds a run of something else, or is in use.
        Infrastructure: case after case failed at the server; the verdicts so far are kept.
    """
    check_limits(limit, limit_groups)
    check_seed(seed)
    source = case_source(cases, aspect=aspect, no_ties=no_ties)
    if isinstance(source, CaseSource):
        source.path()  # before a folder is made for cases that do not exist
    of_judge = with_task(judge_spec(judge, lm), source, progress.notice)
    built, ledger = of_judge.build(), Ledger(budget=as_budget(budget), parent=current_ledger())
    spec = RunSpec(of_judge, filtered_for(source, default_refusals(built)), limit, seed, limit_groups)
    admit_models(built, trust=trust, progress=progress)
    stop, message = stop or threading.Event(), ""
    workers = workers_of(built, workers)
    pace = pace_of(workers, timeout, in_flight, stop, progress, built)
    folder = RunFolder(path_of(out) if out is not None else spec.default_folder, retried=retried_reasons(retry))
    if is_compilation(folder.path):
        raise RunError(f"{folder.path}: holds a compilation. Give another --out.")
    labels, left_out, histories = LabelCount(), ExcludedCases(), HistoryCount(built, progress)
    with fresh_folder(folder.path), folder.locked(), Rejects(folder.path / "rejects.jsonl") as rejects:
        before = identity_before(folder)
        if before is not None:
            _check(spec, built, folder, before, progress, skip_bad=skip_bad)
        read_from, seen = stored(spec.cases, folder.path), SeenCases(spec.judge, built, before)
        unseen = seen.unseen(read_from.cases(rejects if skip_bad else None, left_out))
        drawn = sample(unseen, limit, seed, limit_groups=limit_groups)
        chosen = histories.counted(seen.counted(labels.counted(nonempty(drawn, read_from, left_out))))
        fitted_to: list[Case] = []
        if isinstance(built, FittedJudge) and built.is_fitted_to_cases:
            fitted_to = list(chosen)
            built, chosen = built.fit(fitted_to), iter(fitted_to)
        chosen = of_namable(built, with_fields(built, chosen))
        manifest = spec.manifest(built, read_from, before, fitted_to)
        if before is not None:
            check_judge_part(folder, before, manifest["identity"])
        prepare_models(built, progress=progress)
        total = None if limit_groups else limit or read_from.count()
        progress.start(total, folder.start(manifest))
        for notice in filter(None, (built.idle_decoding(), *resume_notices(folder))):
            progress.notice(notice)
        with charge_to(ledger), paced(pace), delayed_interrupt(stop):
            try:
                if isinstance(of_judge, JudgeSpec) and of_judge.people is not None:
                    built = of_judge.people.teach(built)
                run_cases(built, chosen, folder, workers=workers, on_verdict=progress.verdict, stop=stop)
            except BudgetSpent as error:
                message = str(error)
    for notice in filter(
        None, (*left_out.notices(read_from.not_by), labels.notice(), seen.notice(), histories.notice())
    ):
        progress.notice(notice)
    status: Status = "budget" if message else "stopped" if stop.is_set() else "complete"
    return Run(
        folder.path,
        status=status,
        message=message,
        usage=ledger.stages,
        rejected=rejects.count,
        unlabelled=labels.unlabelled,
    )


def _check(
    spec: RunSpec, judge: Judge, folder: RunFolder, before: Mapping[str, Any], progress: Progress, *, skip_bad: bool
) -> None:
    """Raises RunError where the folder holds a run of another judge, other models or other cases."""
    unfitted = {name: value for name, value in before.items() if name != "fitted_cases"}
    changes = check_judge_part(folder, unfitted, same_judge(before, spec.identity(judge), judge))
    is_fitted = isinstance(judge, FittedJudge) and judge.is_fitted_to_cases
    if changes and (is_fitted or spec.is_sampled):
        folder.refuse(changes[0])  # other cases change what the judge is fitted to, or which are sampled
    if changes:
        check_cases(folder, changes, spec.cases, progress, skip_bad=skip_bad)


@takes_arguments_of(run)
async def run_async(*judge_and_cases: Any, **options: Any) -> Run:
    """`run` in a thread, for notebooks and servers; cancelling it keeps every verdict of a case in flight.

    The arguments are those of `run`.
    """
    stop = options["stop"] = options.get("stop") or threading.Event()
    work = asyncio.ensure_future(asyncio.to_thread(run, *judge_and_cases, **options))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([work])
        raise


@dataclass(frozen=True)
class CaseJudgment:
    """One case with its verdict, and what each stage spent on it."""

    case: Case
    verdict: Verdict
    usage: Mapping[str, Usage]


def explain(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    case_id: str,
    *,
    lm: str | None = None,
    trust: bool = False,
    timeout: float | None = None,
    progress: Progress = SILENT,
) -> CaseJudgment:
    """Judge one case, and write nothing.

    Args:
        timeout: as of `run`.
        trust: as of `run`.

    Raises:
        DataError: no case has this id.
    """
    source = case_source(cases)
    if isinstance(source, StoredRows):
        raise DeclarationError("explain: give a file or a set; a case of memory is judged by calling the judge.")
    built = with_task(judge_spec(judge, lm), source, progress.notice).build()
    admit_models(built, trust=trust, progress=progress)
    ids: list[str] = []
    for case in source.cases():
        ids.append(case.id)
        if case.id == case_id:
            break
    else:
        close = difflib.get_close_matches(case_id, ids, n=1, cutoff=0.0) or ["none"]
        raise DataError(
            f"--explain {case_id}: no case of {source.source} has this id. One of {len(ids):,} is {close[0]!r}."
        )
    if isinstance(built, FittedJudge) and built.is_fitted_to_cases:
        built.fit(source.cases())
    prepare_models(built, progress=progress)
    pace = pace_of(1, timeout, None, threading.Event(), progress)
    with charge_to(Ledger()) as ledger, paced(pace):
        verdict = built(case)
    return CaseJudgment(case, verdict, ledger.stages)
