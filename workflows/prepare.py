"""Prepared cases: rewritten once, kept in a file, and judged in place of the originals."""

import json
from collections.abc import Iterator
from pathlib import Path

from ..engines.jsonl import ResumableJsonl
from ..errors import RunError

ENDING = ".jsonl"


class PreparedCases(ResumableJsonl):
    """The file of prepared cases, `NAME.jsonl`, with `NAME.manifest.json` and `NAME.rejects.jsonl`.

    Raises:
        RunError: a name with another ending.
    """

    def __init__(self, path: Path) -> None:
        if path.suffix != ENDING:
            raise RunError(f"{path}: the cases are written as JSON lines. Give a name that ends in {ENDING}.")
        manifest, lock = path.with_suffix(".manifest.json"), path.with_name(f".{path.name}.lock")
        super().__init__(path, manifest, lock, location=path, content="prepared cases")

    @property
    def rejects(self) -> Path:
        return self.lines.with_suffix(".rejects.jsonl")

    def finished(self) -> Iterator[str]:
        """The ids of the prepared cases."""
        with self.lines.open(encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield str(json.loads(line)["id"])
                except (ValueError, KeyError, TypeError):
                    raise RunError(
                        f"{self.lines} line {number}: not a case. Delete the line; the case is prepared again."
                    ) from None
