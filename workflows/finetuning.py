"""The training that a recipe of `dicast compile --finetune` or a distillation asks for."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..distillation.finetuner import Finetuner
from ..distillation.local_training import local_trainer
from ..distillation.trained_model import base_model_string, base_name
from ..judging import Judge
from ..judging.decoding_by_role import decoding_used
from ..optimizers.finetune import STEP
from ..optimizers.recipe import Recipe

if TYPE_CHECKING:
    from ..distillation.training_recipe import TrainingRecipe

PRESET = "cpu"  # of a training that names none
WORDS_PRESET = "cpu-small"  # of a training that learns words, as the method tail of cpu cannot


def training_recipe_of(base: str, preset: str | None, changes: Mapping[str, Any], seed: int) -> "TrainingRecipe":
    """The recipe of a training.

    Args:
        changes: fields that differ from the preset.

    Raises:
        DeclarationError: no such preset or field, or a server's model as the base.
    """
    from ..distillation.presets import recipe_of

    return recipe_of(preset or PRESET, **{"base": base_name(base), "seed": seed, **changes})


def writes(program: Judge) -> bool:
    """Whether a program writes answers, and is not read from the probabilities of one token alone."""
    used = decoding_used(program, program.hparams())
    return any("readout" not in how for stages in used.values() for how in stages.values())


def recipe_of_compilation(chosen: Recipe) -> "TrainingRecipe | None":
    """The training that a compilation asks for; None where it trains nothing."""
    if chosen.finetune is None:
        return None
    return training_recipe_of(chosen.finetune, chosen.preset, chosen.training, chosen.seed)


def student_trainer(chosen: Recipe, folder: Path, workers: int) -> Finetuner | None:
    """What trains the student of a compilation; None where it trains nothing.

    Args:
        folder: of the compilation.

    Raises:
        DeclarationError, ModelError: the training cannot be done on this machine; said before anything is spent.
    """
    training = recipe_of_compilation(chosen)
    if training is None:
        return None
    trainer = local_trainer(training, folder / STEP)
    return Finetuner(base_model_string(str(chosen.finetune)), trainer, workers, chosen.seed)
