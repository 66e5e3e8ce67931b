"""Speeds that were measured before: of trainings on this machine, and of a teacher's calls when it was compiled.

An estimate of minutes rests on these alone. A base that was never trained here, or a teacher that was never compiled,
has no minutes. The file of trainings lies with the other histories (`engines.history_file`) and holds no texts.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..engines.history_file import Entry, add_to_history, read_history
from ..errors import DicastError
from ..optimizers.cost_account import TotalCost
from ..parsing import parse_record
from .training_figures import TrainingFigures
from .training_recipe import TrainingRecipe

FILE = "trainings.jsonl"
WHOLE = 0.9  # of a training's tokens that the figures must be of: those of a continued one are of its last call
SPEED_FIELDS = (
    "base",
    "method",
    "first_layer",
    "gradient_checkpointing",
    "precision",
)  # fields that a speed depends on
FEWEST = 10  # calls that a pace is measured on


@dataclass(frozen=True)
class Speed:
    """A measured speed.

    Attributes:
        tokens: a second, all prompt tokens of all epochs by the whole time of the training.
        device: cpu or cuda.
        day: when it was measured.
    """

    tokens: float
    device: str
    day: str


def note_training(recipe: TrainingRecipe, figures: TrainingFigures) -> None:
    """Remember the speed of a training that one call made. The figures of a continued training are of its last call
    alone, so that its speed is not noted."""
    tokens = (figures.tokens or 0) * recipe.epochs
    if not tokens or figures.seconds * figures.tokens_per_second < WHOLE * tokens:
        return
    entry = _speed_fields(recipe) | {
        "device": figures.device,
        "tokens_per_second": tokens / figures.seconds,
        "day": time.strftime("%Y-%m-%d"),
        "at": time.time(),
    }
    add_to_history(FILE, entry, is_same=lambda other: other.get("at") == entry["at"])


def training_speed(recipe: TrainingRecipe, device: str) -> Speed | None:
    """The speed of the last training of this base by this method on this machine; None where there was none."""
    fields = _speed_fields(recipe) | {"device": device}
    for entry in reversed(read_history(FILE)):
        if all(entry.get(name) == value for name, value in fields.items()) and _is_speed(entry):
            return Speed(float(entry["tokens_per_second"]), device, str(entry.get("day", "")))
    return None


def seconds_a_call(training: Mapping[str, Any]) -> float | None:
    """The mean seconds of wall time for each call of a teacher's compilation; None where it is not recorded.

    Args:
        training: of the teacher's judge file. Calls that were made at the same time count as such, so that the pace is
            that of its workers on its machine.
    """
    try:
        spent = parse_record(TotalCost, training.get("spent") or {}, "spent")
    except DicastError:
        return None
    return 60 * spent.recording / spent.usage.calls if spent.usage.calls >= FEWEST and spent.recording else None


def _speed_fields(recipe: TrainingRecipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json", include=set(SPEED_FIELDS))


def _is_speed(entry: Entry) -> bool:
    speed = entry.get("tokens_per_second")
    return isinstance(speed, int | float) and speed > 0
