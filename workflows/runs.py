"""A judge run over cases, and the run that results: a folder that Python and the command line share."""

import asyncio
import difflib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..data import Case, Judged, Rejects, Usage, Verdict
from ..data.readers import file_digest
from ..data.split import sample
from ..engines.batch import RunFolder, read_manifest, read_verdicts, run_cases
from ..engines.ledger import Budget, Ledger, charge_to
from ..errors import BudgetSpent, DataError, DeclarationError
from ..evaluation import RunArrays, run_arrays
from ..evaluation.external_verdicts import read_external_verdicts
from ..judging import FittedJudge, Judge
from .case_source import ROWS, Cases, CaseSource, StoredRows, case_source
from .interrupts import delayed_interrupt
from .judge_spec import BuiltJudge, JudgeSpec, judge_spec, same_judge
from .preflight import as_budget, prepare_models, run_facts, workers_of
from .progress import SILENT, Progress

if TYPE_CHECKING:
    from ..evaluation.results import Evaluation

Status = Literal["complete", "stopped", "budget"]


@dataclass(frozen=True)
class RunSpec:
    """A judge and the cases that it judges: everything that decides the verdicts of a run.

    Attributes:
        judge: the judge.
        cases: where the cases come from and which are used.
        limit: this many cases; the first, or with `seed` a random sample.
        seed: of the sample.
    """

    judge: JudgeSpec | BuiltJudge
    cases: CaseSource | StoredRows
    limit: int | None = None
    seed: int | None = None

    @property
    def default_folder(self) -> Path:
        return Path("runs") / f"{self.judge.title}-{self.cases.stem}"

    def identity(self, judge: Judge) -> dict[str, Any]:
        """What must be equal for a run to be continued: judge, models, data and selection.

        Args:
            judge: the judge that the spec builds, fitted where it is to be.
        """
        source = self.cases if isinstance(self.cases, CaseSource) else CaseSource("", **self.cases.options)
        return self.judge.identity(judge) | {
            "data": self.cases.digest(),
            "seed": self.seed,
            "limit": self.limit if self.seed is not None else None,
            "no_ties": source.no_ties,
            "no_refusals": source.no_refusals,
            "aspect": source.aspect,
            **({"max_chars": source.max_chars} if source.max_chars else {}),
        }

    def manifest(self, judge: Judge, source: CaseSource, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """The manifest of the run.

        Args:
            source: what the cases are read from.
            before: the identity of the run that the folder holds, if any.
        """
        identity = self.identity(judge)
        return {
            "identity": same_judge(before, identity, judge) if before else identity,
            "source": source.to_json(),
            "scale": judge.score_scale,
            **run_facts(),
        }


@dataclass
class Run:
    """A run folder, or a .jsonl file of verdicts of another tool.

    Attributes:
        path: the folder or file.
        where: of a file, only rows whose fields have these values.
        status: how `dicast.run` ended: "complete", "stopped", or "budget"; None for a run that was only read.
        message: why it ended, if not complete.
        usage: what `dicast.run` spent, by stage; answers from the cache cost nothing.
        rejected: bad rows that `dicast.run` left out; they are in `rejects.jsonl`.
    """

    path: Path
    where: Mapping[str, str] = field(default_factory=dict)
    status: Status | None = None
    message: str = ""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    rejected: int = 0

    @property
    def name(self) -> str:
        return self.path.name or str(self.path)

    def __iter__(self) -> Iterator[Judged]:
        """The verdicts with their human labels, one at a time, in the order in which they were judged."""
        return read_verdicts(self.path) if self.path.is_dir() else read_external_verdicts(self.path, self.where)

    def verdicts(self) -> list[Judged]:
        """The verdicts with their human labels, in the order in which they were judged."""
        return list(self)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The run's manifest; that of a file says "elsewhere" for the model."""
        if self.path.is_dir():
            return read_manifest(self.path)
        judge = ",".join(self.where.values()) or self.path.stem
        return {"identity": {"judge": judge, "settings": {}, "lm": "elsewhere", "data": file_digest(self.path)}}

    @property
    def identity(self) -> dict[str, Any]:
        """Judge, settings, models, data and selection."""
        identity: dict[str, Any] = self.manifest["identity"]
        return identity

    @property
    def source(self) -> CaseSource | None:
        """Where the cases were read from; None for a file of verdicts."""
        source = self.manifest.get("source")
        return CaseSource.from_json(source) if source else None

    @cached_property
    def arrays(self) -> RunArrays:
        """The verdicts as arrays for evaluation, read once."""
        scale = self.manifest.get("scale")
        return run_arrays(self, tuple(scale) if scale else None)

    def evaluate(self, **options: Any) -> "Evaluation":
        """`dicast.evaluate` of this run."""
        from .evaluations import evaluate

        return evaluate(self, **options)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The verdicts as dicts of JSON values, as in `verdicts.jsonl`."""
        return [judged.model_dump(mode="json") for judged in self]

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a verdict; raises DeclarationError where pandas is missing."""
        try:
            import pandas
        except ImportError:
            raise DeclarationError("to_pandas needs pandas. pip install pandas") from None
        return pandas.DataFrame(list(map(flat_row, self)))

    def to_polars(self) -> Any:
        """A polars DataFrame, one row a verdict; raises DeclarationError where polars is missing."""
        try:
            import polars
        except ImportError:
            raise DeclarationError("to_polars needs polars. pip install polars") from None
        return polars.DataFrame(list(map(flat_row, self)), infer_schema_length=None)


def flat_row(judged: Judged) -> dict[str, Any]:
    """A verdict as one row of a table: no nested value, the same columns for every verdict."""
    pair = len(judged.scores or ()) == 2
    scores = dict(enumerate(judged.scores or ()))
    label = judged.label.value if judged.label is not None and hasattr(judged.label, "value") else None
    distribution = judged.distribution or {}
    return {
        "case_id": judged.case_id,
        "status": judged.status,
        "reason": judged.reason,
        "winner": None if judged.winner is None else str(judged.winner),
        "label": None if label is None else str(label),
        "certainty": judged.certainty,
        "consistent": judged.consistent,
        "score": None if pair else scores.get(0),
        "score_a": scores.get(0) if pair else None,
        "score_b": scores.get(1) if pair else None,
        "label_score": judged.label.values[0] if judged.label is not None and hasattr(judged.label, "values") else None,
        "p_a": distribution.get("a"),
        "p_b": distribution.get("b"),
        "p_tie": distribution.get("tie"),
        "rationale": judged.rationale,
        "group": judged.group,
        "aspect": judged.aspect,
        **judged.usage.model_dump(include={"calls", "prompt_tokens", "completion_tokens", "cost"}),
    }


def run(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    limit: int | None = None,
    seed: int | None = None,
    aspect: str | None = None,
    no_ties: bool | None = None,
    workers: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
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
        seed: of the sample.
        aspect: only cases of this aspect.
        no_ties: leave out cases whose human label is a tie.
        workers: cases judged at once; by default as the engine of the model says.
        budget: limits, as in "calls=1000,tokens=2e6,cost=5,minutes=30".
        skip_bad: leave bad rows out, in the folder's rejects.jsonl; the first one raises otherwise.
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
    source = case_source(cases, aspect=aspect, no_ties=no_ties)
    if isinstance(source, CaseSource):
        source.path()  # before a folder is made for cases that do not exist
    spec = RunSpec(judge_spec(judge, lm), source, limit, seed)
    built, ledger = spec.judge.build(), Ledger(budget=as_budget(budget))
    folder = RunFolder(Path(out) if out is not None else spec.default_folder)
    stop, message = stop or threading.Event(), ""
    with folder.locked(), Rejects(folder.path / "rejects.jsonl") as rejects:
        before = folder.read_manifest()["identity"] if folder.has_lines() else None
        read_from = _readable(spec, folder, before)
        chosen = sample(read_from.cases(rejects if skip_bad else None), limit, seed)
        if isinstance(built, FittedJudge):
            fitted_to = list(chosen)
            built, chosen = built.fit(fitted_to), iter(fitted_to)
        manifest = spec.manifest(built, read_from, before)
        prepare_models(built, progress=progress)
        progress.start(limit or read_from.count(), folder.open(manifest))
        with charge_to(ledger), delayed_interrupt(stop):
            try:
                run_cases(
                    built, chosen, folder, workers=workers or workers_of(built), on_verdict=progress.verdict, stop=stop
                )
            except BudgetSpent as error:
                message = str(error)
    status: Status = "budget" if message else "stopped" if stop.is_set() else "complete"
    return Run(folder.path, status=status, message=message, usage=ledger.stages, rejected=rejects.count)


def _readable(spec: RunSpec, folder: RunFolder, before: Mapping[str, Any] | None) -> CaseSource:
    """The source to read the cases from; rows of memory are written into the folder, unless it holds other ones."""
    if isinstance(spec.cases, CaseSource):
        return spec.cases
    if before is not None and before.get("data") != spec.cases.digest():
        folder.check(dict(before) | {"data": spec.cases.digest()})
    return spec.cases.store(folder.path / ROWS)


async def run_async(judge: str | Path | Judge | JudgeSpec, cases: Cases, **options: Any) -> Run:
    """`run` in a thread, for notebooks and servers; cancelling it keeps every verdict of a case in flight.

    Args:
        options: as of `run`.
    """
    stop = options.setdefault("stop", threading.Event())
    work = asyncio.ensure_future(asyncio.to_thread(run, judge, cases, **options))
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
    progress: Progress = SILENT,
) -> CaseJudgment:
    """Judge one case, and write nothing.

    Raises:
        DataError: no case has this id.
    """
    source = case_source(cases)
    if isinstance(source, StoredRows):
        raise DeclarationError("explain: give a file or a set; a case of memory is judged by calling the judge.")
    built = judge_spec(judge, lm).build()
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
    if isinstance(built, FittedJudge):
        built.fit(source.cases())
    prepare_models(built, progress=progress)
    with charge_to(Ledger()) as ledger:
        verdict = built(case)
    return CaseJudgment(case, verdict, ledger.stages)
