"""Every file that dicast reads is decoded and parsed here: errors name file, line, field and value."""

import json
from pathlib import Path
from typing import Any

from .errors import DataError, DicastError


def read_text(path: Path, *, error: type[DicastError] = DataError, advice: str = "Save it as UTF-8.") -> str:
    """The text of a small file in UTF-8, without a byte order mark.

    Args:
        error: raised for a file that cannot be read or decoded.
        advice: ends the message.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: byte {problem.start} is not UTF-8. {advice}") from None
    except OSError as problem:
        raise error(f"{path}: cannot be read ({problem.strerror or problem}). {advice}") from None


def parse_json(text: str | bytes, where: str, *, error: type[DicastError] = DataError) -> Any:
    """The value of a JSON text.

    Args:
        where: begins the message, as in "runs/x/manifest.json" or "pairs.jsonl line 3".
        error: raised for what is not JSON, or cannot be read as such.
    """
    try:
        return json.loads(text)
    except UnicodeDecodeError as problem:
        raise error(f"{where}: byte {problem.start} is not UTF-8. Save it as UTF-8.") from None
    except json.JSONDecodeError as problem:
        place = f"line {problem.lineno}, column {problem.colno}"
        raise error(f"{where}: is not JSON ({problem.msg}, {place}).") from None
    except (ValueError, RecursionError) as problem:  # a number of 5,000 digits, 100,000 brackets
        raise error(f"{where}: is not JSON that can be read ({problem}).") from None
