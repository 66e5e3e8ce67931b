"""What of a compilation is done: one JSON a step, written whole, so that a kill at any moment loses at most a step.

Evidence within a step is kept by its run folder, and calls by DSPy's cache, so a step that is begun again costs little.
A step that a budget or a failing server has cut short is open, and so is all that is made of it: nothing of it is
written until the judge was tested, so that the next sitting goes on with it.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..engines.jsonl import write_whole
from ..errors import RunError

FORMAT = 2  # of the files in a compilation's folder; another one is refused


def _never(made: dict[str, Any]) -> bool:
    return False


class Steps:
    """The steps of one compilation's folder.

    Args:
        folder: made when it is not there.
        identity: what the compilation is of; a folder of another one is refused, unless it ended before any verdict, as
            without a key: then it is begun anew.

    Raises:
        RunError: the folder holds another compilation.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        self._open: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "compile.json"
        if not path.exists():
            write_whole(path, _lines({"format": FORMAT, "identity": identity}))
            return
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            before, version = content["identity"], content["format"]
        except (ValueError, KeyError, TypeError):
            raise RunError(f"{path}: is damaged. Delete the folder and compile again.") from None
        if version != FORMAT:
            raise RunError(f"{folder}: {other_format(version)} Give another --out, or delete the folder.")
        then, now = _flat(before), _flat(identity)
        changed = [name for name in then | now if then.get(name) != now.get(name)]
        if changed and not any(verdicts.stat().st_size for verdicts in folder.glob("evidence/*/verdicts.jsonl")):
            (folder / "split.json").unlink(missing_ok=True)
            write_whole(path, _lines({"format": FORMAT, "identity": identity}))
        elif changed:
            name = changed[0]
            raise RunError(
                f"{folder}: holds a compilation with {name} = {then.get(name)!r}, now it is {now.get(name)!r}. "
                "Give another --out, or delete the folder."
            )

    def once(
        self, name: str, make: Callable[[], dict[str, Any]], *, cut_short: Callable[[dict[str, Any]], bool] = _never
    ) -> dict[str, Any]:
        """What the step gave: made now, or read back when it was made before.

        Args:
            cut_short: tells of what was made whether there is more to do.

        Raises:
            RunError: its file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            made = make()
            if self._open or cut_short(made):
                self._open[name] = made
                return made
            write_whole(path, _lines(made))
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            told = None
        if not isinstance(told, dict) or not told:
            raise RunError(f"{path}: is damaged. Delete the file, and its step is made again.")
        return told

    def settle(self) -> None:
        """Write what is open: the judge that was tested is made of it."""
        for name, made in self._open.items():
            write_whole(self.folder / f"{name}.json", _lines(made))
        self._open.clear()


def other_format(version: object) -> str:
    """Why a folder of this format cannot be read."""
    return (
        f"another version of dicast compiled this (format {version!r}; this version reads format {FORMAT}). Its judge "
        "file can still be used."
    )


def _flat(told: Mapping[str, Any], under: str = "") -> dict[str, Any]:
    """The values of nested mappings by dotted name, as JSON gives them back."""
    found: dict[str, Any] = {}
    for name, value in told.items():
        inner = isinstance(value, Mapping) and bool(value)
        found |= _flat(value, f"{under}{name}.") if inner else {f"{under}{name}": json.loads(json.dumps(value))}
    return found


def _lines(told: dict[str, Any]) -> str:
    return json.dumps(told, indent=1, ensure_ascii=False) + "\n"
