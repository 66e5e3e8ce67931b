"""The `.env` file of the working folder: keys of providers, and a few harmless settings; nothing else is taken.

A working folder may be somebody else's. An address in its `.env` (OPENAI_API_BASE, a proxy) would have the user's keys
and texts sent there, PYTHONPATH would run its code, and DICAST_HOME would move the store of weights and answers. Those
come from the real environment only. A file that cannot be read is named and left out: no command depends on it.
"""

import io
import os
import stat
from pathlib import Path

from ..errors import DataError
from ..parsing.text import decode
from ..redaction import register_secret
from . import output

MOST_BYTES = 65_536
MOST_SHOWN = 5  # names of variables in one line
KEY_NAME = "_API_KEY"
SETTINGS = frozenset(
    {"DICAST_DATA", "DICAST_RECORDED", "DICAST_LOCAL_CONTEXT", "DICAST_LOCAL_SLOTS", "DICAST_LOCAL_THREADS"}
)  # what they set is read, or bounds a computation; nothing is written or run where they point


def load_environment() -> None:
    """Take the keys and settings of `.env` into the environment; variables that are set already stay."""
    try:
        text = _text(Path(".env"))
    except DataError as failure:
        output.error(f"dicast: {failure}")
        return
    if not text:
        return
    from dotenv import dotenv_values

    ignored = []
    for name, value in dotenv_values(stream=io.StringIO(text), interpolate=False).items():
        if not value or name in os.environ:
            continue
        if not (name.upper().endswith(KEY_NAME) or name in SETTINGS) or "\0" in value:
            ignored.append(name)
            continue
        os.environ[name] = value
        if name not in SETTINGS:
            register_secret(value.strip())
    if ignored:
        names = ", ".join(ignored[:MOST_SHOWN])
        more = f" and {len(ignored) - MOST_SHOWN} more" if len(ignored) > MOST_SHOWN else ""
        verb, pronoun = ("is", "it") if len(ignored) == 1 else ("are", "them")
        output.error(f"`.env`: {names}{more} {verb} ignored: set {pronoun} in the environment yourself.")


def _text(path: Path) -> str:
    """The text of the file; "" where there is no such file. Raises DataError for a file that cannot be taken."""
    advice = "It is left out; set keys in the environment, or save it as UTF-8."
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return ""  # a folder of this name is a virtual environment; a pipe would be waited for
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as failure:
        raise DataError(f"`.env`: cannot be read ({failure.strerror}). {advice}") from None
    if len(raw) > MOST_BYTES:
        raise DataError(f"`.env`: has more than {MOST_BYTES >> 10} KiB. {advice}")
    return decode(raw, "`.env`", advice=advice)
