"""A student trained on the folder of a training set, without a judge that it is compared with."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..distillation.export import Exported, Form, check_forms, export
from ..distillation.local_training import local_trainer
from ..distillation.student_card import write_training_card
from ..distillation.trained_model import base_model_string
from ..distillation.training_estimate import TrainingEstimate, estimate_training
from ..distillation.training_folder import TrainingFolder
from ..distillation.training_set import TrainingSet, read_set
from ..engines.jsonl import only_writer
from ..engines.models import prepare
from ..errors import DataError, RunError
from ..optimizers.evidence import Interrupted, ProgressCallbacks
from ..paths import path_of, private_folder
from .compilations import LOCK
from .finetuning import PRESET, WORDS_PRESET, training_recipe_of
from .interrupts import delayed_interrupt
from .progress import SILENT, Progress

if TYPE_CHECKING:
    from ..distillation.training_recipe import TrainingRecipe

EXPORTS = "export"


@dataclass(frozen=True)
class TrainingRun:
    """How a training ended.

    Attributes:
        folder: of the training; the student is in its student/.
        status: "complete", "stopped" or "dry run".
        preset: of the recipe.
        estimate: of a dry run.
        model: `transformers/FOLDER` of the student, if complete.
        figures: of the training, if complete.
        card: the model card, if complete.
        exported: the forms that were asked for.
    """

    folder: Path
    status: Literal["complete", "stopped", "dry run"]
    preset: str
    estimate: TrainingEstimate | None = None
    model: str = ""
    figures: Mapping[str, Any] | None = None
    card: Path | None = None
    exported: Exported | None = None


def train_student(
    set_folder: str | Path,
    *,
    base: str,
    preset: str | None = None,
    training: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    exports: Sequence[Form] = (),
    seed: int = 0,
    dry_run: bool = False,
    progress: Progress = SILENT,
    stop: threading.Event | None = None,
) -> TrainingRun:
    """Train a student on a training set, or continue; see `distillation.train`.

    Args:
        set_folder: of `training_set` or `history_sets`.
        base: as of `distill`.
        preset: by default cpu, and cpu-small where rows teach words.
        training: fields of the training recipe that differ from the preset.
        out: the folder; by default trained/SET.
        exports: what the student is written as, in the folder's export/.
        seed: of the adapters and the order of rows.
        dry_run: check everything and estimate tokens, memory and minutes; nothing is trained or written.
        progress: callbacks; `step` is called with a line now and then.
        stop: once set, the training stops after a checkpoint.

    Raises:
        DataError: the folder holds no whole training set, or rows that the method does not learn.
        DeclarationError: a preset, field, base or form that cannot be used, or too little memory.
        ModelError: the base cannot be used.
        RunError: `out` holds something else, or is in use.
    """
    rows = read_set(path_of(set_folder))
    teaches_words = rows.card.train.one_token < rows.card.train.rows
    preset = preset or (WORDS_PRESET if teaches_words else PRESET)
    recipe = training_recipe_of(base, preset, training or {}, seed)
    if teaches_words and recipe.method == "tail":
        raise DataError(
            f"{set_folder}: {rows.card.train.rows - rows.card.train.one_token:,} of its {rows.card.train.rows:,} rows "
            f"teach words, and the method tail learns one token alone. Use --preset {WORDS_PRESET}."
        )
    check_forms(exports, recipe.method)
    folder = path_of(out) if out is not None else Path("trained") / rows.folder.resolve().name
    _check_folder(folder)
    if dry_run:
        return TrainingRun(folder, "dry run", preset, estimate=estimate_training(rows, recipe))
    prepare(base_model_string(base), progress.download)
    trainer = local_trainer(recipe, None if TrainingFolder(folder).is_finished else folder)
    stop = stop or threading.Event()
    with only_writer(private_folder(folder) / LOCK, folder):
        progress.start(None, 0)
        try:
            with delayed_interrupt(stop):
                model = trainer(rows.folder, folder, ProgressCallbacks(progress.step, None, stop))
        except Interrupted:
            return TrainingRun(folder, "stopped", preset)
        run = TrainingRun(folder, "complete", preset, model=model.model, figures=model.figures)
        return _handed_on(run, recipe, rows, exports)


def _handed_on(run: TrainingRun, recipe: "TrainingRecipe", rows: TrainingSet, forms: Sequence[Form]) -> TrainingRun:
    """The run with the student's card, and with the forms in which it was to be written."""
    name = run.folder.resolve().name
    card = write_training_card(run.folder, recipe, rows.folder, name=name)
    student = TrainingFolder(run.folder).student
    exported = export(student, run.folder / EXPORTS, name=name, forms=forms) if forms else None
    return replace(run, card=card, exported=exported)


def _check_folder(folder: Path) -> None:
    """Raises RunError for a folder of something else."""
    known = {"training.json", "tail.json"}
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if names - {LOCK} and not names & known:
        raise RunError(f"{folder}: holds {min(names - {LOCK})}, so it is no training. Give another --out.")
