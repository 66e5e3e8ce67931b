"""Train a student on a training set: one call that begins, continues after a kill, or returns what was trained before.

The gradient steps are those of transformers' Trainer and trl's SFTTrainer, the adapters peft's, several GPUs
accelerate's. Ours are the tokens, the loss of labels, and a folder in which nothing half-written counts as whole.
"""

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..engines.jsonl import write_whole
from ..engines.torch_models.answer_form import ASKS, note_json
from ..engines.torch_models.chat import Chat
from ..engines.torch_models.torch_import import device_name, threads, torch_and_transformers
from ..errors import DataError, DeclarationError, install_hint
from ..optimizers.evidence import Interrupted
from ..parsing import parse_record_json, read_text
from .base_model import StudentBase, open_base
from .data_card import DataCard
from .learnt_tokens import LearntTokens, RowTokenizer, tokenized
from .memory import check_memory
from .progress import OnTrainingProgress, progress_callback
from .quiet_libraries import quiet_libraries
from .row import TrainingRow
from .sequences import Sequences, collator, sequences
from .student_network import open_student, precision_of, save_student
from .training_errors import errors_in_words
from .training_figures import TrainingFigures
from .training_folder import TrainingFolder
from .training_recipe import TrainingRecipe
from .training_set import read_set

if TYPE_CHECKING:
    from os import PathLike

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")
SCHEDULES = {"cosine": "cosine", "linear": "linear", "constant": "constant_with_warmup"}


@dataclass(frozen=True)
class Trained:
    """A student.

    Attributes:
        folder: with its adapters (base and student are then served together) or its weights, and its tokenizer.
        method: of the recipe.
        log: JSON lines, one a step.
        figures: of the training.
    """

    folder: Path
    method: str
    log: Path
    figures: TrainingFigures


def train(
    recipe: TrainingRecipe,
    set_folder: "str | PathLike[str]",
    out: "str | PathLike[str]",
    *,
    on_progress: OnTrainingProgress | None = None,
    stop: threading.Event | None = None,
) -> Trained:
    """A student of the recipe's base, trained on the rows of a training set.

    The same call continues after the last checkpoint where it was stopped or killed; a student that was trained before
    is returned.

    Args:
        set_folder: of `training_set.build`.
        out: a new folder, or that of the same training.
        stop: when it is set, the training stops after a checkpoint.

    Raises:
        DeclarationError: the recipe cannot run on this machine, by memory or packages; what would is named.
        DataError: the set is not whole, or its rows cannot be learnt.
        ModelError: the base cannot be used.
        RunError: `out` holds another training, or cannot be written.
        Interrupted: it was stopped; the same call continues.
    """
    _check_packages()
    folder = TrainingFolder(Path(out))
    base = open_base(recipe.base, recipe.template)
    training_set = read_set(Path(set_folder))
    if recipe.method == "tail":
        from .tail_method import train_by_tail

        learnt, measured = (list(training_set.rows(part)) for part in ("train", "validation"))
        with errors_in_words(folder.path):
            tail, figures = train_by_tail(
                recipe, base, learnt, measured, folder.path, on_progress=on_progress, stop=stop
            )
        return Trained(tail.folder, recipe.method, tail.log, figures)
    identity = _identity(recipe, base, training_set.card)
    folder.check(identity)
    if folder.is_finished:
        return _trained(folder, recipe)
    tokenizer = RowTokenizer(Chat(base.tokenizer))
    rows, longer = tokenized(list(training_set.rows("train")), tokenizer, recipe.length)
    validation, _ = tokenized(list(training_set.rows("validation")), tokenizer, recipe.length)
    if not rows:
        raise DataError(
            f"{set_folder}: every row has more than {recipe.length} tokens. Raise the recipe's length, or shorten "
            "texts."
        )
    check_memory(recipe, base, devices=shards())
    if os.environ.get("RANK", "0") == "0":  # of several processes the first
        folder.begin(identity)
    with quiet_libraries(), errors_in_words(folder.path):
        run = _Run(recipe, base, folder, rows, validation, asks_json(training_set.rows("train")))
        trainer = run.train(on_progress, stop)
        is_main = trainer.args.process_index == 0
        if is_main:
            figures = run.figures(trainer.args).model_copy(update={"too_long": len(longer)})
            write_whole(folder.figures, figures.model_dump_json(indent=1) + "\n")
        wait = trainer.accelerator.wait_for_everyone
        folder.finish(lambda part: _save(trainer, base, part, run.asks_json), main=is_main, wait=wait)
    return _trained(folder, recipe)


def check_training(recipe: TrainingRecipe) -> None:
    """Do nothing, or refuse what cannot be trained on this machine whatever its rows are.

    Raises:
        DeclarationError: packages that are missing, a base without a chat template, or too little memory.
        ModelError: the base cannot be used.
    """
    _check_packages()
    check_memory(recipe, open_base(recipe.base, recipe.template), devices=shards())


class _Run:
    """One call that trains."""

    def __init__(
        self,
        recipe: TrainingRecipe,
        base: StudentBase,
        folder: TrainingFolder,
        rows: Sequence[LearntTokens],
        validation: Sequence[LearntTokens],
        asks_json: bool,
    ) -> None:
        self.recipe, self.base, self.folder, self.rows, self.validation = recipe, base, folder, rows, validation
        self.torch, self.transformers = torch_and_transformers("A training", "train")
        self.torch.set_num_threads(threads())
        self.asks_json = asks_json
        self.has_labels = any(row.target for row in [*rows, *validation])
        weights = {False: 1.0, True: recipe.label_weight or _label_weight(rows)}
        self.sequences = sequences(rows, length=recipe.length, packing=recipe.packing, weights=weights)
        self.validation_sequences = (
            sequences(validation, length=recipe.length, packing=recipe.packing, weights=weights) if validation else None
        )
        self.model = open_student(base, recipe)

    def train(self, on_progress: OnTrainingProgress | None, stop: threading.Event | None) -> Any:
        """The trainer, at the end.

        Raises:
            Interrupted: `stop` was set.
        """
        arguments = self._arguments()
        is_main = arguments.process_index == 0
        checkpoint = self.folder.last_checkpoint(clean=is_main)
        callback = progress_callback(
            self.folder, save_minutes=self.recipe.save_minutes, on_progress=on_progress, stop=stop, main=is_main
        )
        trainer = self._trainer(arguments, callback)
        trainer.remove_callback(self.transformers.PrinterCallback)
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if trainer.state.global_step < trainer.state.max_steps:
            raise Interrupted
        return trainer

    def _trainer(self, arguments: Any, callback: Any) -> Any:
        settings = {
            "args": arguments,
            "train_dataset": self.sequences.dataset,
            "eval_dataset": self.validation_sequences.dataset if self.validation_sequences else None,
            "data_collator": collator(self.base.tokenizer.pad_token_id),
            "processing_class": self.base.tokenizer,
            "callbacks": [callback],
        }
        if self.has_labels or any(row.weight != 1 for row in self.rows):
            from .label_trainer import label_trainer

            return label_trainer(self.model, self.rows, self.validation, **settings)
        from .word_loss import word_trainer

        return word_trainer(self.model, **settings)

    def _arguments(self) -> Any:
        recipe, is_words = self.recipe, not self.has_labels and all(row.weight == 1 for row in self.rows)
        common: dict[str, Any] = {
            "output_dir": str(self.folder.checkpoints),
            "per_device_train_batch_size": 1,
            "per_device_eval_batch_size": 1,
            "num_train_epochs": recipe.epochs,
            "learning_rate": recipe.highest_rate,
            "lr_scheduler_type": SCHEDULES[recipe.schedule],
            "warmup_steps": recipe.warm_up,
            "weight_decay": recipe.weight_decay,
            "max_grad_norm": recipe.max_gradient,
            "seed": recipe.seed,
            "data_seed": recipe.seed,
            "bf16": not recipe.has_adapters and precision_of(recipe) == "bfloat16",
            "use_cpu": device_name(self.torch) == "cpu",
            "activation_checkpointing": recipe.gradient_checkpointing,
            "eval_strategy": "epoch" if self.validation else "no",
            "prediction_loss_only": True,
            "save_strategy": "no",  # the callback says when
            "save_total_limit": 2,
            "logging_steps": 1,
            "logging_nan_inf_filter": False,
            "include_num_input_tokens_seen": "all",
            "remove_unused_columns": False,
            "dataloader_pin_memory": False,
            "disable_tqdm": True,
            "report_to": "none",
        }
        if is_words:
            from trl import SFTConfig

            from .word_loss import word_arguments

            kind: Any = SFTConfig
            common |= word_arguments(recipe.length)
        else:
            kind = self.transformers.TrainingArguments
        processes = kind(**common).world_size
        return kind(**common, gradient_accumulation_steps=accumulation(recipe.global_batch, self.sequences, processes))

    def figures(self, arguments: Any) -> TrainingFigures:
        """What the log and the rows say."""
        lines = self.folder.lines()
        steps = [line for line in lines if "loss" in line]
        evaluated = [line["validation_loss"] for line in lines if "validation_loss" in line]
        last = steps[-1]
        parameters = sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        return TrainingFigures(
            rows=len(self.rows),
            labels=sum(bool(row.target) for row in self.rows),
            too_long=0,
            sequences=self.sequences.count,
            tokens=self.sequences.tokens,
            learnt_tokens=sum(row.learnt for row in self.rows),
            parameters=parameters,
            steps=last["step"],
            seconds=last["seconds"],
            tokens_per_second=_speed(steps),
            device=device_name(self.torch),
            processes=arguments.world_size,
            precision=precision_of(self.recipe),
            loss=last["loss"],
            validation_loss=evaluated[-1] if evaluated else None,
        )


def accumulation(global_batch: int, packed: Sequences, processes: int) -> int:
    """How many sequences each process reads before a step, so that a step has about `global_batch` rows.

    Example:
        >>> accumulation(512, Sequences(None, count=100, rows=400, tokens=200_000), processes=4)
        32
    """
    return max(1, round(global_batch * packed.count / packed.rows / processes))


def _speed(steps: Sequence[dict[str, Any]]) -> float:
    """Tokens a second in the last call, whose seconds count from its beginning."""
    seconds = [float(step["seconds"]) for step in steps]
    begins = max((index for index in range(1, len(steps)) if seconds[index] < seconds[index - 1]), default=0)
    before = steps[begins - 1]["tokens"] if begins else 0
    return float(steps[-1]["tokens"] - before) / max(seconds[-1], 1e-9)


def shards() -> int:
    """Over how many devices accelerate spreads weights and optimizer: all with FSDP, else none."""
    is_sharded = os.environ.get("ACCELERATE_USE_FSDP", "false").lower() == "true"
    return int(os.environ.get("WORLD_SIZE", "1")) if is_sharded else 1


def asks_json(rows: Iterable[TrainingRow]) -> bool:
    """Whether most rows of words ask for JSON, as the prompts of a teacher behind a schema do."""
    marked = [ASKS in row.prompt[-1].content for row in rows if not row.targets]
    return 2 * sum(marked) > len(marked)


def _save(trainer: Any, base: StudentBase, folder: Path, is_json: bool) -> None:
    save_student(trainer, base, folder)
    if is_json and trainer.args.should_save:
        note_json(folder)


def _label_weight(rows: Sequence[LearntTokens]) -> float:
    """As many as a row of words has learnt tokens on average, so that a label counts as much as an explanation."""
    words = [row.learnt for row in rows if not row.target]
    return sum(words) / len(words) if words else 1.0


def _identity(recipe: TrainingRecipe, base: StudentBase, card: DataCard) -> dict[str, Any]:
    return {
        "recipe": recipe.model_dump(mode="json", exclude={"save_minutes"}),
        "base": {"name": base.name, "digest": base.digest},
        "set": {"train": card.train.sha256, "validation": card.validation.sha256},
        "version": __version__,
    }


def _trained(folder: TrainingFolder, recipe: TrainingRecipe) -> Trained:
    figures = parse_record_json(TrainingFigures, read_text(folder.figures), str(folder.figures))
    return Trained(folder.student, recipe.method, folder.log, figures)


def _check_packages() -> None:
    missing = [package for package in (*PACKAGES, "datasets") if find_spec(package) is None]
    if missing:
        raise DeclarationError(f"A training needs {', '.join(missing)}. {install_hint('train')}")
