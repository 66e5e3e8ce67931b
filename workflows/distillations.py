"""A judge distilled into a small local model: the student's judge file, its page and its evidence in one folder."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..data import Case
from ..distillation.distil import Distilled, Distiller
from ..distillation.distil_folder import EXPORTS, SET, STUDENT_FILE, TRAINING, is_distillation
from ..distillation.distil_recipe import DistilRecipe
from ..distillation.estimate import DistilEstimate, estimate_distillation
from ..distillation.export import Exported, Form, check_forms, export
from ..distillation.local_training import check_same_training, local_trainer
from ..distillation.student_card import write_student_card
from ..distillation.trained_model import Trainer, base_model_string
from ..engines.jsonl import only_writer
from ..engines.ledger import Budget
from ..engines.models import prepare
from ..engines.pace import paced
from ..errors import BudgetSpent, DeclarationError, RunError
from ..judging import Judge
from ..judging.judge_file import read
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.compile import TooFewLabels
from ..optimizers.compile_folder import is_compilation
from ..optimizers.evidence import Interrupted, ProgressCallbacks
from ..parsing import parse_record
from ..paths import path_of, private_folder
from .case_filters import default_refusals
from .case_source import CaseSource
from .compilations import LOCK
from .finetuning import WORDS_PRESET, training_recipe_of, writes
from .given_cases import Cases, case_source, filtered_for
from .interrupts import delayed_interrupt
from .judge_spec import BuiltJudge, JudgeSpec, judge_spec
from .memory_rows import StoredRows
from .preflight import (
    admit_models,
    as_budget,
    check_limits,
    pace_of,
    prepare_models,
    read_sample,
    stored,
    workers_of,
)
from .progress import SILENT, Progress
from .reports import write_distillation_page
from .set_task import with_task

if TYPE_CHECKING:
    from ..distillation.training_recipe import TrainingRecipe

UNLABELLED = "unlabelled"  # takes rows of memory and bad rows


@dataclass(frozen=True)
class DistilRun:
    """How a distillation ended.

    Attributes:
        folder: holds everything that was written.
        status: "complete"; "dry run"; "stopped", "budget" or "too few labels" before the acceptance.
        message: why it ended, if not complete.
        estimate: of a dry run.
        judge_file: the student, if complete.
        distilled: the student and its acceptance, if complete.
        page: the page, if complete and the extra `report` is installed.
        card: the model card, if a student was trained on this machine.
        exported: the forms that were asked for.
    """

    folder: Path
    status: Literal["complete", "dry run", "stopped", "budget", "too few labels"]
    message: str = ""
    estimate: DistilEstimate | None = None
    judge_file: Path | None = None
    distilled: Distilled | None = None
    page: Path | None = None
    card: Path | None = None
    exported: Exported | None = None


def distill(
    judge: str | Path | Judge | JudgeSpec,
    cases: Cases,
    *,
    base: str,
    out: str | Path | None = None,
    unlabelled: Cases | None = None,
    preset: str | None = None,
    training: "dict[str, Any] | None" = None,
    trainer: Trainer | None = None,
    exports: Sequence[Form] = (),
    lm: str | None = None,
    limit: int | None = None,
    limit_groups: int | None = None,
    limit_unlabelled: int | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    in_flight: int | None = None,
    budget: Budget | str | None = None,
    skip_bad: bool = False,
    trust: bool = False,
    dry_run: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
    **recipe: Any,
) -> DistilRun:
    """Distil a judge into a student of a small local model, or continue, and accept it by people's labels or not.

    Args:
        judge: the teacher, as of `dicast.compile`; best a judge file that was compiled on the same cases.
        cases: labelled cases; split as `dicast compile` splits them, so that the test part is the same.
        base: the model that the student begins as: a name of `dicast models list`, a folder, a .gguf file or the hub's
            OWNER/NAME.
        out: the folder; by default distilled/JUDGE-CASES.
        unlabelled: further cases, which the teacher judges for the student; labels of theirs are not read.
        preset: of the training; by default cpu, and cpu-small where mode chain learns words.
        training: fields of the training recipe that differ from the preset.
        trainer: trains in place of the preset's; `base` is then a model string.
        exports: what the trained student is written as, in the folder's export/.
        lm: of the teacher, as of `dicast.compile`.
        limit: this many labelled cases, sampled with the recipe's seed.
        limit_groups: instead of `limit`: this many groups, each with all its cases.
        limit_unlabelled: this many unlabelled cases, sampled with the recipe's seed.
        workers: cases judged at once.
        timeout: as of `dicast.compile`.
        in_flight: as of `dicast.compile`.
        budget: limits of the judging, as in "calls=1000,minutes=30"; the training is not limited.
        skip_bad: leave bad rows out, in the folder's rejects.jsonl.
        trust: send texts to an address that only a judge file names.
        dry_run: only estimate; no model is called and nothing is trained.
        progress: callbacks.
        stop: once set, no new case starts, and a training stops after a checkpoint.
        recipe: fields of `DistilRecipe`. Of a teacher that was compiled on these cases the seed is that of its
            compilation by default.

    Raises:
        DeclarationError: a judge, parameter, base or recipe that does not fit this machine or these cases.
        DataError: cases that cannot be read.
        RunError: the folder holds another distillation.
    """
    check_limits(limit, limit_groups)
    source = case_source(cases)
    spec = with_task(judge_spec(judge, lm), source, progress.notice)
    learned = _learned(spec)
    chosen = _recipe(recipe, learned)
    folder = path_of(out) if out is not None else Path("distilled") / f"{spec.title}-{source.stem}"
    if (folder / "verdicts.jsonl").exists() or (is_compilation(folder) and not is_distillation(folder)):
        raise RunError(f"{folder}: holds a run or a compilation. Give another --out.")
    teacher, stop = spec.build(), stop or threading.Event()
    admit_models(teacher, trust=trust, progress=progress)
    training_recipe = None
    if chosen.mode != "probe" and trainer is None:
        training_recipe = _training_recipe(teacher, chosen, base, preset, training or {})
    elif preset or training:
        raise DeclarationError("distil: a preset is of a training, and nothing of this machine's is trained here.")
    _check_exports(exports, training_recipe)
    if training_recipe is not None:
        check_same_training(folder, training_recipe)
        trainer = local_trainer(training_recipe, folder)
    model = base if trainer is not None and training_recipe is None else _model_string(base, chosen)
    workers = workers_of(teacher, workers)
    pace = pace_of(workers, timeout, in_flight, stop, progress, teacher)

    def read_cases(
        offered: CaseSource | StoredRows, place: Path, most: int | None, groups: int | None = None
    ) -> list[Case]:
        rows = stored(filtered_for(offered, default_refusals(teacher)), place)
        return read_sample(
            rows, place, most, chosen.seed, limit_groups=groups, skip_bad=skip_bad, progress=progress
        )  # fmt: skip

    labelled = read_cases(source, folder, limit, limit_groups)
    others = [] if unlabelled is None else read_cases(case_source(unlabelled), folder / UNLABELLED, limit_unlabelled)
    others = [case.model_copy(update={"label": None, "votes": ()}) for case in others]
    if dry_run:
        figures = estimate_distillation(teacher, labelled, others, chosen, model, training_recipe, learned)
        return DistilRun(folder, "dry run", estimate=figures)
    prepare_models(teacher, progress=progress)
    prepare(model, progress.download)
    progress.start(None, 0)
    with only_writer(private_folder(folder) / LOCK, folder):
        try:
            distiller = Distiller(
                teacher, labelled, folder, chosen, base=model, trainer=trainer, unlabelled=others, training=learned,
                workers=workers, budget=as_budget(budget),
                progress=ProgressCallbacks(progress.step, progress.verdict, stop),
            )  # fmt: skip
        except TooFewLabels as error:
            return DistilRun(folder, "too few labels", str(error))
        try:
            with paced(pace), delayed_interrupt(stop):
                distilled = distiller.run()
        except Interrupted:
            return DistilRun(folder, "stopped")
        except BudgetSpent as error:
            return DistilRun(folder, "budget", str(error))
        path = folder / STUDENT_FILE
        distilled.save(path)
        run = DistilRun(folder, "complete", judge_file=path, distilled=distilled, page=_page(folder, progress))
        return run if training_recipe is None else _handed_on(run, training_recipe, exports)


def _learned(spec: JudgeSpec | BuiltJudge) -> dict[str, Any]:
    """The training record of the teacher's judge file; empty for any other teacher."""
    return dict(read(spec.name).training) if spec.name.endswith(JUDGE_SUFFIX) else {}


def _recipe(fields: dict[str, Any], learned: dict[str, Any]) -> DistilRecipe:
    seed = learned.get("seed")
    known = {"seed": seed} if isinstance(seed, int) else {}
    chosen = {name: value for name, value in fields.items() if value is not None}
    return parse_record(DistilRecipe, known | chosen, "distil", error=DeclarationError)


def _training_recipe(
    teacher: Judge, chosen: DistilRecipe, base: str, preset: str | None, changes: Mapping[str, Any]
) -> "TrainingRecipe":
    """The recipe of the training; a method that cannot learn what the teacher writes is refused first."""
    learns_words = chosen.mode == "chain" and writes(teacher)
    preset = preset or (WORDS_PRESET if learns_words else None)
    recipe = training_recipe_of(base, preset, changes, chosen.seed)
    if learns_words and recipe.method == "tail":
        raise DeclarationError(
            f"distil: mode chain of {teacher.name!r} learns words, and the method tail learns one token alone. Use "
            f"--preset {WORDS_PRESET}, or --mode verdict."
        )
    return recipe


def _check_exports(forms: Sequence[Form], training: "TrainingRecipe | None") -> None:
    if forms and training is None:
        raise DeclarationError("--export: no weights are trained on this machine, so that there are none to write.")
    if training is not None:
        check_forms(forms, training.method)


def _handed_on(run: DistilRun, training: "TrainingRecipe", forms: Sequence[Form]) -> DistilRun:
    """The run with the student's card, and with the forms in which it was to be written."""
    assert run.distilled is not None
    trained, folder = run.distilled.trained, run.folder
    if trained is None or trained.folder is None:  # a trainer that gave a server's model
        return run
    name, origin = folder.resolve().name, run.distilled.origin
    models = " + ".join(dict.fromkeys(origin["teacher_models"].values())) or "no model"
    card = write_student_card(
        folder / TRAINING, training, folder / SET, run.distilled.acceptance, name=name,
        teacher=f"{origin['teacher']}, {models}", seed=origin["recipe"]["seed"],
    )  # fmt: skip
    exported = export(trained.folder, folder / EXPORTS, name=name, forms=forms) if forms else None
    return replace(run, card=card, exported=exported)


def _model_string(base: str, chosen: DistilRecipe) -> str:
    return base_model_string(base, states=chosen.mode == "probe")


def _page(folder: Path, progress: Progress) -> Path | None:
    """Write the page into the folder; none, with a notice, without the extra `report`."""
    try:
        return write_distillation_page(folder).path
    except DeclarationError as error:
        progress.notice(str(error))
        return None
