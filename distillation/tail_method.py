"""The method `tail` of a recipe: `tail.py` trains it, and its figures are those of every training."""

import threading
from collections.abc import Sequence
from pathlib import Path

from ..engines.jsonl import write_whole
from ..engines.torch_models.chat import Chat
from ..engines.torch_models.torch_import import device_name, dtype_name, torch_and_transformers
from ..parsing import json_lines, parse_record_json, read_text
from .base_model import StudentBase
from .memory import check_memory
from .progress import OnTrainingProgress
from .row import TrainingRow
from .tail import TailTrained, train_tail
from .tail_settings import TailSettings
from .training_figures import TrainingFigures
from .training_recipe import TrainingRecipe


def tail_settings(recipe: TrainingRecipe, depth: int) -> TailSettings:
    """The settings of a recipe for a base of `depth` layers.

    Example:
        >>> tail_settings(TrainingRecipe(method="tail", first_layer=0.4, epochs=2), 28).layers
        (11, 28)
    """
    return TailSettings(
        rank=recipe.rank,
        alpha=recipe.alpha,
        layers=(int(depth * recipe.first_layer), depth),
        learning_rate=recipe.highest_rate,
        epochs=round(recipe.epochs),
        warm_up=recipe.warm_up,
        batch=recipe.global_batch,
        weight_decay=recipe.weight_decay,
        max_gradient=recipe.max_gradient,
        seed=recipe.seed,
        save_minutes=recipe.save_minutes,
    )


def train_by_tail(
    recipe: TrainingRecipe,
    base: StudentBase,
    rows: Sequence[TrainingRow],
    validation: Sequence[TrainingRow],
    out: Path,
    *,
    on_progress: OnTrainingProgress | None = None,
    stop: threading.Event | None = None,
) -> tuple[TailTrained, TrainingFigures]:
    """The adapter of a prompt's tail; errors as of `tail.train_tail`, and DeclarationError where it does not fit the
    memory."""

    lengths = prompt_lengths(base, [*rows, *validation])
    if not (out / "student").is_dir():
        check_memory(recipe, base, longest=max(lengths, default=1))
    settings = tail_settings(recipe, base.config.get_text_config().num_hidden_layers)
    trained = train_tail(base.name, rows, validation, out, settings, on_step=on_progress, stop=stop)
    path = out / "figures.json"
    if path.is_file():  # it was trained before
        return trained, parse_record_json(TrainingFigures, read_text(path), str(path))
    figures = _figures(trained, rows, sum(lengths[: len(rows)]))
    write_whole(path, figures.model_dump_json(indent=1) + "\n")
    return trained, figures


def _figures(trained: TailTrained, rows: Sequence[TrainingRow], tokens: int) -> TrainingFigures:
    """What the log says: a call that was killed after its last step left it whole."""
    torch, _ = torch_and_transformers("A training", "train")
    with trained.log.open("rb") as file:
        last = [line for _, line in json_lines(file, str(trained.log)) if "loss" in line][-1]
    return TrainingFigures(
        rows=len(rows),
        labels=len(rows),
        sequences=len(rows),
        tokens=tokens,
        learnt_tokens=len(rows),
        steps=last["step"],
        seconds=last["seconds"],
        tokens_per_second=last["tokens"] / max(last["seconds"], 1e-3),
        device=device_name(torch),
        precision=dtype_name(torch),
        loss=last["loss"],
        validation_loss=trained.validation.get("log_loss"),
    )


def prompt_lengths(base: StudentBase, rows: Sequence[TrainingRow]) -> list[int]:
    """Tokens of each row's prompt, as the engine reads it."""
    chat = Chat(base.tokenizer)
    return [len(chat.prompt([{"role": str(m.role), "content": m.content} for m in row.prompt]).ids) for row in rows]
