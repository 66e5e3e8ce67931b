"""An experiment: its sets prepared, every run continued where it stopped, and a table of printed figures and ours."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import Judged
from ..engines.jsonl import write_whole
from ..engines.ledger import Budget, Ledger, charge_to
from ..errors import DataError, DeclarationError, ModelError
from ..experiments import Experiment, find_experiment
from ..experiments.measure_names import check_addresses
from ..experiments.results import CostEstimate, ExperimentResult, MissingSet, Status
from ..pages import experiment_html, experiment_markdown
from ..paths import path_of, private_folder
from .corrected_texts import write_corrected
from .experiment_estimate import estimate
from .experiment_lines import result_lines
from .experiment_plan import PlannedCell, PlannedRun, distinct_runs, plan
from .experiment_preparation import PreparedSets, prepared_sets
from .experiment_sets import CaseSample, find_sets
from .preflight import as_budget, check_limits
from .progress import SILENT, Progress
from .reports import PAGE, timestamp
from .run_checks import check_seed
from .run_results import Run, open_run
from .runs import run

FOLDER = Path("runs") / "experiments"  # of all experiments, below the working folder
RESULT, TABLE = "experiment.json", "table.md"


class OfWhole(Progress):
    """The progress of one run as part of that of all runs: it does not start the bar again."""

    def __init__(self, whole: Progress) -> None:
        self.whole = whole

    def download(self, name: str, done: int, total: int) -> None:
        self.whole.download(name, done, total)

    def verdict(self, judged: Judged) -> None:
        self.whole.verdict(judged)

    def notice(self, text: str) -> None:
        self.whole.notice(text)

    def waiting(self, text: str) -> None:
        self.whole.waiting(text)


@dataclass(frozen=True)
class _Plan:
    """An experiment with everything that is known before its first case.

    Attributes:
        estimated: what is left of it.
    """

    experiment: Experiment
    folder: Path
    sample: CaseSample
    cells: Sequence[PlannedCell]
    missing: Sequence[MissingSet]
    estimated: CostEstimate


@dataclass(frozen=True)
class Ended:
    """How the runs of an experiment ended.

    Attributes:
        message: why they ended, if they are not complete.
        failures: run folder: why it could not be judged.
    """

    status: Status
    message: str = ""
    failures: Mapping[Path, str] = field(default_factory=dict)


def experiment(
    name: str | Path,
    *,
    lm: str | Sequence[str] | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    seed: int | None = None,
    root: Path | None = None,
    cases: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    budget: Budget | str | None = None,
    dry_run: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
    **options: Any,
) -> ExperimentResult:
    """Run an experiment, or continue it: every run of it that is not complete, then the table of its figures.

    Its folder has a run folder for each judge and set (`runs`), the table (experiment.json, table.md), and the page
    (report.html) where the extra `report` is installed.

    Args:
        name: of `dicast experiment list`, or a .yaml file.
        lm: `provider/model`, or `role=provider/model,...`; several for a line each.
        out: the folder of the experiment; by default runs/experiments/NAME.
        limit: this many cases of each set: the first, or with `seed` a random sample.
        limit_groups: instead of `limit`: this many inputs or persons of each set, each with all its cases.
        seed: of the sample.
        root: the folder of public sets; None for $DICAST_DATA.
        cases: set of the experiment: a file of yours, or another set, in its place.
        only: sets of the experiment that are judged; () for all.
        budget: limits of all runs together, as in "calls=1000,tokens=2e6,cost=5,minutes=30".
        dry_run: only estimate calls, tokens and cost; no model is called, and nothing is judged.
        progress: callbacks; `start` counts the cases of all runs, `step` tells the estimate and names each run.
        stop: once set, no new case starts.
        options: workers, timeout, in_flight, retry, trust and skip_bad, as of `dicast.run`.

    Raises:
        DeclarationError: an experiment, judge, parameter, measure or set that does not exist.
        DataError: none of the sets is on this machine.
        Infrastructure: case after case failed at the server; the verdicts so far are kept.
    """
    check_limits(limit, limit_groups)
    check_seed(seed)
    chosen, sample = find_experiment(name).of_sets(only), CaseSample(limit, seed, limit_groups)
    check_addresses((spec.name for cell in chosen.cells for spec in cell.measures), f"experiment {chosen.name!r}")
    folder = path_of(out) if out is not None else FOLDER / chosen.name
    models: Sequence[str | None] = [lm] if lm is None or isinstance(lm, str) else list(lm) or [None]
    sets, missing = find_sets(chosen, root, cases or {})
    if not sets:
        raise DataError(f"experiment {chosen.name!r}: no set is on this machine. {_where(missing)}")
    stop, ledger = stop or threading.Event(), Ledger(budget=as_budget(budget))
    private_folder(folder)
    with charge_to(ledger):
        prepared = prepared_sets(
            sets, folder, models[0], sample, dry_run=dry_run, progress=progress, stop=stop, options=options
        )
        planned = _planned(chosen, folder, sample, prepared, missing, models)
        if prepared.unfinished is not None:
            ended = Ended("stopped" if stop.is_set() else "budget", prepared.unfinished.message)
        else:
            ended = Ended("dry run") if dry_run else _run_all(planned, progress, stop, options)
    asked_for = {"file": str(name) if chosen.folder else "", "cases": dict(cases or {})}
    result = _result(planned, ended, ledger).model_copy(update=asked_for)
    if not dry_run:
        _write(result, folder, progress)
    return result


def page_of(name: str, out: str | Path | None = None) -> Path:
    """The page of an experiment in its folder `out`, or its table where it has no page."""
    folder = path_of(out) if out is not None else FOLDER / name
    return folder / (PAGE if (folder / PAGE).is_file() else TABLE)


def _planned(
    chosen: Experiment,
    folder: Path,
    sample: CaseSample,
    prepared: PreparedSets,
    missing: Sequence[MissingSet],
    models: Sequence[str | None],
) -> _Plan:
    """Plan the runs, and estimate what is left of them."""
    cells = plan(chosen, prepared.sources, models, folder, prepared.samples)
    return _Plan(chosen, folder, sample, cells, missing, estimate(distinct_runs(cells), prepared.notes))


def _run_all(planned: _Plan, progress: Progress, stop: threading.Event, options: Mapping[str, Any]) -> Ended:
    """Judge what is left of every run, in order; a run of wrong settings or cases does not keep the others back."""
    progress.step("estimate", planned.estimated.words)
    progress.start(planned.estimated.cases, planned.estimated.done)
    failures: dict[Path, str] = {}
    for planned_run in distinct_runs(planned.cells):
        if stop.is_set():
            return Ended("stopped", failures=failures)
        progress.step("run", planned_run.title)
        try:
            done = _run(planned_run, progress, stop, options)
        except ModelError:  # it would fail in every run
            raise
        except DeclarationError as error:
            failures[planned_run.folder] = str(error)
            progress.notice(f"{planned_run.title}: {error}")
            continue
        if done.status is not None and done.status != "complete":
            return Ended(done.status, done.message, failures)
    return Ended("complete", failures=failures)


def _run(planned: PlannedRun, progress: Progress, stop: threading.Event, options: Mapping[str, Any]) -> Run:
    """One run; one of rewritten texts first writes these. Raises DataError where no text was rewritten."""
    if planned.corrected is not None:
        private_folder(Path(planned.source.source).parent)
        if not write_corrected(open_run(planned.corrected), planned.source.source):
            raise DataError(f"{planned.corrected}: no text was rewritten, so there is none to judge.")
    return run(
        planned.judge,
        planned.source,
        out=planned.folder,
        limit=planned.sample.limit,
        limit_groups=planned.sample.limit_groups,
        seed=planned.sample.seed,
        progress=OfWhole(progress),
        stop=stop,
        **options,
    )


def _result(planned: _Plan, ended: Ended, ledger: Ledger) -> ExperimentResult:
    content, cells = planned.experiment.content, planned.cells
    return ExperimentResult(
        name=planned.experiment.name,
        title=content.title,
        place=planned.experiment.place,
        source=content.source,
        status=ended.status,
        message=ended.message,
        models=tuple(dict.fromkeys(cell.model for cell in cells if cell.model)),
        limit=planned.sample.limit,
        limit_groups=planned.sample.limit_groups,
        seed=planned.sample.seed,
        only=planned.experiment.only,
        lines=tuple(result_lines(cells, planned.missing, planned.folder, ended.failures)),
        missing=tuple(planned.missing),
        differs=content.differs,
        not_at_hand=content.not_at_hand,
        figure=content.figure,
        usage=ledger.total,
        estimate=planned.estimated,
    )


def _write(result: ExperimentResult, folder: Path, progress: Progress) -> None:
    """The table as JSON and Markdown, and the page."""
    write_whole(folder / RESULT, result.model_dump_json(indent=1) + "\n")
    write_whole(folder / TABLE, experiment_markdown(result, now=timestamp()))
    try:
        write_whole(folder / PAGE, experiment_html(result, now=timestamp()))
    except DeclarationError as error:  # the extra `report` is not installed
        progress.notice(f"{error} The experiment has no page; its table is {folder / TABLE}.")


def _where(missing: Sequence[MissingSet]) -> str:
    return " ".join(f"{lacking.name}, to get it: {lacking.get}." for lacking in missing)
