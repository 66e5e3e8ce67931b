"""What a user calls a run: a folder, a file, or rows of a file as in verdicts.jsonl:judge=gpt-4o,setting=CoT."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ..errors import RunError

NEXT_FIELD = re.compile(r",(?=[^,=:]+=)")  # a comma before FIELD=; other commas belong to a value


class RunName(NamedTuple):
    """A path, and which of its rows the run has."""

    path: Path
    where: dict[str, str]


def parse_run_name(text: str) -> RunName:
    """The path and the rows that a name means; an existing path of the whole name wins.

    Raises:
        RunError: there is no such path, or what follows it is not FIELD=VALUE.

    Example:
        >>> NEXT_FIELD.split("judge=a metric, replicated,setting=turn")
        ['judge=a metric, replicated', 'setting=turn']
    """
    path = Path(text)
    if path.exists():
        return RunName(path, {})
    for colon in re.finditer(":", text):
        path, fields = Path(text[: colon.start()]), text[colon.end() :]
        if path.exists():
            return RunName(path, _fields(text, path, fields))
    raise RunError(f"{text}: there is no such run. Give a folder of dicast.run, or a .jsonl file of verdicts.")


def shown_name(path: Path, where: Mapping[str, str]) -> str:
    """The name that `parse_run_name` reads as this path and these rows."""
    fields = ",".join(f"{name}={value}" for name, value in where.items())
    return f"{path}:{fields}" if fields else str(path)


def _fields(text: str, path: Path, fields: str) -> dict[str, str]:
    pairs = [field.partition("=") for field in NEXT_FIELD.split(fields)]
    if not all(name.strip() and equals and value for name, equals, value in pairs):
        raise RunError(f"{text}: what follows {path}: is not FIELD=VALUE,... Write it as in {path}:judge=gpt-4o.")
    if path.is_dir():
        raise RunError(
            f"{text}: {path} is a run folder, of which every verdict counts. Give {path}; fields choose rows of a "
            ".jsonl file of another tool."
        )
    return {name.strip(): value for name, _, value in pairs}
