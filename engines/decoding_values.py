"""The values that say how an answer is written, of a judge's roles and of model strings: names and ranges.

`reasoning` is how long a model that thinks may think. Its words are those of OpenAI's `reasoning_effort`, which servers
of other models take too; each model knows some of them. `off` is sent as what switches thinking off there.
"""

import math
from typing import Any

from ..parsing import shown

MOST_TEMPERATURE = 2.0  # of OpenAI's API and of Gemini's
MOST_SEED = 2**31 - 1  # servers keep it in 32 bits; llama.cpp reads the largest number of these as "any seed"
MOST_TOKENS = 2**31 - 1  # servers keep it in 32 bits
REASONING = ("off", "minimal", "low", "medium", "high", "xhigh", "max")
NAMES = ("temperature", "top_p", "max_tokens", "seed", "reasoning")
WHOLE = ("max_tokens", "seed")


def checked(name: str, value: Any) -> Any:
    """A value of one of `NAMES`; raises ValueError when it is out of range."""
    if name == "reasoning":
        value = "off" if value is False else value  # YAML reads a bare off so
        if value not in REASONING:
            raise ValueError(f"must be one of {', '.join(REASONING)}, got {shown(value)}")
        return value
    whole = name in WHOLE
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
