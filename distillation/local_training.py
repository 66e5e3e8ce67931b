"""The trainer of this machine: `train.train` with the recipe of a preset."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import RunError
from ..optimizers.evidence import ProgressCallbacks
from .distil_folder import TRAINING, trained_before
from .known_speeds import note_training
from .trained_model import TrainedModel, Trainer
from .training_folder import TrainingFolder
from .training_recipe import TrainingRecipe

if TYPE_CHECKING:
    from .progress import TrainingProgress

SHOWN = ("rows", "tokens", "steps", "seconds", "tokens_per_second", "loss", "validation_loss", "device", "precision")


def local_trainer(recipe: TrainingRecipe, folder: Path | None = None) -> Trainer:
    """A trainer that trains on this machine; see `train.train` for what it raises.

    Args:
        folder: that the training's folder will be in. What has no student there yet is checked at once, before a model
            is asked for lessons; None: when it starts.

    Raises:
        DeclarationError, ModelError: packages, base, chat template or memory do not allow the training.
    """
    if folder is not None and not TrainingFolder(folder / TRAINING).is_finished:
        from .train import check_training

        check_training(recipe)

    def trained(set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
        from .train import train

        was_there = TrainingFolder(folder).is_finished
        result = train(recipe, set_folder, folder, on_progress=lambda at: report(progress, at), stop=progress.stop)
        if not was_there:
            note_training(recipe, result.figures)
        figures = result.figures.model_dump(mode="json", include=set(SHOWN))
        model = f"transformers/{result.folder.resolve()}"
        return TrainedModel(model=model, figures=figures, recipe=recipe_identity(recipe))

    return trained


def recipe_identity(recipe: TrainingRecipe) -> dict[str, Any]:
    """What a training's result depends on, as JSON."""
    return recipe.model_dump(mode="json", exclude={"save_minutes"})


def check_same_training(folder: Path, recipe: TrainingRecipe) -> None:
    """Raises RunError where a distillation's folder holds a student that was trained by another recipe."""
    before, now = trained_before(folder).recipe, recipe_identity(recipe)
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if before and changed:
        raise RunError(
            f"{folder}: its student was trained with another {' and '.join(changed)}. Give the same --preset, --train "
            "and --base, or another --out."
        )


def report(progress: ProgressCallbacks, at: "TrainingProgress") -> None:
    """One line of a training: at each tenth of its steps."""
    every = max(1, at.steps // 10)
    if at.step % every == 0 or at.step == at.steps:
        left = f", {at.seconds_left / 60:.0f} min left" if at.seconds_left >= 90 else f", {at.seconds_left:.0f} s left"
        progress.step(
            "training",
            f"step {at.step:,} of {at.steps:,}, loss {at.loss:.3f}, {at.tokens_per_second:,.0f} tokens/s{left}",
        )
