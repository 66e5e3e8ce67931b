"""What trains the student of `dicast compile --finetune`: a judge's questions, people's labels, and a training recipe.

A judge that is read from probabilities is taught the labels on the tokens of its questions. A judge that writes is
taught what it wrote itself in judgments that agree with the label; its calls are made again for that, and the answer
store has them.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data import Case
from ..engines.jsonl import write_whole
from ..engines.models import get_lm
from ..errors import BudgetSpent, DataError, RunError
from ..judging import Judge
from ..optimizers.evidence import Interrupted, ProgressCallbacks, identity
from ..optimizers.finetune import FineTuned, answered_by
from ..parsing import read_object
from ..paths import private_folder
from .distil_folder import SET, TRACES, TRAINING
from .questions import calls_of, question_rows
from .row import TrainingRow
from .trace import Trace
from .trace_rows import rows_of_traces
from .traces import collect, read_traces
from .trained_model import Trainer
from .training_set import CARD, TrainingSet, build, read_set

JUDGE = "judge.json"  # whose lessons these are


@dataclass(frozen=True)
class Finetuner:
    """Trains a base for a judge; see `optimizers.finetune.StudentTrainer`.

    Attributes:
        base: `provider/model` of the base before training.
        trainer: makes the gradient steps.
        workers: cases judged at once.
        seed: of the training set.
    """

    base: str
    trainer: Trainer
    workers: int = 2
    seed: int = 0

    def __call__(
        self,
        judge: Judge,
        train: Sequence[Case],
        against: Mapping[str, Sequence[Case]],
        folder: Path,
        progress: ProgressCallbacks,
    ) -> FineTuned:
        """The trained model."""
        self._begin(judge, folder, progress)
        lessons = self._lessons(judge, train, against, folder, progress)
        rows = {"train": lessons.card.train.rows, "validation": lessons.card.validation.rows}
        progress.step("lessons", ", ".join(f"{part} {n:,}" for part, n in rows.items()) + " rows")
        trained = self.trainer(folder / SET, folder / TRAINING, progress)
        return FineTuned(model=trained.model, figures=trained.figures, rows=rows)

    def _begin(self, judge: Judge, folder: Path, progress: ProgressCallbacks) -> None:
        """Note the judge, and remove what was trained for another one: a search before may have gone on since."""
        path, now = folder / JUDGE, {"judge": identity(judge)["data"]}
        if path.is_file() and read_object(path, error=RunError) != now:
            progress.step("lessons", "made anew: those of the last session are of other prompts or settings")
            for name in (SET, TRACES, TRAINING):
                shutil.rmtree(folder / name, ignore_errors=True)
        private_folder(folder)
        write_whole(path, json.dumps(now) + "\n")

    def _lessons(
        self,
        judge: Judge,
        train: Sequence[Case],
        against: Mapping[str, Sequence[Case]],
        folder: Path,
        progress: ProgressCallbacks,
    ) -> TrainingSet:
        if (folder / SET / CARD).is_file():
            return read_set(folder / SET)
        student = answered_by(judge, self.base)
        special = get_lm(self.base).special_tokens
        rows: Sequence[TrainingRow]
        counts: Mapping[str, int]
        if all(trace.probabilities for trace in calls_of(student, train[0], special_tokens=special)):
            soft = question_rows(student, train, targets="labels", special_tokens=special)
            rows, counts = soft.rows, soft.counts
        else:
            chain = rows_of_traces(self._traced(judge, train, folder / TRACES, progress), "labels")
            rows, counts = chain.rows, chain.counts
        if not rows:
            raise DataError(
                f"compile: --finetune has no rows: no judgment of the {len(train):,} cases of the train part came out "
                "right. Leave it out, or label more."
            )
        return build(rows, folder / SET, against=against, seed=self.seed, before=counts)

    def _traced(self, judge: Judge, train: Sequence[Case], folder: Path, progress: ProgressCallbacks) -> list[Trace]:
        collected = collect(
            judge, train, folder, workers=self.workers, on_verdict=progress.on_verdict, stop=progress.stop
        )
        if collected.status == "budget":
            raise BudgetSpent(collected.message)
        if collected.status == "stopped":
            raise Interrupted
        return [*read_traces(folder)]
