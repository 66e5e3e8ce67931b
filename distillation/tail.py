"""Question-only LoRA ("activated LoRA", arXiv 2504.12397): train on what follows the texts of a prompt.

What is before the question is computed once by the base, and its keys and values are kept for every epoch, so that two
processor cores train a 1.5B model in the time of some readings of its prompts. In serving, too, the adapter acts from
the question on: texts are read once for the base and the student.

A step's loss is the cross-entropy of the rows' label probabilities, weighted. The number of epochs is fixed before. The
folder holds the last checkpoint; the same call continues it with the same steps.
"""

import hashlib
import json
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..engines.jsonl import drop_unfinished_line, rewriting, write_whole
from ..engines.torch_models.chat import Chat
from ..engines.torch_models.network import Network, open_network
from ..engines.torch_models.torch_import import threads
from ..engines.torch_models.weights import find_torch_weights
from ..errors import DataError, DeclarationError, RunError
from ..optimizers.evidence import Interrupted
from ..parsing import json_lines, read_object
from ..paths import private_folder, private_opener
from .kept_prefixes import KeptPrefixes, OnReading, PartOfPrefixes
from .progress import OnTrainingProgress, TrainingProgress
from .row import TrainingRow
from .tail_marker import tail_marker
from .tail_settings import TailSettings, rate_at
from .tail_student import TailStudent

LOWEST = 0.4  # proportion of the depth where adapters begin by default
AT_ONCE = 8  # prompts of a pass; gradients add up to the batch
BETAS = (0.9, 0.99)


@dataclass(frozen=True)
class TailTrained:
    """An adapter.

    Attributes:
        folder: for `transformers/FOLDER`.
        log: JSON lines: of steps, and of the validation after each epoch.
        marker: the tokens from which on the adapter acts.
        validation: after the last epoch: log_loss (mean over groups, of the options alone) and agreement; empty where
            there are no validation rows.
    """

    folder: Path
    log: Path
    marker: tuple[int, ...]
    validation: dict[str, float]


def train_tail(
    base: str,
    rows: Sequence[TrainingRow],
    validation: Sequence[TrainingRow],
    out: Path,
    settings: TailSettings | None = None,
    *,
    on_step: OnTrainingProgress | None = None,
    on_reading: OnReading | None = None,
    stop: threading.Event | None = None,
) -> TailTrained:
    """The adapter in out/student; what was trained before is continued, or returned.

    Args:
        base: a name of `dicast models list`, a folder, a .gguf file or OWNER/NAME of the hub.
        rows: with `targets`, whose tokens answer the last message.
        stop: when it is set, the training stops after a checkpoint.

    Raises:
        DataError: rows that learn words, or prompts without an end in common.
        DeclarationError: torch is not installed, or the disk has no room.
        ModelError: the base cannot be used.
        RunError: `out` holds another training, or a loss that is no number.
        Interrupted: it was stopped; the same call continues.
    """
    training = TailTraining(base, rows, validation, out, settings or TailSettings())
    return training.train(on_step, on_reading, stop)


@dataclass(frozen=True)
class _Target:
    """Options' tokens and the probabilities to learn."""

    tokens: tuple[int, ...]
    p: tuple[float, ...]


class TailTraining:
    """A training of an adapter, whose folder is made or continued; arguments and errors as of `train_tail`.

    Args:
        shared: a training of the same base and layers with all these prompts among its own: its network and its kept
            prefixes are used, so that a learning curve reads each prompt once.
    """

    def __init__(
        self,
        base: str,
        rows: Sequence[TrainingRow],
        validation: Sequence[TrainingRow],
        out: Path,
        settings: TailSettings,
        shared: "TailTraining | None" = None,
    ) -> None:
        self.shared = shared
        weights = find_torch_weights(base)
        if weights.adapter is not None:
            raise DeclarationError(f"transformers/{base}: is an adapter. Train on its base, or merge it into that.")
        words = sum(not row.targets for row in [*rows, *validation])
        if words or not rows:
            raise DataError(
                f"{words} rows learn words, and a tail learns labels alone. Leave them out, or train all tokens "
                "(method lora)."
                if words
                else "there are no training rows."
            )
        self.base, self.settings, self.out = base, settings, out
        network: Network = shared.network if shared else open_network(weights.folder())
        self.network: Network = network
        self.torch, self.rows, self.count = network.torch, [*rows, *validation], len(rows)
        dialogues = [[{"role": str(m.role), "content": m.content} for m in row.prompt] for row in self.rows]
        self.marker = tail_marker(network.chat, dialogues[: self.count])
        self.prompts = [network.chat.prompt(dialogue) for dialogue in dialogues]
        self._check_prompts()
        self.targets = [_target(network.chat, row) for row in self.rows]
        layers = settings.layers or (int(LOWEST * network.depth), network.depth)
        if not 0 <= layers[0] < layers[1] <= network.depth:
            raise DeclarationError(f"layers: {layers[0]} to {layers[1]} are not among the {network.depth} of {base}.")
        self.student = TailStudent(network, layers, rank=settings.rank, alpha=settings.alpha, seed=settings.seed)
        self.log, self.checkpoint, self.folder = out / "log.jsonl", out / "checkpoint.pt", out / "student"
        self._begin(weights.digest)
        self._digest = weights.digest
        self.steps = settings.epochs * len(self._batches(0))

    def train(
        self,
        on_step: OnTrainingProgress | None = None,
        on_reading: OnReading | None = None,
        stop: threading.Event | None = None,
    ) -> TailTrained:
        """The adapter, trained to the end."""
        if not self.folder.is_dir():
            if self.network.device == "cpu":
                self.torch.set_num_threads(threads())
            self.prefixes.read(on_reading, stop)
            self._steps(on_step, stop)
            part = self.out / "student.part"
            part.mkdir(exist_ok=True)
            self.student.save(part, self.base, self.marker)
            part.rename(self.folder)
            self.checkpoint.unlink(missing_ok=True)
            self.prefixes.remove()
        last = [line for line in self._lines() if "log_loss" in line]
        figures = {name: float(last[-1][name]) for name in ("log_loss", "agreement")} if last else {}
        return TailTrained(self.folder, self.log, self.marker, figures)

    @cached_property
    def prefixes(self) -> KeptPrefixes | PartOfPrefixes:
        """What the base computes of the prompts before their tails."""
        first = self.student.layers[0]
        if self.shared is not None:
            assert (self.shared.student.layers[0], self.shared.marker) == (first, self.marker)
            number = {tuple(prompt.ids): row for row, prompt in enumerate(self.shared.prompts)}
            every = self.shared.prefixes
            assert isinstance(every, KeptPrefixes)
            return PartOfPrefixes(every, [number[tuple(prompt.ids)] for prompt in self.prompts])
        return KeptPrefixes(self.network, self.out / "prefixes", self.prompts, len(self.marker), first, self._digest)

    def _steps(self, on_step: OnTrainingProgress | None, stop: threading.Event | None) -> None:
        torch, settings, parameters = self.torch, self.settings, self.student.parameters
        optimizer = torch.optim.AdamW(
            parameters, lr=settings.learning_rate, betas=BETAS, weight_decay=settings.weight_decay
        )
        done = self._resume(optimizer)
        first, tokens = done, 0
        began = saved = time.monotonic()
        for epoch in range(settings.epochs):
            batches = self._batches(epoch)
            if done == 0 and self.count < len(self.rows):
                self._add_line({"step": 0, "epoch": 0, **self.evaluate(self._validation_rows)})
            for number, batch in enumerate(batches):
                step = epoch * len(batches) + number
                if step < done:
                    continue
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * rate_at(step, self.steps, settings.warm_up)
                loss = self._gradient(batch)
                norm = float(torch.nn.utils.clip_grad_norm_(parameters, settings.max_gradient))
                if not math.isfinite(loss) or not math.isfinite(norm):
                    raise RunError(f"{self.out}: the loss of step {step + 1} is no number. Lower the learning rate.")
                optimizer.step()
                optimizer.zero_grad()
                done = step + 1
                tokens += sum(len(self.prompts[row].ids) for row in batch)
                seconds = time.monotonic() - began
                line = {"step": done, "epoch": round(done / len(batches), 4), "loss": loss, "gradient": norm}
                self._add_line(line | {"tokens": tokens, "seconds": round(seconds, 3)})
                if on_step is not None:
                    left = seconds / (done - first) * (self.steps - done)
                    on_step(TrainingProgress(done, self.steps, done / len(batches), loss, tokens / seconds, left))
                ends_epoch = number + 1 == len(batches)
                if ends_epoch and self.count < len(self.rows):
                    self._add_line({"step": done, "epoch": epoch + 1, **self.evaluate(self._validation_rows)})
                is_stopped = stop is not None and stop.is_set()
                if is_stopped or ends_epoch or time.monotonic() - saved > 60 * settings.save_minutes:
                    self._save(done, optimizer)
                    saved = time.monotonic()
                if is_stopped and done < self.steps:
                    raise Interrupted

    def _gradient(self, batch: Sequence[int]) -> float:
        """Add the gradient of a batch's loss; the loss."""
        total, weight = 0.0, sum(self.rows[row].weight for row in batch)
        for start in range(0, len(batch), AT_ONCE):
            with self.network.lock:
                loss = self._losses(batch[start : start + AT_ONCE]) / weight
                loss.backward()
            total += float(loss.detach())
        return total

    def _losses(self, rows: Sequence[int]) -> Any:
        """The sum of the rows' weighted losses."""
        tokens = sorted({token for row in rows for token in self.targets[row].tokens})
        log_p = self.student.log_probabilities(self.prefixes.batch(rows), tokens)
        target = self.torch.zeros(len(rows), len(tokens))
        for place, row in enumerate(rows):
            for token, p in zip(self.targets[row].tokens, self.targets[row].p, strict=True):
                target[place, tokens.index(token)] = p * self.rows[row].weight
        return -(target.to(log_p.device) * log_p).sum()

    def probabilities(self, rows: Sequence[int]) -> list[dict[str, float]]:
        """Of each row's options, which together have 1."""
        results = []
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            tokens = sorted({token for row in part for token in self.targets[row].tokens})
            with self.network.lock, self.torch.no_grad():
                p = self.student.log_probabilities(self.prefixes.batch(part), tokens).exp().tolist()
            for row, values in zip(part, p, strict=True):
                chosen = [values[tokens.index(token)] for token in self.targets[row].tokens]
                results.append(
                    {text: value / sum(chosen) for text, value in zip(self.rows[row].targets, chosen, strict=True)}
                )
        return results

    def evaluate(self, rows: Sequence[int]) -> dict[str, float]:
        """Log-loss and agreement with the most probable target, each a mean over groups."""
        by_group: dict[str, list[tuple[float, float]]] = {}
        for row, p in zip(rows, self.probabilities(rows), strict=True):
            targets = self.rows[row].targets
            loss = -sum(target * math.log(max(p[text], 1e-12)) for text, target in targets.items())
            right = float(max(p, key=lambda text: p[text]) == self.rows[row].answer)
            by_group.setdefault(self.rows[row].group, []).append((loss, right))
        means = np.array([np.mean(values, axis=0) for values in by_group.values()]).mean(axis=0)
        return {"log_loss": float(means[0]), "agreement": float(means[1])}

    @property
    def _validation_rows(self) -> range:
        return range(self.count, len(self.rows))

    def _batches(self, epoch: int) -> list[list[int]]:
        """The training rows in the order of an epoch: cases are shuffled, a case's rows stay together."""
        cases: dict[str, list[int]] = {}
        for row in range(self.count):
            cases.setdefault(self.rows[row].case_id, []).append(row)
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(len(cases))
        chosen = list(cases.values())
        rows = [row for case in order for row in chosen[case]]
        size = self.settings.batch
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    def _check_prompts(self) -> None:
        for row, prompt in zip(self.rows, self.prompts, strict=True):
            if prompt.ids[-len(self.marker) :] != self.marker:
                raise DataError(f"case {row.case_id!r}: another question than that of the training rows.")
            if len(prompt.ids) > self.network.most_tokens:
                raise DataError(
                    f"case {row.case_id!r}: its prompt has {len(prompt.ids):,} tokens, the model reads "
                    f"{self.network.most_tokens:,}. Leave it out."
                )

    def _begin(self, digest: str) -> None:
        """Note what the training is of, or check that it is the one which the folder holds."""
        text = "".join(f"{row.model_dump_json()}\n" for row in self.rows)
        settings = {name: value for name, value in asdict(self.settings).items() if name != "save_minutes"}
        settings["layers"] = list(self.student.layers)
        identity = {
            "base": digest,
            "settings": settings,
            "rows": hashlib.sha256(text.encode()).hexdigest(),
            "training_rows": self.count,
            "precision": self.network.dtype,
        }
        manifest = self.out / "tail.json"
        if not manifest.exists():
            private_folder(self.out)
            write_whole(manifest, json.dumps(identity, indent=1) + "\n")
            return
        before = read_object(manifest, error=RunError)
        different = [name for name, value in identity.items() if before.get(name) != value]
        if different:
            raise RunError(
                f"{self.out}: holds a training with other {', '.join(different)}. Give another folder, or remove it."
            )

    def _save(self, done: int, optimizer: Any) -> None:
        state = {"step": done, "matrices": self.student.parameters, "optimizer": optimizer.state_dict()}
        with rewriting(self.checkpoint) as file:
            self.torch.save(state, file)

    def _resume(self, optimizer: Any) -> int:
        """The steps that a checkpoint holds; lines of the log after it are removed."""
        done = 0
        if self.checkpoint.exists():
            state = self.torch.load(self.checkpoint, weights_only=True, map_location=self.network.device)
            done = int(state["step"])
            with self.torch.no_grad():
                for parameter, values in zip(self.student.parameters, state["matrices"], strict=True):
                    parameter.copy_(values)
            optimizer.load_state_dict(state["optimizer"])
        if self.log.exists():
            drop_unfinished_line(self.log)
            lines = [line for line in self._lines() if 0 < line["step"] <= done or (done and not line["step"])]
            write_whole(self.log, "".join(json.dumps(line) + "\n" for line in lines))
        return done

    def _lines(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        with self.log.open("rb") as file:
            return [line for _, line in json_lines(file, str(self.log))]

    def _add_line(self, line: dict[str, float]) -> None:
        with open(self.log, "a", encoding="utf-8", opener=private_opener) as file:
            file.write(json.dumps(line) + "\n")


def _target(chat: Chat, row: TrainingRow) -> _Target:
    """Raises DataError where a label is no token, or two are the same."""
    ids = [chat.text_ids(text) for text in row.targets]
    if any(len(tokens) != 1 for tokens in ids) or len({tokens[0] for tokens in ids}) < len(ids):
        raise DataError(
            f"case {row.case_id!r}: the labels {', '.join(map(repr, row.targets))} are not different single tokens of "
            "this base. Name them by letters or digits."
        )
    return _Target(tuple(tokens[0] for tokens in ids), tuple(row.targets.values()))
