"""The folder of a training: what it was begun with, checkpoints that are whole, a log, and the student at the end.

training.json    recipe, digests of base and rows, versions: a training with others is refused
checkpoints/     checkpoint-STEP folders of transformers' Trainer; those with `whole.json` were written to the end
log.jsonl        a line a step: loss, learning rate, tokens, seconds
figures.json     what the training came to, once it is over
student/         adapters or weights with the tokenizer; renamed into place once it is whole
"""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..engines.jsonl import drop_unfinished_line, write_whole, writing
from ..errors import RunError
from ..parsing import json_lines, read_object
from ..paths import private_folder, private_opener

WHOLE = "whole.json"


class TrainingFolder:
    """Paths and states of a training.

    Args:
        path: made when the training begins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest, self.checkpoints = path / "training.json", path / "checkpoints"
        self.log, self.student, self.figures = path / "log.jsonl", path / "student", path / "figures.json"

    def check(self, identity: Mapping[str, Any]) -> None:
        """Raises RunError where the folder holds another training.

        Args:
            identity: values as JSON reads them: texts, numbers, objects.
        """
        if not self.manifest.exists():
            return
        before = read_object(self.manifest)
        different = sorted(name for name in {*before, *identity} if before.get(name) != identity.get(name))
        if different:
            raise RunError(
                f"{self.path}: holds a training with another {' and '.join(different)}. Give another --out, or remove "
                "the folder."
            )

    def begin(self, identity: Mapping[str, Any]) -> None:
        """Note what the training is of.

        Raises:
            RunError: the folder cannot be written.
        """
        try:
            private_folder(self.path)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be made ({error.strerror}). Give another --out.") from None
        write_whole(self.manifest, json.dumps(identity, indent=1) + "\n")

    @property
    def is_finished(self) -> bool:
        return self.student.is_dir()

    def last_checkpoint(self, *, clean: bool = True) -> Path | None:
        """The last whole checkpoint.

        Args:
            clean: remove unfinished ones, and lines of the log after it.
        """
        folders = list(self.checkpoints.glob("checkpoint-*"))
        whole = [folder for folder in folders if (folder / WHOLE).is_file()]
        last = max(whole, key=step_of, default=None)
        if clean:
            for folder in set(folders) - set(whole):
                shutil.rmtree(folder)
            self._cut_log(step_of(last) if last else 0)
        return last

    def mark_whole(self, step: int) -> None:
        """The checkpoint of a step was written to the end."""
        write_whole(self.checkpoints / f"checkpoint-{step}" / WHOLE, json.dumps({"step": step}) + "\n")

    def add_line(self, line: Mapping[str, Any]) -> None:
        """Add a line to the log."""
        with writing(self.log), open(self.log, "a", encoding="utf-8", opener=private_opener) as file:
            file.write(json.dumps(line) + "\n")

    def lines(self) -> list[dict[str, Any]]:
        """The log."""
        if not self.log.exists():
            return []
        with self.log.open("rb") as file:
            return [line for _, line in json_lines(file, str(self.log))]

    def finish(self, save: Callable[[Path], None], *, main: bool, wait: Callable[[], None]) -> None:
        """Write the student, and remove the checkpoints once it is whole.

        Args:
            save: writes it into a folder; every process calls it.
            main: whether this process is the one to rename and remove.
            wait: for the other processes.
        """
        part = self.path / "student.part"
        with writing(self.student):
            if main:
                shutil.rmtree(part, ignore_errors=True)
                part.mkdir()
            wait()
            save(part)
            wait()
            if main:
                os.replace(part, self.student)
                shutil.rmtree(self.checkpoints, ignore_errors=True)
            wait()

    def _cut_log(self, step: int) -> None:
        drop_unfinished_line(self.log)
        lines = [line for line in self.lines() if line["step"] <= step]
        if self.log.exists():
            write_whole(self.log, "".join(json.dumps(line) + "\n" for line in lines))


def step_of(checkpoint: Path) -> int:
    """The step of a checkpoint folder, from its name."""
    return int(checkpoint.name.rpartition("-")[2])
