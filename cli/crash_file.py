"""The crash file of an unexpected error: what a report of it needs, and nothing that is private.

It holds versions, the command line and the traceback, without keys, without the values of variables, and with long
quoted texts of messages left out, since they may be texts of cases.
"""

import os
import platform
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .._version import __version__
from ..errors import DicastError
from ..paths import home, private_folder, private_opener
from ..redaction import clean

PACKAGE = Path(__file__).parents[1]
PACKAGES = ("dspy", "litellm", "pydantic", "numpy", "rich", "click")
LONGEST = 200  # characters of a message
QUOTED = re.compile(r"(['\"`])(?:(?!\1).){30,}\1")  # a long text that a message quotes


def place(failure: BaseException) -> str:
    """`file:line` of the last step within this package, the file relative to it."""
    frames = [
        frame
        for frame in traceback.extract_tb(failure.__traceback__)
        if PACKAGE in Path(frame.filename).parents
        and "site-packages" not in Path(frame.filename).relative_to(PACKAGE).parts
    ]  # a checkout may hold the environment with the libraries
    return f"{Path(frames[-1].filename).relative_to(PACKAGE)}:{frames[-1].lineno}" if frames else "cli"


def write(failure: BaseException) -> Path | None:
    """The path of the file: in DICAST_HOME/crashes, else in the temporary folder; None where neither takes it."""
    try:
        text = "\n".join(_lines(failure))
    except Exception:  # a message that cannot be shown; reporting an error must not raise another
        return None
    for store in (_in_home, _in_temporary_folder):
        try:
            return store(clean(text) + "\n")
        except (OSError, ValueError, DicastError):  # not writable, full, no home at all
            continue
    return None


def _in_home(text: str) -> Path:
    path = private_folder(home() / "crashes") / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.txt"
    with open(path, "x", encoding="utf-8", errors="backslashreplace", opener=private_opener) as file:
        file.write(text)
    return path


def _in_temporary_folder(text: str) -> Path:
    with tempfile.NamedTemporaryFile(
        "w", prefix="dicast-crash-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
    ) as file:
        file.write(text)
    return Path(file.name)


def _lines(failure: BaseException) -> Iterator[str]:
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    yield f"dicast {__version__}, Python {platform.python_version()}, {platform.platform()}"
    yield versions
    yield f"command: {' '.join(['dicast', *sys.argv[1:]])}"
    yield ""
    yield from _traceback(failure)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _traceback(failure: BaseException) -> Iterator[str]:
    """The exception and those that led to it, the first last: the steps, the type and the short message of each."""
    seen: set[int] = set()
    current: BaseException | None = failure
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield from (
            line.rstrip("\n")
            for line in traceback.StackSummary.from_list(traceback.extract_tb(current.__traceback__)).format()
        )
        yield f"{type(current).__module__}.{type(current).__qualname__}: {_message(current)}"
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if current is not None:
            yield "\nwhich came from:"


def _message(failure: BaseException) -> str:
    """The first line of the message, shortened, without long quoted texts."""
    first = str(failure).partition("\n")[0]
    return QUOTED.sub(lambda match: f"{match[1]}...{match[1]}", first)[:LONGEST]
