"""What a training says while it runs, to its caller and to log.jsonl; when it saves, and when it stops."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .training_folder import TrainingFolder


@dataclass(frozen=True)
class TrainingProgress:
    """A step that was made.

    Attributes:
        step: from 1.
        steps: in the whole training.
        epoch: passes over the rows so far.
        loss: mean over the learnt tokens of the step, in nats.
        tokens_per_second: read in this call, prompts included, and those tokens whose keys and values are kept.
        seconds_left: at the speed of this call.
    """

    step: int
    steps: int
    epoch: float
    loss: float
    tokens_per_second: float
    seconds_left: float


OnTrainingProgress = Callable[[TrainingProgress], None]


def progress_callback(
    folder: TrainingFolder,
    *,
    save_minutes: float,
    on_progress: OnTrainingProgress | None,
    stop: threading.Event | None,
    main: bool,
) -> Any:
    """A callback of transformers' Trainer: log lines, progress, checkpoints by the clock, an early stop.

    Args:
        folder: of the training.
        save_minutes: between checkpoints.
        stop: after the step in which it is set, a checkpoint is written and the training ends.
        main: whether this process writes, of several that train.
    """
    from transformers import TrainerCallback

    class ProgressCallback(TrainerCallback):
        """Follows one call of `Trainer.train`."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.start, self.saved_at = time.monotonic(), time.monotonic()
            self.first_step, self.first_tokens = state.global_step, state.num_input_tokens_seen
            self.saved_step = state.global_step

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if time.monotonic() - self.saved_at >= 60 * save_minutes and state.global_step < state.max_steps:
                control.should_save = True
            self._stop(control)

        def _stop(self, control: Any) -> None:
            if stop is not None and stop.is_set():
                control.should_save = control.should_training_stop = True

        def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_save = self.saved_step < state.global_step < state.max_steps

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self.saved_at, self.saved_step = time.monotonic(), state.global_step
            if main:
                folder.mark_whole(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
            line: dict[str, Any] = {"step": state.global_step, "epoch": round(state.epoch or 0.0, 4)}
            if not main or logs is None:
                return
            if "eval_loss" in logs:
                folder.add_line(line | {"validation_loss": float(logs["eval_loss"])})
            elif "loss" in logs:
                seconds = time.monotonic() - self.start
                speed = (state.num_input_tokens_seen - self.first_tokens) / seconds
                left = seconds * (state.max_steps - state.global_step) / max(state.global_step - self.first_step, 1)
                folder.add_line(
                    line
                    | {
                        "loss": float(logs["loss"]),
                        "learning_rate": float(logs.get("learning_rate", 0.0)),
                        "gradient": float(logs.get("grad_norm", 0.0)),
                        "tokens": int(state.num_input_tokens_seen),
                        "seconds": round(seconds, 3),
                    }
                )
                if on_progress is not None:
                    loss = float(logs["loss"])
                    on_progress(
                        TrainingProgress(state.global_step, state.max_steps, state.epoch or 0.0, loss, speed, left)
                    )
                self._stop(control)

    return ProgressCallback()
