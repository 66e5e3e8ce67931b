"""TOML as people write it: plain values, of bounded size, with errors that name the file."""

import tomllib
from pathlib import Path
from typing import Any

from ..errors import DataError, DicastError
from .json_text import JsonError, check
from .text import SAVE, read_text

MOST_CHARACTERS = 1_000_000


def read_toml(path: Path, *, error: type[DicastError] = DataError, advice: str = SAVE) -> dict[str, Any]:
    """The table of a TOML file.

    Args:
        error: raised for what is no TOML, too large, or cannot be used.
        advice: ends the message.
    """
    text = read_text(path, error=error, advice=advice)
    try:
        if len(text) > MOST_CHARACTERS:
            raise JsonError(f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
        value = tomllib.loads(text)
        check(value, finite=True)
    except (ValueError, RecursionError) as problem:
        reason = problem if isinstance(problem, JsonError) else f"is not TOML ({' '.join(str(problem).split())[:300]})"
        raise error(f"{path}: {reason}. {advice}") from None
    return value
