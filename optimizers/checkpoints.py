"""Checkpoints of a compilation or a distillation: one JSON file per step, written atomically, so that a kill loses at
most a step.

Evidence within a step is stored in its run folder, and answers in the answer store, so repeating a step costs little.
A step that a budget or a failing server interrupted is provisional, and so are the steps after it: their files are
written when the judge has been tested, so that until then the next session continues the interrupted step.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ..engines.jsonl import write_whole
from ..engines.run_identity import differences
from ..errors import RunError
from ..parsing import explain, read_object, shown
from ..paths import private_folder

AGAIN = "Delete the file, and the step runs again."
RESTORE = "Restore the file from a copy, or give another --out and keep this folder: its evidence/ holds the verdicts."
FORMAT = 2  # of the files in a compilation's folder; another one is refused
IDENTITY, SPENT = "compile.json", "spent.json"
VERDICTS = "evidence/*/verdicts.jsonl"
GROUPS, SPLIT, CERTIFIABLE, CERTIFICATE = "groups", "split", "certifiable", "certificate"  # steps
Work = Literal["compilation", "distillation"]
VERBS: dict[Work, str] = {"compilation": "Compile", "distillation": "Distil"}


def _never(result: dict[str, Any]) -> bool:
    return False


class Checkpoints:
    """The checkpoints in the folder of one compilation.

    Args:
        folder: is created if it does not exist.
        identity: of the compilation. The folder of another one is refused, unless that one ended before any result, as
            without a key: then it is replaced.
        file: takes the identity.
        work: what the folder holds.
        results: patterns of files in the folder; a file that is not empty is a result.

    Raises:
        RunError: the folder holds another compilation.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, Any],
        *,
        file: str = IDENTITY,
        work: Work = "compilation",
        results: Sequence[str] = (VERDICTS,),
    ) -> None:
        self.folder = folder
        self._provisional: dict[str, dict[str, Any]] = {}
        private_folder(folder)
        path = folder / file
        if not path.exists():
            write_whole(path, _lines({"format": FORMAT, "identity": identity}))
            return
        content = read_object(path, error=RunError, advice=RESTORE, nan=True)
        if (version := content.get("format")) != FORMAT:
            raise RunError(f"{folder}: {other_format(version)} Give another --out, or delete the folder.")
        if not isinstance(before := content.get("identity"), dict):
            raise RunError(f"{path}: field 'identity' is {shown(before)}. {RESTORE}")
        changed = next(differences(before, identity), None)
        files = (path for pattern in results for path in folder.glob(pattern))
        if changed and not any(path.stat().st_size for path in files):
            for name in (SPLIT, GROUPS, CERTIFIABLE):
                (folder / f"{name}.json").unlink(missing_ok=True)
            write_whole(path, _lines({"format": FORMAT, "identity": identity}))
        elif changed:
            raise RunError(
                f"{folder}: holds a {work} with {changed}. {VERBS[work]} with the same again, or give another --out."
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
        content = read_object(path, error=RunError, advice=AGAIN, nan=True)
        if not content:
            raise RunError(f"{path}: is empty. {AGAIN}")
        return content

    def has(self, name: str) -> bool:
        """Whether the step has written its file."""
        return (self.folder / f"{name}.json").exists()

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Raises RunError, which names the step's file, where its content is not what the code inside expects."""
        try:
            yield
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            reason = explain(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise RunError(f"{self.folder / name}.json: is damaged ({reason}). {AGAIN}") from None

    def settle(self) -> None:
        """Write the provisional results: the judge that was tested is built from them."""
        for name, result in self._provisional.items():
            write_whole(self.folder / f"{name}.json", _lines(result))
        self._provisional.clear()


def other_format(version: object) -> str:
    """Why a folder of this format cannot be read."""
    return (
        f"another version of dicast compiled this (format {shown(version)}; this version reads format {FORMAT}). "
        "Its judge file can still be used."
    )


def _lines(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"
