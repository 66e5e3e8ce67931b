"""How written answers are decoded: temperature, top-p, most tokens, seed and reasoning, set by role.

A program gives each of its stages defaults. What a user sets in their place is a setting of the judge like any other:
`temperature=0.8` for all roles, `judgment.temperature=0.8` for one of them. `judge.seed=3` is `seed=3` for all roles,
as in `--lm judge=...`; it is needed where the judge has another parameter `seed`.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from dspy.predict.parameter import Parameter

from ..engines.decoding_values import MOST_SEED, NAMES, checked

ALL_ROLES = "judge"  # as in --lm judge=MODEL


class Decoding(Parameter):
    """What a user has set for one stage, of `NAMES`; DSPy saves it with the program's state."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def set(self, name: str, value: Any) -> None:
        """Change one value; None leaves it to the program again. Raises ValueError for a value out of range."""
        if value is None:
            self.values.pop(name, None)
        else:
            self.values[name] = checked(name, value)

    def reset(self) -> None:
        """Keep the values, as parameters of the structure are kept."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return dict(self.values)

    def load_state(self, state: Mapping[str, Any], **_: Any) -> None:
        self.values = {name: checked(name, state[name]) for name in NAMES if state.get(name) is not None}


def role_and_name(setting: str) -> tuple[str, str] | None:
    """The role and the name of a setting of decoding; None for any other setting.

    Example:
        >>> role_and_name("members[0].judgment.top_p"), role_and_name("seed"), role_and_name("branches")
        (('members[0].judgment', 'top_p'), ('judge', 'seed'), None)
    """
    role, dot, name = setting.rpartition(".")
    return (role if dot else ALL_ROLES, name) if name in NAMES else None


def seed_of_draw(seed: int, draw: int) -> int:
    """The seed of a further draw or try of the same question, which differs from that of every other; draw 0 has the
    seed itself."""
    if not draw:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed}:{draw}".encode()).digest()[:4]) & MOST_SEED
