"""The search space of structures: a judge's parameters, models, instructions and demos, by name.

    order, keep, ...      a structural parameter; of a panel's member: members[0].order
    model                 the model of every stage
    model.ROLE            the model of one role, as in model.criteria
    instructions.STAGE    the instruction of a stage, as in instructions.prefer
    demos.STAGE           the demos of a stage; a value is a list of objects, one per demo

The present value of a name is always the first of its values: index 0 everywhere is the judge before the search.
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
Point = tuple[int, ...]  # an index into the values of each name
MODEL, INSTRUCTIONS, DEMOS = "model", "instructions", "demos"


def space_of(judge: Judge, *, models: Sequence[str] | Mapping[str, Sequence[str]] = ()) -> dict[str, list[Any]]:
    """The default space of a judge: the values that its parameters declare (`HParam.search`), and the models offered.

    Parameters that can be any number (the tie threshold, the weight of scores) are left to the head, which fits them.

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
    """A search space.

    Attributes:
        values: by name, the present value first.
        fixed: all settings of the judge.
        idle_rules: name -> the settings under which the name has no effect.
    """

    values: Mapping[str, tuple[Any, ...]]
    fixed: Mapping[str, Any]
    idle_rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: Judge, offered: Values) -> "Space":
        """The space of these values; names without a value beside the present one are dropped.

        Raises:
            DeclarationError: a name or a value that the judge cannot take.
        """
        values: dict[str, tuple[Any, ...]] = {}
        for name, candidates in offered.items():
            if isinstance(candidates, str) or not isinstance(candidates, Sequence):
                raise DeclarationError(f"space: {name} is {candidates!r}. Give a list of values.")
            keys = dict.fromkeys(_key(name, value) for value in (_present(judge, name), *candidates))
            distinct = [json.loads(key) for key in keys]
            for value in distinct:
                with_settings(judge, {name: value})
            if len(distinct) > 1:
                values[name] = tuple(distinct)
        return cls(values, judge.settings(), judge.idle_rules())

    @property
    def start(self) -> Point:
        """The judge before the search."""
        return (0,) * len(self.values)

    @property
    def size(self) -> int:
        return math.prod(map(len, self.values.values()))

    def points(self) -> Iterator[Point]:
        return product(*(range(len(values)) for values in self.values.values()))

    def settings(self, point: Point) -> dict[str, Any]:
        return {name: self.values[name][index] for name, index in zip(self.values, point, strict=True)}

    def distinct(self, point: Point) -> Point:
        """The representative of all points with the same effect: idle names have their present value."""
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
                if value != stage.model:  # the same model stays as trusted as it is
                    stage.use(str(value))
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
            names = ", ".join(sorted({stage.model, *models}))
            raise DeclarationError(f"space: {name} covers several models, {names}. Name a role with a single model.")
        return stage.model
    return stage.ask.signature.instructions if kind == INSTRUCTIONS else [dict(demo) for demo in stage.ask.demos]


def _stages(judge: Judge, name: str) -> tuple[str, list[Stage]]:
    """What a name that is no parameter sets (model, instructions or demos), and of which stages."""
    kind, _, whose = name.partition(".")
    named = {path.removeprefix("self."): stage for path, stage in judge.named_sub_modules(Stage)}
    known = [*judge.hparams(), *(f"{prefix}.{stage}" for prefix in (INSTRUCTIONS, DEMOS) for stage in named)]
    roles = sorted({stage.role for stage in named.values()})
    if kind == MODEL and named and (not whose or whose in roles):
        return kind, [stage for stage in named.values() if whose in ("", stage.role)]
    if kind in (INSTRUCTIONS, DEMOS) and whose in named:
        return kind, [named[whose]]
    known += [MODEL, *(f"{MODEL}.{role}" for role in roles)] if roles else []
    raise DeclarationError(f"space: judge {judge.name!r} has no {name!r}. It has: {', '.join(known) or 'nothing'}.")


def _key(name: str, value: Any) -> str:
    """The value as JSON, which distinguishes 1 from True."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        raise DeclarationError(f"space: {name} has a value {value!r}. Give plain JSON values.") from None
