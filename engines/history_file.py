"""A private JSON Lines file of what was done on this machine, which several processes may extend at the same time.

The files lie in the folder DICAST_HISTORY, else `history` in the cache folder; the folder is 0700 and its files 0600. A
line is added under a lock, after all earlier lines were read, so that two processes never both come first. A damaged
line is passed over: nothing else depends on it.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import DicastError
from ..parsing import JsonError, load_json
from ..paths import home, private_folder
from .jsonl import Appending, drop_unfinished_line

PATIENCE = 10.0  # seconds to wait for another process

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Added:
    """What a file held before an entry was added.

    Attributes:
        before: earlier entries, the oldest first; where the entry was there already, those before it.
        problem: why the entry could not be written; empty if it is in the file.
    """

    before: tuple[Entry, ...]
    problem: str = ""


def history_path(name: str) -> Path:
    """The path of a history file; neither it nor its folder may exist yet.

    Raises:
        DeclarationError: the user has no home folder; see `paths.home`.
    """
    folder = os.environ.get("DICAST_HISTORY")
    return (Path(folder).expanduser() if folder else home() / "history") / name


def read_history(name: str) -> list[Entry]:
    """All entries, the oldest first; none where the file cannot be read."""
    try:
        return list(_entries(history_path(name)))
    except (OSError, DicastError):
        return []


def add_to_history(name: str, entry: Entry, *, is_same: Callable[[Entry], bool]) -> Added:
    """The entries before this one, which is added unless it is there already; a folder without write access is a
    `problem`, never an error.

    Args:
        is_same: whether an entry of the file is this one.
    """
    where = name
    try:
        path = history_path(name)
        where = str(path.parent)
        private_folder(path.parent)
        with FileLock(path.with_suffix(".lock"), mode=0o600, timeout=PATIENCE):
            entries = list(_entries(path))
            for position, earlier in enumerate(entries):
                if is_same(earlier):
                    return Added(tuple(entries[:position]))
            drop_unfinished_line(path)
            with Appending(path) as file:
                file.add(json.dumps(entry, ensure_ascii=False))
            return Added(tuple(entries))
    except Timeout:
        problem = "another process holds its lock"
    except (OSError, DicastError) as error:
        problem = str(getattr(error, "strerror", None) or error)
    return Added(tuple(read_history(name)), f"{where}: {problem}")


def _entries(path: Path) -> Iterator[Entry]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            content = load_json(line)
        except JsonError:
            continue
        if isinstance(content, dict):
            yield content
