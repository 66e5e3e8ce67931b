"""The folder of a distillation: its files by name, and what its page says, read as one record.

distil.json        teacher, base, models, cases and recipe: the identity of the distillation
groups.json        the groups that were joined because their cases share texts
split.json         the ids of the labelled cases of each part
traces/            the teacher's judgments of the cases that the student learns from, with their calls
set/               the training set with its data card
lessons.json       how many rows it has, and what became of the others
training/          checkpoints, log and the trained student
teacher-head.json  the teacher's head of train and select, where that of its file was fitted to the test part too
trained.json       the model string of the student, and figures of its training
student/           the student's compilation: head, certificate and its own test
evidence/          verdicts of the teacher and of the base
acceptance.json    the student beside its teacher on the test part; the last file: the distillation is complete
export/            the student as adapters, one model or a .gguf file, where asked for
spent.json         the cost of teacher and base; that of the student is in student/
student.judge.json the student
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from ..data.case import Record
from ..errors import RunError
from ..judging.judge_file import JudgeFile, read
from ..judging.registry import JUDGE_SUFFIX
from ..optimizers.checkpoints import FORMAT, SPENT, VERDICTS, other_format
from ..optimizers.compile_folder import Compilation, read_compilation, read_json
from ..optimizers.cost_account import TotalCost
from ..parsing import parse_record
from .acceptance import Acceptance
from .trained_model import TrainedModel

IDENTITY = "distil.json"
TRACES, SET, TRAINING, COMPILATION, EVIDENCE = "traces", "set", "training", "student", "evidence"  # folders
EXPORTS = "export"
LESSONS, TRAINED, ACCEPTANCE, TEACHER_HEAD = "lessons", "trained", "acceptance", "teacher-head"  # steps
RESULTS = (VERDICTS, f"{TRACES}/verdicts.jsonl", f"{COMPILATION}/{VERDICTS}", f"{LESSONS}.json")
STUDENT_FILE = f"student{JUDGE_SUFFIX}"
RESUME = "Give the same dicast distill to continue it."
Model = TypeVar("Model", bound=BaseModel)
DELETE = f"Delete the file. {RESUME}"


class LessonsFile(Record):
    """What the training set holds."""

    counts: dict[str, int] = Field(default={}, description="of cases or questions, by what became of them")
    rows: dict[str, int] = Field(default={}, description="rows of each part of the set")


NO_LESSONS, NOT_TRAINED = LessonsFile(), TrainedModel()


@dataclass(frozen=True)
class Distillation:
    """A complete distillation, as its folder holds it.

    Attributes:
        student: the student's compilation.
        spent: by teacher and base; None if no account was kept.
        lessons, trained: empty where no gradient step was made.
        judge_path: of the student's judge file; None if the folder holds none.
    """

    identity: Mapping[str, Any]
    acceptance: Acceptance
    student: Compilation
    parts: Mapping[str, int]
    spent: TotalCost | None = None
    lessons: LessonsFile = NO_LESSONS
    trained: TrainedModel = NOT_TRAINED
    judge_path: Path | None = None
    judge_file: JudgeFile | None = None


def is_distillation(path: Path) -> bool:
    """Whether the path is the folder of a distillation."""
    return (path / IDENTITY).is_file()


def read_distillation(folder: Path) -> Distillation:
    """The record of a distillation that ended with an acceptance.

    Raises:
        RunError: it has not come to that yet, or a file of it cannot be read.
    """
    described = read_json(folder / IDENTITY)
    if (version := described.get("format")) != FORMAT:
        raise RunError(f"{folder}: {other_format(version)} Distil again for a page.")
    content, identity = read_json(folder / f"{ACCEPTANCE}.json"), described.get("identity")
    if not content or not isinstance(identity, dict):
        raise RunError(f"{folder}: this distillation has not reached its test. {RESUME}")
    student = read_compilation(folder / COMPILATION)
    judge_path = folder / STUDENT_FILE if (folder / STUDENT_FILE).is_file() else None
    spent = read_json(folder / SPENT)
    return Distillation(
        identity=identity,
        acceptance=_parsed(folder / f"{ACCEPTANCE}.json", Acceptance, content),
        student=student,
        parts=student.parts,
        spent=_parsed(folder / SPENT, TotalCost, spent) if spent else None,
        lessons=_parsed(folder / f"{LESSONS}.json", LessonsFile, read_json(folder / f"{LESSONS}.json")),
        trained=trained_before(folder),
        judge_path=judge_path,
        judge_file=read(judge_path) if judge_path else None,
    )


def trained_before(folder: Path) -> TrainedModel:
    """The student of a distillation's folder; an empty record where none was trained yet."""
    path = folder / f"{TRAINED}.json"
    return _parsed(path, TrainedModel, read_json(path)).found_in(folder, TRAINING)


def _parsed(path: Path, kind: type[Model], content: Mapping[str, Any]) -> Model:
    return parse_record(kind, content, f"{path}: is damaged", error=RunError, advice=DELETE)
