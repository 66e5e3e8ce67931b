"""The structures that a search may try: parameters of a judge, its models, its instructions and demos, by name.

    order, keep, ...      a structural parameter; of a panel's member: members[0].order
    model                 who answers every stage
    model.ROLE            who answers one role, as in model.criteria
    instructions.STAGE    the instruction of a stage, as in instructions.prefer
    demos.STAGE           the demos of a stage; a value is a list of objects, one a demo

The present value of each is always among its values, first: index 0 everywhere is the judge as it stands.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import dspy

from ...errors import DeclarationError
from ...judging.judge import Judge
from ...judging.stage import Stage

Values = Mapping[str, Sequence[Any]]
Point = tuple[int, ...]  # one index a name
MODEL, INSTRUCTIONS, DEMOS = "model", "instructions", "demos"


def space_of(judge: Judge, *, models: Sequence[str] | Mapping[str, Sequence[str]] = ()) -> dict[str, list[Any]]:
    """The default space of a judge: the values that its parameters declare (`HParam.search`), and the models offered.

    What a head fits anyway (the tie threshold, the weight of scores) is any number and is left to the head.

    Args:
        models: model strings for every role, or role -> model strings.

    Raises:
        DeclarationError: a role that the judge does not have.
    """
    space: dict[str, Sequence[Any]] = dict(judge.search_values())
    if isinstance(models, Mapping):
        space |= {f"{MODEL}.{role}": list(offered) for role, offered in models.items()}
    elif models:
        roles = sorted({stage.role for stage in judge.stages() if stage.affects_verdict})
        space |= {MODEL: list(models)} if len(roles) == 1 else {f"{MODEL}.{role}": list(models) for role in roles}
    return {name: list(values) for name, values in Space.of(judge, space).values.items()}


@dataclass(frozen=True)
class Space:
    """The values by name, the present one first; the judge's settings; and under which settings each name is idle."""

    values: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any]
    idle_rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: Judge, given: Values) -> "Space":
        """The space of these values; names with no value beside the present one fall out.

        Raises:
            DeclarationError: a name or a value that the judge cannot take.
        """
        values: dict[str, tuple[Any, ...]] = {}
        for name, offered in given.items():
            if isinstance(offered, str) or not isinstance(offered, Sequence):
                raise DeclarationError(f"space: {name} is {offered!r}. Give a list of values.")
            keys = dict.fromkeys(_key(name, value) for value in (_present(judge, name), *offered))
            found = {key: json.loads(key) for key in keys}
            for value in found.values():
                with_settings(judge, {name: value})
            if len(found) > 1:
                values[name] = tuple(found.values())
        return cls(values, judge.settings(), judge.idle_rules())

    @property
    def start(self) -> Point:
        """The judge as it stands."""
        return (0,) * len(self.values)

    @property
    def size(self) -> int:
        return math.prod(map(len, self.values.values()))

    def points(self) -> Iterator[Point]:
        return product(*(range(len(values)) for values in self.values.values()))

    def settings(self, point: Point) -> dict[str, Any]:
        return {name: self.values[name][index] for name, index in zip(self.values, point, strict=True)}

    def distinct(self, point: Point) -> Point:
        """The point that stands for all structures equal to this one: what is idle has its present value."""
        settings = dict(self.fixed) | self.settings(point)
        idle = {
            name
            for name, rules in self.idle_rules.items()
            if any(other in settings and settings[other] == value for other, value in rules.items())
        }
        return tuple(0 if name in idle else index for name, index in zip(self.values, point, strict=True))


def with_settings(judge: Judge, settings: Mapping[str, Any]) -> Judge:
    """A copy of the judge with these settings (see the module).

    Raises:
        DeclarationError: a name or a value that the judge cannot take.
    """
    copy: Judge = judge.deepcopy()
    copy.set(**{name: value for name, value in settings.items() if name in copy.hparams()})
    for name, value in settings.items():
        if name in copy.hparams():
            continue
        kind, stages = _stages(copy, name)
        for stage in stages:
            if kind == MODEL:
                stage.use(str(value), trusted=stage.trusted or value != stage.model)
            elif kind == INSTRUCTIONS:
                stage.ask.signature = stage.ask.signature.with_instructions(str(value))
            else:
                stage.ask.demos = [dspy.Example(**demo) for demo in value]
    return copy


def _present(judge: Judge, name: str) -> Any:
    if name in (hparams := judge.hparams()):
        return hparams[name].value
    kind, (stage, *others) = _stages(judge, name)
    if kind == MODEL:
        if models := {other.model for other in others} - {stage.model}:
            told = ", ".join(sorted({stage.model, *models}))
            raise DeclarationError(f"space: {name} stands for several models now, {told}. Name what has one.")
        return stage.model
    return stage.ask.signature.instructions if kind == INSTRUCTIONS else [dict(demo) for demo in stage.ask.demos]


def _stages(judge: Judge, name: str) -> tuple[str, list[Stage]]:
    """What a name that is no parameter sets, and the stages it sets it of."""
    kind, _, whose = name.partition(".")
    named = {path.removeprefix("self."): stage for path, stage in judge.named_sub_modules(Stage)}
    known = [*judge.hparams(), *(f"{what}.{stage}" for what in (INSTRUCTIONS, DEMOS) for stage in named)]
    roles = sorted({stage.role for stage in named.values()})
    if kind == MODEL and named and (not whose or whose in roles):
        return kind, [stage for stage in named.values() if whose in ("", stage.role)]
    if kind in (INSTRUCTIONS, DEMOS) and whose in named:
        return kind, [named[whose]]
    known += [MODEL, *(f"{MODEL}.{role}" for role in roles)] if roles else []
    raise DeclarationError(f"space: judge {judge.name!r} has no {name!r}. It has: {', '.join(known) or 'nothing'}.")


def _key(name: str, value: Any) -> str:
    """Tells values apart: 1 and True are two."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        raise DeclarationError(f"space: {name} has a value {value!r}. Give plain JSON values.") from None
