"""How written answers are decoded: temperature, top-p, most tokens and seed, set by role.

A program gives each of its stages defaults. What a user sets in their place is a setting of the judge like any other:
`temperature=0.8` for all roles, `judgment.temperature=0.8` for one of them. `judge.seed=3` is `seed=3` for all roles,
as in `--lm judge=...`; it is needed where the judge has another parameter `seed`.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from dspy.predict.parameter import Parameter

from ..parsing import shown

ALL_ROLES = "judge"  # as in --lm judge=MODEL
MOST_TEMPERATURE = 2.0  # of OpenAI's API and of Gemini's
MOST_SEED = 2**31 - 1  # servers keep it in 32 bits; llama.cpp reads the largest number of these as "any seed"
MOST_TOKENS = 2**31 - 1  # servers keep it in 32 bits
NAMES = ("temperature", "top_p", "max_tokens", "seed")


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


def checked(name: str, value: Any) -> Any:
    """A value of one of `NAMES`; raises ValueError when it is out of range."""
    whole = name in ("max_tokens", "seed")
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ValueError(f"must be {kind}, got {shown(value)}")
    if not whole and not math.isfinite(value):
        raise ValueError(f"must be {kind}, got {shown(value)}")
    if name == "temperature" and not 0 <= value <= MOST_TEMPERATURE:
        raise ValueError(f"must be between 0 (greedy) and {MOST_TEMPERATURE:g}, got {shown(value)}")
    if name == "top_p" and not 0 < value <= 1:
        raise ValueError(f"must be above 0 and at most 1, got {shown(value)}")
    if name == "max_tokens" and not 1 <= value <= MOST_TOKENS:
        raise ValueError(f"must be between 1 and {MOST_TOKENS}, got {shown(value)}")
    if name == "seed" and not 0 <= value <= MOST_SEED:
        raise ValueError(f"must be between 0 and {MOST_SEED}, got {shown(value)}")
    return value if whole else float(value)


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
