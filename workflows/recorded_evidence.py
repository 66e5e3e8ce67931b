"""Evidence that comes with the package: what a model answered for a packaged set, as an answer store to read from.

A record is a folder with the files of an answer store (engines/answer_store.py), which hold JSON and float16 numbers.
Inside `answers_in` runs and compilations find these answers by the digests of their requests, as they find their own
earlier ones: a request that differs in a character, or goes to other weights, asks the model.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from ..engines.answer_store import FILE as ANSWERS
from ..engines.states.store import FILE as STATES
from ..paths import private_folder

VARIABLE = "DICAST_ANSWERS"
RECORDS = "recorded"  # the folder beside the sets


def record_of(name: str) -> Path:
    """The folder of a packaged set's record."""
    return Path(str(files("dicast.catalog.sets") / RECORDS / name))


@contextmanager
def answers_in(folder: Path, record: Path | None = None) -> Iterator[None]:
    """Inside, answers are looked up and stored in a folder.

    Args:
        folder: one of an earlier call goes on.
        record: what the folder holds at first, which is only read; None: nothing.
    """
    private_folder(folder)
    for name in (ANSWERS, STATES):
        if record is not None and not (folder / name).exists():
            part = folder / f"{name}.part"
            shutil.copyfile(record / name, part)
            part.replace(folder / name)
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(folder.absolute())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def write_record(folder: Path, record: Path) -> None:
    """Write the answers of a folder as a record: one file each, with no space between answers."""
    record.mkdir(parents=True, exist_ok=True)
    for name in (ANSWERS, STATES):
        (record / name).unlink(missing_ok=True)
        with closing(sqlite3.connect(folder / name)) as store:
            store.execute("VACUUM INTO ?", (str(record / name),))
