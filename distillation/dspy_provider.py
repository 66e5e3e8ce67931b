"""Fine-tuning for DSPy: an LM that `dspy.BootstrapFinetune` and `dspy.BetterTogether` train on this machine.

    lm = trainable_lm("transformers/smollm2-135m", "finetuned", preset="cpu-small")
    program.set_lm(lm)
    tuned = dspy.BootstrapFinetune(metric).compile(program, trainset=trainset, teacher=teacher)

DSPy makes the rows (chat messages, of ChatAdapter). Training set, gradient steps and checkpoints are those of `dicast
distill`; trainings run one after the other. The same rows and model in the same folder are trained once, and a killed
training continues. Several predictors are trained together unless `multitask=False`, which in DSPy takes a call by its
place in the trace: use it only for programs that call each predictor once, in their order.
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dspy.clients.provider import Provider, TrainingJob
from dspy.clients.utils_finetune import TrainDataFormat, TrainingStatus

from ..engines.lm import MeteredLM
from ..engines.models import get_lm
from ..errors import DeclarationError
from ..optimizers.evidence import ProgressCallbacks
from .row import ChatMessage, TrainingRow
from .trained_model import Trainer, base_name
from .training_set import build

# a model string and changes of the training recipe -> what trains it
TrainerOf = Callable[[str, Mapping[str, Any]], Trainer]

_one_at_a_time = threading.Lock()


class LocalTrainingJob(TrainingJob):
    """One training; `cancel` stops it after a checkpoint, and the same training continues there."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.state, self.stop = TrainingStatus.not_started, threading.Event()

    def status(self) -> TrainingStatus:
        """Where the training is."""
        return self.state

    def cancel(self) -> bool:
        """Stop the training; whether it had not ended yet."""
        self.stop.set()
        return not self.done()


class TrainingProvider(Provider):
    """Trains the models of `TrainableLM`s.

    Args:
        folder: takes a folder for each training.
        trainer_of: what trains a model.
    """

    def __init__(self, folder: Path | str, trainer_of: TrainerOf) -> None:
        super().__init__()
        self.finetunable, self.TrainingJob = True, LocalTrainingJob
        self.folder, self.trainer_of = Path(folder), trainer_of

    def launch(self, lm: Any, launch_kwargs: Any = None) -> None:
        """Nothing: models in this process are opened at their first call."""

    def kill(self, lm: Any, launch_kwargs: Any = None) -> None:
        """Nothing: models in this process have no server."""

    def finetune(
        self,
        job: LocalTrainingJob,
        model: str,
        train_data: Sequence[Mapping[str, Any]],
        train_data_format: TrainDataFormat | str | None,
        train_kwargs: Mapping[str, Any] | None = None,
    ) -> str:
        """The model string of the trained model.

        Args:
            model: the model string of its base.
            train_data: {"messages": [...]}, the last one is learnt.
            train_kwargs: fields of the training recipe that differ from the preset.

        Raises:
            DeclarationError: rows that are no chats, or a recipe that does not fit; see `train.train` for the rest.
        """
        if train_data_format not in (None, TrainDataFormat.CHAT):
            raise DeclarationError(f"finetune: rows of the format {train_data_format} are no chats. Use ChatAdapter.")
        rows = [chat_row(number, row) for number, row in enumerate(train_data)]
        folder = self.folder / _digest(model, rows, train_kwargs or {})
        with _one_at_a_time:
            job.state = TrainingStatus.running
            try:
                training_set = build(rows, folder / "set")
                trainer = self.trainer_of(model, train_kwargs or {})
                trained = trainer(training_set.folder, folder / "training", ProgressCallbacks(stop=job.stop))
            except BaseException:
                job.state = TrainingStatus.cancelled if job.stop.is_set() else TrainingStatus.failed
                raise
            job.state = TrainingStatus.succeeded
        return trained.model


class TrainableLM(MeteredLM):
    """An LM of a model string that DSPy's optimizers can train.

    Args:
        model: `provider/model`.
        provider: trains it.
    """

    def __init__(self, model: str, provider: TrainingProvider) -> None:
        lm = get_lm(model)
        super().__init__(lm.model, lm.transport, cache=lm.cache, store=lm.store)
        self.provider, self.finetuning_model = provider, model

    def copy(self, **changes: Any) -> "TrainableLM":
        """A copy; of another model where `model` is given, as after a training."""
        model = changes.pop("model", None)
        opened = self if model is None else TrainableLM(model, self.provider)
        copied: TrainableLM = super(TrainableLM, opened).copy(**changes)
        return copied


def trainable_lm(model: str, folder: Path | str, *, preset: str = "cpu-small", **changes: Any) -> TrainableLM:
    """An LM that `dspy.BootstrapFinetune` and `dspy.BetterTogether` can train on this machine.

    Args:
        model: a `transformers/` model string.
        folder: takes a folder for each training.
        preset: of the training; not cpu, whose method tail learns probabilities of labels alone.
        changes: fields of the training recipe that differ from the preset.

    Raises:
        DeclarationError: no such preset, or a field that it does not have.
        ModelError: the model cannot be used.
    """
    from .local_training import local_trainer
    from .presets import recipe_of

    def trainer_of(name: str, more: Mapping[str, Any]) -> Trainer:
        return local_trainer(recipe_of(preset, **{**changes, **more, "base": base_name(name)}))

    trainer_of(model, {})
    return TrainableLM(model, TrainingProvider(folder, trainer_of))


def chat_row(number: int, row: Mapping[str, Any]) -> TrainingRow:
    """A row of DSPy's as one of ours; rows of the same prompt are one group.

    Raises:
        DeclarationError: it holds no messages, or does not end with an answer.
    """
    try:
        messages = tuple(ChatMessage.model_validate(message) for message in row["messages"])
        prompt = "\0".join(message.content for message in messages[:-1])
        group = hashlib.sha256(prompt.encode()).hexdigest()[:16]
        return TrainingRow(task="dspy", messages=messages, case_id=str(number), group=group, source="traces")
    except (KeyError, TypeError, ValueError) as error:
        raise DeclarationError(f"finetune: row {number} is no chat that ends with an answer ({error}).") from None


def _digest(model: str, rows: Sequence[TrainingRow], changes: Mapping[str, Any]) -> str:
    content = "\n".join([model, repr(sorted(changes.items())), *(row.model_dump_json() for row in rows)])
    return hashlib.sha256(content.encode()).hexdigest()[:16]
