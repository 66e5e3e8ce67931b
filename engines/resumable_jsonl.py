"""A journal: a JSONL file that grows by whole lines, one a case, and survives a kill; its manifest lies beside it.

Writing goes on where it stopped: a half-written last line is cut off, and cases that have a line are skipped.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..data import Case
from ..errors import RunError
from .batch import FORMAT
from .jsonl import Appending, drop_unfinished_line, key, only_writer, write_whole

ENDING = ".jsonl"


class Journal:
    """The file of prepared cases, `NAME.jsonl`, with `NAME.manifest.json` and `NAME.rejects.jsonl`.

    Raises:
        RunError: a name with another ending.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix != ENDING:
            raise RunError(f"{path}: the cases are written as JSON lines. Give a name that ends in {ENDING}.")
        self.path, self.done = path, set[int]()

    @property
    def manifest(self) -> Path:
        return self.path.with_suffix(".manifest.json")

    @property
    def rejects(self) -> Path:
        return self.path.with_suffix(".rejects.jsonl")

    @contextmanager
    def open(self, manifest: dict[str, Any]) -> Iterator[Appending]:
        """The file to append to, kept from other processes; `done` is known from here on.

        Args:
            manifest: `manifest["identity"]` must equal the one of the file that is there.

        Raises:
            RunError: the file was made in another way, is in use, or is damaged.
        """
        with only_writer(self.path, self.path):
            if self.path.stat().st_size:
                self._compare(manifest["identity"])
            else:
                write_whole(
                    self.manifest, json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False) + "\n"
                )
            drop_unfinished_line(self.path)
            self.done = {key(identity) for identity in self._ids()}
            with Appending(self.path) as file:
                yield file

    def missing(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases that have no line yet."""
        return (case for case in cases if key(case.id) not in self.done)

    def add(self, file: Appending, case: Case) -> None:
        """Write one line, whole."""
        file.add(case.model_dump_json())
        self.done.add(key(case.id))

    def _compare(self, identity: dict[str, Any]) -> None:
        try:
            before = json.loads(self.manifest.read_text(encoding="utf-8"))["identity"]
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            raise RunError(
                f"{self.path}: there is no manifest {self.manifest.name} that says how it was made. Give another --out."
            ) from None
        for name in before | identity:
            if before.get(name) != identity.get(name):
                raise RunError(
                    f"{self.path}: was made with {name} = {before.get(name)!r}, now it is {identity.get(name)!r}. "
                    "Give another --out, or delete the file."
                )

    def _ids(self) -> Iterator[str]:
        with self.path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield str(json.loads(line)["id"])
                except (ValueError, KeyError, TypeError):
                    raise RunError(
                        f"{self.path} line {number}: not a case. Delete the line; the case is prepared again."
                    ) from None
