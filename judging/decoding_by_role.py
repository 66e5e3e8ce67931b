"""The decoding of a program's stages by role: settings by name, what is really used, and what changes nothing.

A role of a panel's member has the member's path before it: `members[0].judgment`.
"""

from collections.abc import Mapping
from typing import Any

import dspy

from ..engines.decoding_values import NAMES
from .decoding import ALL_ROLES, role_and_name
from .hparam import HParam
from .stage import Stage

Stages = dict[str, Stage]  # by name


def stages_by_role(module: dspy.Module) -> dict[str, dict[str, Stages]]:
    """The stages by role, by the path of the judge or preparation that has them: "" for those of the module itself."""
    groups: dict[str, dict[str, Stages]] = {}
    for path, stage in module.named_sub_modules(Stage):
        owner, _, name = path.removeprefix("self").lstrip(".").rpartition(".")
        groups.setdefault(owner, {}).setdefault(stage.role, {})[name] = stage
    return groups


def decoding_settings(module: dspy.Module, hparams: Mapping[str, HParam]) -> dict[str, Any]:
    """What is set, by name: without a role where it is the same for all roles and no parameter has this name."""
    settings: dict[str, Any] = {}
    for owner, roles in stages_by_role(module).items():
        for name in NAMES:
            values = {role: _chosen(stages).get(name) for role, stages in roles.items()}
            if joined(owner, name) not in hparams and len(set(values.values())) == 1:
                values = {"": next(iter(values.values()))}
            settings |= {joined(owner, role, name): value for role, value in values.items() if value is not None}
    return settings


def decoded_by(module: dspy.Module, setting: str) -> list[Stage]:
    """The stages that a setting is for; none where it names no value of the decoding.

    Raises:
        ValueError: no such role, or a role whose answers are never written.
    """
    groups = stages_by_role(module)
    role, _ = role_and_name(setting) or ("", "")
    if not role or not groups:
        return []
    meant = [
        stage
        for owner, roles in groups.items()
        for name, stages in roles.items()
        for stage in stages.values()
        if role in (ALL_ROLES, name, owner, joined(owner, name), joined(owner, ALL_ROLES))
    ]
    if not meant:
        known = sorted({ALL_ROLES, *(name for roles in groups.values() for name in roles)})
        raise ValueError(f"there is no role {role!r}. Its roles: {', '.join(known)}")
    if not any("generate" in stage.readouts for stage in meant):
        raise ValueError("the answer is read from token probabilities, which no decoding changes. Leave it out")
    return meant


def decoding_names(module: dspy.Module) -> str:
    """The values of the decoding and how they are named, for messages; empty for a program without stages."""
    roles = [role for roles in stages_by_role(module).values() for role in roles]
    return f"; of all roles or of one, as in {roles[0]}.{NAMES[0]}: {', '.join(NAMES)}" if roles else ""


def decoding_used(module: dspy.Module, hparams: Mapping[str, HParam]) -> dict[str, dict[str, dict[str, Any]]]:
    """How each question is decoded at the first try, by role and by name of the stage.

    What is read from probabilities under the present readout has `readout` in place of the values.
    """
    return {
        joined(owner, role): {
            name: stage.decoded() if _is_written(stage, owner, hparams) else {"readout": "probability"}
            for name, stage in stages.items()
        }
        for owner, roles in stages_by_role(module).items()
        for role, stages in roles.items()
    }


def idle_settings(module: dspy.Module, hparams: Mapping[str, HParam]) -> list[str]:
    """The names of what is set for roles that are read from probabilities, as in judgment.temperature, and for no role
    that is written too."""
    idle: list[str] = []
    for owner, roles in stages_by_role(module).items():
        read = {
            role
            for role, stages in roles.items()
            if not all(_is_written(stage, owner, hparams) for stage in stages.values())
        }
        written = [_chosen(stages) for role, stages in roles.items() if role not in read]
        idle += [
            joined(owner, role, name)
            for role in sorted(read)
            for name, value in _chosen(roles[role]).items()
            if not any(values.get(name) == value for values in written)
        ]
    return idle


def joined(*names: str) -> str:
    """Names with dots between them, without the empty ones."""
    return ".".join(filter(None, names))


def _chosen(stages: Stages) -> dict[str, Any]:
    """What is set for the stages of a role, which is the same for all of them."""
    return next(iter(stages.values())).decoding.values


def _is_written(stage: Stage, owner: str, hparams: Mapping[str, HParam]) -> bool:
    readout = hparams.get(joined(owner, "readout"))
    is_read = readout is not None and readout.value == "probability" and "probability" in stage.readouts
    return "generate" in stage.readouts and not is_read
