"""The split of a compilation: whole groups go to one part, and groups that share texts are joined before.

Joined groups hold for everything that follows: parts, folds, races, intervals, tests and certificates. The folder of an
earlier version has no file of joined groups; it continues with the groups that it was split by.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ..data import Case
from ..data.case import Record
from ..data.counting import groups_text
from ..data.joined_groups import join_groups
from ..data.split import split
from ..errors import DeclarationError
from .checkpoints import GROUPS, SPLIT, Checkpoints
from .head.fit import LEAST_GROUPS

Parts = dict[str, list[Case]]
ALL = "all"  # the one part of a compilation whose labels are all learnt from and measured, out of fold


class GroupsFile(Record):
    """The groups that were joined before a split, as the compilation's folder stores them."""

    summary: str = Field(default="", description="how many cases were joined and why; empty if no groups share texts")
    near: int = Field(default=0, description="cases joined by near duplicates only")
    joined: dict[str, str] = Field(default_factory=dict, description="case id -> its group, of the joined cases")


def split_step(
    cases: Sequence[Case], proportions: Mapping[str, float] | None, seed: int, checkpoints: Checkpoints
) -> tuple[Parts, str]:
    """The cases of each part, with their joined groups, and a line about both.

    Args:
        proportions: of the parts; None: all cases are in one. A folder that was split goes on with its parts.
    """
    groups = _joined(cases, checkpoints)
    cases = [
        case.model_copy(update={"group": groups.joined[case.id]}) if case.id in groups.joined else case
        for case in cases
    ]

    def ids_by_part() -> dict[str, Any]:
        if proportions is None:
            if (groups := len({case.split_key for case in cases})) < LEAST_GROUPS:
                raise DeclarationError(
                    f"compile: {groups_text(groups)} cannot fill {LEAST_GROUPS} folds. Give cases of more groups, or "
                    "leave out the field group where cases are independent."
                )
            return {ALL: [case.id for case in cases]}
        parts = split(cases, parts=proportions, seed=seed, join=False)
        return {name: [case.id for case in part] for name, part in parts.items()}

    by_id = {case.id: case for case in cases}
    content = checkpoints.once(SPLIT, ids_by_part)
    with checkpoints.reading(SPLIT):
        parts = {name: [by_id[case_id] for case_id in ids] for name, ids in content.items()}
        missing = set() if set(parts) == {ALL} else {"train", "select", "test"} - parts.keys()
        if missing:
            raise LookupError(min(missing))
    sizes = ", ".join(f"{name} {len(part)}" for name, part in parts.items())
    if ALL in parts:
        sizes = f"none: all {len(cases):,} labels are learnt from, and each is judged out of fold"
    return parts, "; ".join(filter(None, [sizes, groups.summary]))


def _joined(cases: Sequence[Case], checkpoints: Checkpoints) -> GroupsFile:
    """The joined groups; none in a folder that was split without them."""
    if checkpoints.has(SPLIT) and not checkpoints.has(GROUPS):
        return GroupsFile()

    def joined() -> dict[str, Any]:
        groups = join_groups(cases)
        changed = {case.id: key for case, key in zip(cases, groups.keys, strict=True) if key != case.split_key}
        return GroupsFile(summary=groups.summary, near=groups.near, joined=changed).model_dump()

    content = checkpoints.once(GROUPS, joined)
    with checkpoints.reading(GROUPS):
        return GroupsFile.model_validate(content)
