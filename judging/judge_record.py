"""A judge as a record, and back: the program by name, and everything learned as data.

Nothing in a record is ever executed: the registry builds the program, and the record fills it in. A record that does
not fit the program is refused with the field that does not.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import dspy
from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, ValidationError, model_serializer

from ..data.case import Record
from ..data.readers import file_digest
from ..data.verdict import Probability
from ..engines.model_string import ModelString
from ..engines.models import Roles
from ..errors import DeclarationError, DicastError
from ..parsing import explain
from .cascade import Cascade
from .composite import Composite
from .decoding import Decoding
from .demo_pool import DemoPool
from .heads import Head
from .hparam import HParam
from .judge import Judge
from .panel import Panel
from .registry import YAML_SUFFIXES, new_judge
from .stage import Stage
from .yaml_judge import as_declared, declared_judge, is_declared

MOST_MEMBERS = 200  # of a panel or a cascade, with those of its members
COMPOSITES: dict[str, type[Panel | Cascade]] = {Panel.name: Panel, Cascade.name: Cascade}


class FieldRecord(Record):
    """One input or output of a signature, as it is put into words."""

    name: str = Field(description="of the field in the signature")
    prefix: str = Field(description="DSPy's heading of the field in a prompt")
    description: str = Field(description="what the prompt says of the field")


class StageRecord(Record):
    """Everything that can be learned about one stage."""

    instructions: str = Field(description="the task, as the prompt says it")
    fields: tuple[FieldRecord, ...] = Field(description="the inputs and outputs, in order")
    demos: tuple[dict[str, JsonValue], ...] = Field(default=(), description="examples, each with inputs and outputs")
    decisions: dict[str, JsonValue] = Field(
        default={}, description="DSPy's settings of outputs that are always read from probabilities"
    )
    nearest: DemoPool | None = Field(default=None, description="demos of which each case is shown the nearest")

    @model_serializer(mode="wrap")
    def _without_empty_pool(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; a stage without a pool is written, and has the digest, as before there were any."""
        fields: dict[str, Any] = serialize(self)
        if self.nearest is None:
            fields.pop("nearest", None)
        return fields


class JudgeRecord(Record):
    """A judge, or with `members` a panel or a cascade."""

    program: str = Field(description="the registered name")
    declaration: dict[str, JsonValue] | None = Field(default=None, description="the content of a YAML judge's file")
    settings: dict[str, JsonValue] = Field(default={}, description="the parameters by name")
    files: dict[str, str] = Field(default={}, description="SHA-256 of the files that settings name")
    stages: dict[str, StageRecord] = Field(default={}, description="the stages by name")
    learned: dict[str, dict[str, JsonValue]] = Field(
        default={}, description="the program's other parameters, such as priorities of criteria"
    )
    lm: dict[str, str] = Field(default={}, description="model strings by role; empty without LMs")
    head: Head | None = Field(default=None, description="fitted to labels; calibrates the verdict")
    threshold: Probability | None = Field(default=None, description="verdicts of a lower certainty are abstained")
    members: tuple["JudgeRecord", ...] = Field(default=(), description="of a panel or a cascade")


def to_record(judge: Judge, lm: str | None = None) -> JudgeRecord:
    """The judge as a record; `lm` as for `save`."""
    seats = tuple(to_record(member, lm) for member in _members(judge))
    settings = {name: value for name, value in judge.settings().items() if not name.startswith("members[")}
    return JudgeRecord(
        program=judge.name,
        declaration=as_declared(judge) if is_declared(judge) else None,
        settings=settings,
        files={name: file_digest(Path(name)) for name in map(str, settings.values()) if _is_file(name)},
        stages={name: _saved_stage(stage) for name, stage in own_stages(judge).items() if not stage.is_implied},
        learned={name: as_json(learned.dump_state()) for name, learned in _learned(judge).items()},
        lm={} if seats else _models(judge, lm),
        head=judge.head,
        threshold=judge.threshold,
        members=seats,
    )


def from_record(record: JudgeRecord, who: str) -> Judge:
    """The judge of a record; `who` begins the messages of errors.

    Raises:
        DeclarationError: the program is not installed, or the record does not fit it.
    """
    if (count := _count(record)) > MOST_MEMBERS:
        raise DeclarationError(
            f"{who}: field 'judge.members' names {count:,} judges; at most {MOST_MEMBERS} are built."
        )
    try:
        return _filled(record)
    except DicastError as error:
        raise DeclarationError(f"{who}: {error}") from None


def default_record(taught: JudgeRecord) -> JudgeRecord:
    """The same program as it comes, without anything learnt, to compare with.

    Raises:
        DeclarationError: the program is not installed.
    """
    return to_record(default_judge(taught), lm=None)


def _count(record: JudgeRecord) -> int:
    """The judges of a record: itself, its members and theirs."""
    return 1 + sum(map(_count, record.members))


def _filled(record: JudgeRecord) -> Judge:
    judge = default_judge(record)
    if isinstance(judge, Composite):
        judge.members = [_filled(member) for member in record.members]
    for name, known in record.files.items():
        if not Path(name).is_file() or file_digest(Path(name)) != known:
            raise DeclarationError(f"the settings name {name}, which is gone or has changed. Bring it back.")
    judge.set(**record.settings)
    _fill_stages(judge, record)
    _fill_learned(judge, record)
    judge.head, judge.threshold = record.head, record.threshold
    if record.lm:
        judge.bind(Roles({role: ModelString.parse(model).identity for role, model in record.lm.items()}))
    for seat in judge.seats():
        seat.use(seat.model, trusted=not seat.model)
    return judge


def default_judge(record: JudgeRecord) -> Judge:
    """The program of a record, as it comes."""
    if record.program in COMPOSITES:
        return COMPOSITES[record.program]([default_judge(member) for member in record.members])
    if record.declaration is None:
        return new_judge(record.program)
    try:
        return declared_judge(record.declaration)
    except ValidationError as error:
        raise DeclarationError(f"field 'judge.declaration': {explain(error)} Fix it, or compile anew.") from None


def _is_file(setting: str) -> bool:
    return setting.endswith(YAML_SUFFIXES) and Path(setting).is_file()


def same_structure(judge: Judge, other: Judge) -> bool:
    """Whether both are of one class, and so are their members."""
    seats, others = _members(judge), _members(other)
    return type(judge) is type(other) and len(seats) == len(others) and all(map(same_structure, seats, others))


def _members(judge: Judge) -> list[Judge]:
    return judge.members if isinstance(judge, Composite) else []


def _learned(judge: Judge) -> dict[str, Any]:
    """The program's own parameters, such as priorities of criteria, by name; without those of its members."""
    parameters = {name: value for name, value in judge.named_parameters() if not name.startswith("members[")}
    known = (HParam, Decoding, dspy.Predict)
    return {name: value for name, value in parameters.items() if not isinstance(value, known)}


def own_stages(judge: Judge) -> dict[str, Stage]:
    """The judge's own stages by name; DSPy's `named_parameters` would leave out those marked as compiled."""
    named = {name.removeprefix("self."): stage for name, stage in judge.named_sub_modules(Stage)}
    return {name: stage for name, stage in named.items() if not name.startswith("members[")}


def _saved_stage(stage: Stage) -> StageRecord:
    state = stage.ask.dump_state()
    described = zip(stage.ask.signature.fields, state["signature"]["fields"], strict=True)
    return StageRecord(
        instructions=state["signature"]["instructions"],
        fields=tuple(FieldRecord(name=name, **field) for name, field in described),
        demos=tuple(as_json(demo) for demo in stage.plain_demos()),
        decisions=as_json(state.get("fields", {})),
        nearest=stage.nearest,
    )


def _fill_stages(judge: Judge, record: JudgeRecord) -> None:
    stages = own_stages(judge)
    _same("stages", [name for name in stages if name in record.stages or not stages[name].is_implied], record.stages)
    for name, record_of_stage in record.stages.items():
        ask, saved_stage = stages[name].ask, with_inputs_of(stages[name], record_of_stage)
        # DSPy tells the fields of a saved signature apart by their position alone; here they are named.
        described = {
            field.name: {"prefix": field.prefix, "description": field.description} for field in saved_stage.fields
        }
        _same(f"stages.{name}.fields", ask.signature.fields, described)
        fields = [described[field] for field in ask.signature.fields]
        state: dict[str, Any] = {
            "traces": [],
            "train": [],
            "demos": [dict(demo) for demo in saved_stage.demos],
            "signature": {"instructions": saved_stage.instructions, "fields": fields},
            "fields": saved_stage.decisions,
            "lm": None,
        }
        stages[name].nearest = saved_stage.nearest
        try:
            ask.load_state(state)
        except (ValueError, TypeError) as error:
            raise DeclarationError(
                f"field 'judge.stages.{name}.decisions': {error}. Fix it, or compile anew."
            ) from None


def with_inputs_of(stage: Stage, record: StageRecord) -> StageRecord:
    """The record with the inputs that the program has got since it was written, as the program describes them."""
    known = {field.name: field for field in record.fields}
    present = {field.name: field for field in _saved_stage(stage).fields}
    added = {name: present[name] for name in stage.ask.signature.input_fields if name not in known}
    if not added or set(known | added) != set(present):
        return record
    return record.model_copy(update={"fields": tuple((known | added)[name] for name in present)})


def _fill_learned(judge: Judge, record: JudgeRecord) -> None:
    learned = _learned(judge)
    _same("learned", learned, record.learned)
    for name, state in record.learned.items():
        try:
            learned[name].load_state(state)
        except (KeyError, ValueError, TypeError) as error:
            raise DeclarationError(f"field 'judge.learned.{name}': {error!r}. Fix it, or compile anew.") from None


def _same(field: str, ours: Iterable[str], theirs: Iterable[str]) -> None:
    if set(ours) != set(theirs):
        raise DeclarationError(
            f"field 'judge.{field}' names {', '.join(theirs)[:300] or 'none'}, and the program has "
            f"{', '.join(ours) or 'none'}. Use the dicast that wrote it, or compile anew."
        )


def _models(judge: Judge, lm: str | None) -> dict[str, str]:
    """The model strings by role, each with the endpoint that it means here; one entry where all are the same."""
    models = {seat.role: seat.model for seat in judge.seats() if not seat.is_fixed}
    if lm:
        models = dict(Roles.parse(lm))
    elif len(set(models.values())) == 1:
        models = {"judge": next(iter(models.values()))}
    models = {role: model for role, model in models.items() if model}
    return {role: ModelString.parse(model).identity for role, model in models.items()}


def as_json(value: Mapping[str, Any]) -> Any:
    """The value as it comes back from JSON: tuples as lists."""
    return json.loads(json.dumps(value, allow_nan=False))
