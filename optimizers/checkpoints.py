"""Checkpoints of a compilation: one JSON file per step, written atomically, so that a kill loses at most a step.

Evidence within a step is stored in its run folder, and calls in DSPy's cache, so repeating a step costs little. A step
that a budget or a failing server interrupted is provisional, and so are the steps after it: their files are written
when the judge has been tested, so that until then the next session continues the interrupted step.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..engines.jsonl import write_whole
from ..errors import RunError

FORMAT = 2  # of the files in a compilation's folder; another one is refused
IDENTITY, SPENT = "compile.json", "spent.json"


def _never(result: dict[str, Any]) -> bool:
    return False


class Checkpoints:
    """The checkpoints in the folder of one compilation.

    Args:
        folder: is created if it does not exist.
        identity: of the compilation. The folder of another one is refused, unless that one ended before any verdict, as
            without a key: then it is replaced.

    Raises:
        RunError: the folder holds another compilation.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder = folder
        self._provisional: dict[str, dict[str, Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / IDENTITY
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
        self, name: str, run: Callable[[], dict[str, Any]], *, interrupted: Callable[[dict[str, Any]], bool] = _never
    ) -> dict[str, Any]:
        """The result of a step: computed now, or read from its file.

        Args:
            interrupted: says of a result whether the step has more to do.

        Raises:
            RunError: the file is damaged.
        """
        path = self.folder / f"{name}.json"
        if not path.exists():
            result = run()
            if self._provisional or interrupted(result):
                self._provisional[name] = result
                return result
            write_whole(path, _lines(result))
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            content = None
        if not isinstance(content, dict) or not content:
            raise RunError(f"{path}: is damaged. Delete the file, and the step runs again.")
        return content

    def settle(self) -> None:
        """Write the provisional results: the judge that was tested is built from them."""
        for name, result in self._provisional.items():
            write_whole(self.folder / f"{name}.json", _lines(result))
        self._provisional.clear()


def other_format(version: object) -> str:
    """Why a folder of this format cannot be read."""
    return (
        f"another version of dicast compiled this (format {version!r}; this version reads format {FORMAT}). Its judge "
        "file can still be used."
    )


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested mappings by dotted name, as JSON returns them."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        is_nested = isinstance(value, Mapping) and bool(value)
        flat |= _flat(value, f"{prefix}{name}.") if is_nested else {f"{prefix}{name}": json.loads(json.dumps(value))}
    return flat


def _lines(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
