"""A judge compiled against human labels: the judge file, its page and its evidence in one folder."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..data import Case
from ..distillation.trained_model import base_model_string
from ..engines.jsonl import only_writer
from ..engines.ledger import Budget
from ..engines.models import withholding_keys
from ..engines.pace import paced
from ..errors import BudgetSpent, DeclarationError, RunError
from ..judging import Judge, build
from ..judging.evidence_offers import offered_evidence
from ..judging.judge_file import read
from ..judging.registry import JUDGE_SUFFIX
from ..judging.trust import admitted, remember_address
from ..optimizers.compile import Compiled, Compiler, TooFewLabels
from ..optimizers.compile_folder import is_compilation
from ..optimizers.evidence import Interrupted, ProgressCallbacks
from ..optimizers.looks import read_looks
from ..optimizers.recipe import Baseline, Recipe, read_recipe, recipe
from ..paths import path_of, private_folder
from .case_filters import default_refusals
from .case_source import CaseSource
from .compilation_texts import note_source
from .compile_estimate import CompileEstimate, estimate_compilation
from .finetuning import student_trainer
from .given_cases import Cases, case_source, filtered_for
from .interrupts import delayed_interrupt
from .judge_spec import BuiltJudge, JudgeSpec, has_models, judge_spec
from .missing_fields import with_fields
from .preflight import (
    admit_models,
    as_budget,
    check_limits,
    exclude_training_cases,
    pace_of,
    prepare_models,
    read_sample,
    stored,
    workers_of,
)
from .progress import SILENT, Progress
from .reports import write_compilation_page
from .set_task import with_task

OF_CHOICES = Baseline(judge="zero-shot", set={"readout": "probability"})  # where direct would grade every option

LOCK = ".lock"  # in the folder, as run folders have


@dataclass(frozen=True)
class CompileRun:
    """How a compilation ended.

    Attributes:
        folder: holds everything that was written.
        status: "complete"; "dry run"; "stopped", "budget" or "too few labels" before the test.
        message: why it ended, if not complete.
        judge_file: the compiled judge; before the test, the best judge so far; None if there is none.
        compiled: judge, result and certificate, if complete.
        page: the page, if complete and the extra `report` is installed.
        estimate: of a dry run.
    """

    folder: Path
    status: Literal["complete", "dry run", "stopped", "budget", "too few labels"]
    message: str = ""
    judge_file: Path | None = None
    compiled: Compiled | None = None
    page: Path | None = None
    estimate: CompileEstimate | None = None


def compile(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    out: str | Path | None = None,
    lm: str | None = None,
    recipe_file: str | Path | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    trust: bool = False,
    must_resume: bool = False,
    dry_run: bool = False,
    texts: bool = True,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
    **steps: Any,
) -> CompileRun:
    """Compile a judge against labelled cases, or continue: fit, search, certify, and test once on unseen cases.

    Args:
        judge: as of `dicast.run`; `dicast.cascade` certifies several.
        cases: labelled cases, as of `dicast.run`.
        out: the folder; by default compiled/JUDGE-CASES.
        lm: `provider/model`, or `role=provider/model,...`.
        recipe_file: a YAML file of the steps.
        limit: this many cases, sampled with the recipe's seed.
        limit_groups: instead of `limit`: this many groups (inputs, persons), each with all its cases.
        workers: cases judged at once.
        timeout: seconds until the first byte of an answer, of which the whole may take twice that; by default 120, of a
            local model 1,800.
        in_flight: requests to one model at once, at most; by default four for each worker, but at least 32.
        budget: limits, as in "calls=1000,minutes=30".
        skip_bad: leave bad rows out, in the folder's rejects.jsonl.
        must_resume: raise where the folder holds no compilation to continue.
        dry_run: only estimate; no model is called and nothing is written.
        trust: send texts to an address that only a judge file or the recipe file names.
        texts: whether the page shows texts of cases.
        progress: callbacks.
        stop: once set, no new case starts; what is done is kept.
        steps: fields of `dicast.Recipe` that differ from the recipe file, or from the default recipe.

    Raises:
        DeclarationError: a judge, parameter or recipe that does not fit.
        DataError: cases that cannot be read, or that the judge was compiled on.
        RunError: the folder holds another compilation, or none to continue.
    """
    check_limits(limit, limit_groups)
    source = case_source(cases)
    spec = with_task(judge_spec(judge, lm), source, progress.notice)
    chosen = read_recipe(Path(recipe_file), **steps) if recipe_file else recipe("compile", steps)
    folder = path_of(out) if out is not None else Path("compiled") / f"{spec.title}-{source.stem}"
    if (folder / "verdicts.jsonl").exists():
        raise RunError(f"{folder}: holds a run. Give another --out.")
    if must_resume and not is_compilation(folder):
        raise RunError(f"--resume: {folder} holds no compilation. Leave --resume out to start one.")
    built, stop = spec.build(), stop or threading.Event()
    admit_models(built, trust=trust, progress=progress)
    workers = workers_of(built, workers)
    pace = pace_of(workers, timeout, in_flight, stop, progress, built)
    from_file = _models_of_file(chosen, recipe_file, trust=trust, progress=progress)
    read_from = stored(filtered_for(source, default_refusals(built)), folder)
    labelled = read_sample(
        read_from,
        folder,
        limit,
        chosen.seed,
        limit_groups=limit_groups,
        skip_bad=skip_bad,
        progress=progress,
    )
    labelled = exclude_training_cases(labelled, spec.name, built, progress)
    built = with_best_evidence(built, spec, chosen, labelled, progress)
    with_fields(built, labelled)
    baseline = _baseline(chosen, built, labelled, progress)
    if dry_run:
        return CompileRun(folder, "dry run", estimate=estimate_compilation(built, labelled, chosen, baseline))
    prepare_models(built, *_other_models(chosen), progress=progress)
    trainer = student_trainer(chosen, folder, workers)
    learned = read(spec.name).training if spec.name.endswith(JUDGE_SUFFIX) else {}
    progress.start(None, 0)
    with only_writer(private_folder(folder) / LOCK, folder):
        try:
            compiler = Compiler(
                built, labelled, folder, chosen, baseline=baseline, workers=workers,
                budget=as_budget(budget), progress=ProgressCallbacks(progress.step, progress.verdict, stop),
                looks=read_looks(learned.get("looks")), seen=learned.get("cases"), trainer=trainer,
            )  # fmt: skip
        except TooFewLabels as error:
            return CompileRun(folder, "too few labels", str(error))
        path = folder / f"{spec.title}{JUDGE_SUFFIX}"
        try:
            with paced(pace), delayed_interrupt(stop), withholding_keys(from_file):
                compiled = compiler.run()
        except Interrupted:
            return CompileRun(folder, "stopped", "", _save_best(compiler, path))
        except BudgetSpent as error:
            return CompileRun(folder, "budget", str(error), _save_best(compiler, path))
        compiled.save(path)
        note_source(folder, read_from)
        page = _page(folder, read_from if texts else None, progress)
        return CompileRun(folder, "complete", "", path, compiled, page)


def _baseline(chosen: Recipe, judge: Judge, cases: Sequence[Case], progress: Progress) -> Judge | None:
    """The judge of the recipe's baseline, answered by the model of the compiled judge's first role if it has none.

    None where it is that judge itself, or needs a model and the compiled judge has none. Where no recipe names one and
    cases have several options, it is asked once for all of them, not once for each.
    """
    baseline = chosen.baseline
    if baseline is None:
        return None
    of_choices = "baseline" not in chosen.model_fields_set and any(len(case.candidates) > 2 for case in cases)
    baseline = OF_CHOICES if of_choices else baseline
    built, seats = build(baseline.judge, **baseline.set), judge.seats()
    of_judge = {name: value for name, value in judge.settings().items() if name != "evidence"}  # only a head reads it
    same = (built.name, built.settings()) == (judge.name, of_judge)
    if same or (built.seats() and not seats):
        return None
    if not has_models(built):
        for seat in built.seats():
            if not seat.is_fixed:
                seat.use_model_of(seats[0])
    built.name = baseline.title
    if of_choices:
        progress.step("baseline", f"{built.name}, one token a case; `baseline: NAME` in a --recipe asks another judge")
    return built


def with_best_evidence(
    judge: Judge, spec: JudgeSpec | BuiltJudge, chosen: Recipe, cases: Sequence[Case], progress: Progress
) -> Judge:
    """A copy that reads what its model gives here, where nobody chose its evidence and a head can weigh it; a judge
    file's stays as it is."""
    parameter = judge.hparams().get("evidence")
    if parameter is None or parameter.is_set or spec.name.endswith(JUDGE_SUFFIX):
        return judge
    if "evidence" in chosen.space or not chosen.head or any(len(case.categories) > 2 for case in cases):
        return judge
    offer = offered_evidence(judge)
    for hint in offer.hints:
        progress.step("evidence", hint)
    if not offer.evidence or judge.evidence_text:
        return judge
    reading: Judge = judge.deepcopy()
    reading.set(evidence=offer.evidence)
    progress.step("evidence", f"{offer.evidence}, beside the judge's answers; --set evidence= leaves it out")
    return reading


def _other_models(chosen: Recipe) -> list[str]:
    """The models that a recipe names beside the judge's."""
    searched = [value for name, values in chosen.space.items() if name.partition(".")[0] == "model" for value in values]
    writers = [chosen.prompt_lm if chosen.prompts != "none" else None]
    writers += [base_model_string(chosen.finetune) if chosen.finetune else None]
    writers += [chosen.criteria_lm if chosen.criteria != "none" else None]
    return [*map(str, searched), *(writer for writer in writers if writer)]


def _models_of_file(chosen: Recipe, file: str | Path | None, *, trust: bool, progress: Progress) -> list[str]:
    """The models that a recipe file names, once texts may go there; the addresses of the other ones are remembered.

    Raises:
        ModelError: an address that only the file names, without `trust`; or an address that no file may name.
    """
    in_file = set(_other_models(read_recipe(Path(file)))) if file else set()
    for model in dict.fromkeys(_other_models(chosen)):
        if model not in in_file:
            remember_address(model)
        elif line := admitted(model, f"recipe {file}", trust=trust):
            progress.notice(line)
    return sorted(in_file)


def _save_best(compiler: Compiler, path: Path) -> Path | None:
    """Save the best judge so far, if a step is finished."""
    best = compiler.best_so_far()
    if best is None:
        return None
    best.save(path)
    return path


def _page(folder: Path, cases: CaseSource | None, progress: Progress) -> Path | None:
    """Write the page into the folder, without texts where there is no source of cases; none, with a notice, without
    the extra `report`."""
    try:
        return write_compilation_page(folder, cases=cases, texts=cases is not None, progress=progress).path
    except DeclarationError as error:
        progress.notice(str(error))
        return None
