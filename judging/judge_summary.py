"""The summary of a judge file: everything that the judge has learnt, compared with the program's defaults, as JSON."""

import difflib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, JsonValue

from ..data.case import Record
from ..errors import DeclarationError
from ..evaluation.drift import estimate_as_dict
from ..parsing import shown
from .cascade import Cascade
from .head_weights import HeadWeight, head_weights, odds_note
from .judge_file import fingerprint, read, versions
from .judge_record import JudgeRecord, StageRecord, default_record

ACCURACIES: tuple[Literal["before", "after"], ...] = ("before", "after")  # of the training record


class SettingChange(Record):
    """A setting that differs from the program's default."""

    value: JsonValue = Field(description="of the judge")
    default: JsonValue = Field(description="of the program; None if it has none")


class StageChange(Record):
    """The differences of a stage from the program's stage; everything is empty if there are none."""

    instructions: tuple[str, ...] = Field(default=(), description="a unified diff, line by line")
    fields: dict[str, str] = Field(default_factory=dict, description="changed descriptions of inputs and outputs")
    demos: tuple[dict[str, JsonValue], ...] = Field(default=(), description="inputs and outputs by name")
    nearest: str = Field(default="", description="which labelled cases a prompt shows by nearness, in words")
    decisions: dict[str, JsonValue] = Field(
        default_factory=dict, description="DSPy's settings of outputs that are read from probabilities"
    )


class JudgeSummary(Record):
    """What one judge has learnt."""

    program: str = Field(description="its name in the registry")
    declared: bool = Field(description="a judge that a YAML file declares")
    problem: str = Field(description="why the defaults are unknown; empty if they are known")
    lm: dict[str, str] = Field(description="model strings by role")
    settings: dict[str, SettingChange] = Field(description="changed settings")
    stages: dict[str, StageChange] = Field(description="changed stages")
    learned: dict[str, dict[str, JsonValue]] = Field(description="other changed parameters, such as criterion weights")
    head: tuple[tuple[str, str], ...] | None = Field(description="(name, words) of the calibration head")
    weights: tuple[HeadWeight, ...] = Field(default=(), description="of the head, in words")
    odds: str = Field(default="", description="what the odds in these words are; empty where there are none")
    threshold: float | None = Field(description="certainty below which the judge abstains")
    decision_threshold: float | None = Field(
        default=None, description="of a member of a cascade: the certainty from which on its verdict is final"
    )
    members: tuple["JudgeSummary", ...] = Field(default=(), description="of a panel or a cascade")

    @property
    def is_unchanged(self) -> bool:
        """Whether nothing was learnt."""
        return not (self.settings or self.stages or self.learned or self.head or self.members or self.problem)


class FileSummary(Record):
    """The summary of a judge file."""

    file: str = Field(description="path")
    fingerprint: str = Field(description="SHA-256 of everything that verdicts depend on, in hex")
    judge: JudgeSummary = Field(description="what the judge has learnt")
    certificate: dict[str, JsonValue] | None = Field(description="what is guaranteed of the judge")
    accuracy: dict[str, dict[str, Any]] = Field(
        description="on the test part `before` and `after` compiling, with hits, n and interval; empty if not recorded"
    )
    training: dict[str, JsonValue] = Field(description="the rest of the training record")
    versions: dict[str, str] = Field(description="that wrote the file")
    installed: dict[str, str] = Field(description="versions that read it")


def summarize_file(path: Path) -> FileSummary:
    """The summary of a judge file.

    Raises:
        DeclarationError: the file cannot be read.
    """
    file = read(path)
    separate = {*ACCURACIES, "certificate"}
    return FileSummary(
        file=str(path),
        fingerprint=fingerprint(path),
        judge=summarize_judge(file.judge),
        certificate=file.certificate,
        accuracy={
            when: estimate_as_dict(recorded.estimate) for when in ACCURACIES if (recorded := file.accuracy(when))
        },
        training={name: value for name, value in file.training.items() if name not in separate and value is not None},
        versions=file.versions,
        installed=versions(),
    )


def summarize_judge(judge: JudgeRecord, decision_threshold: float | None = None) -> JudgeSummary:
    """The differences of a judge from its program; all that the record holds if the program is not installed."""
    try:
        default, problem = default_record(judge), ""
    except DeclarationError as error:
        default, problem = judge.model_copy(update={"settings": {}, "stages": {}, "learned": {}}), str(error)
    thresholds = _decision_thresholds(judge)
    settings = {
        name: SettingChange(value=value, default=default.settings.get(name))
        for name, value in judge.settings.items()
        if name not in thresholds and (name not in default.settings or value != default.settings[name])
    }
    stages = {name: stage_change(stage, default.stages.get(name)) for name, stage in judge.stages.items()}
    return JudgeSummary(
        program=judge.program,
        declared=judge.declaration is not None,
        problem=problem,
        lm=judge.lm,
        settings=settings,
        stages={name: change for name, change in stages.items() if change != StageChange()},
        learned={name: state for name, state in judge.learned.items() if state != default.learned.get(name)},
        head=tuple(judge.head.describe()) if judge.head else None,
        weights=head_weights(judge.head) if judge.head else (),
        odds=odds_note(judge.head) if judge.head else "",
        threshold=judge.threshold,
        decision_threshold=decision_threshold,
        members=tuple(
            summarize_judge(member, thresholds.get(f"thresholds[{index}]"))
            for index, member in enumerate(judge.members)
        ),
    )


def stage_change(stage: StageRecord, default: StageRecord | None) -> StageChange:
    """The differences of a stage from the program's; everything of it if the program's is unknown."""
    before = default.instructions if default else ""
    diff = difflib.unified_diff(before.splitlines(), stage.instructions.splitlines(), lineterm="", n=1)
    descriptions = {field.name: field.description for field in default.fields} if default else {}
    fields = {field.name: field.description for field in stage.fields if default}
    return StageChange(
        instructions=tuple(line for line in diff if not line.startswith(("---", "+++"))),
        fields={name: text for name, text in fields.items() if text != descriptions.get(name)},
        demos=stage.demos,
        nearest=stage.nearest.describe() if stage.nearest else "",
        decisions=stage.decisions,
    )


def _decision_thresholds(judge: JudgeRecord) -> dict[str, float]:
    """The thresholds of a cascade by their setting; empty for any other judge.

    Raises:
        DeclarationError: a threshold that is no number.
    """
    thresholds: dict[str, float] = {}
    for name, value in judge.settings.items() if judge.program == Cascade.name else ():
        if name.startswith("thresholds["):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise DeclarationError(f"judge {judge.program!r}: setting {name!r} is {shown(value)}. Give a number.")
            thresholds[name] = value
    return thresholds
