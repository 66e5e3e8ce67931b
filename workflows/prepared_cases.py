"""The file of prepared cases, and the file of those that failed."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..data import Case
from ..engines.jsonl import ResumableJsonl, rewriting, writing
from ..errors import ExecutionError, RunError
from ..parsing import parse_object, shown
from ..paths import fresh_opener

ENDING = ".jsonl"
PREPARED_AGAIN = "Delete the line; the case is prepared again."


@dataclass(frozen=True)
class PreparedLine:
    """A prepared case as a line of the file."""

    case_id: str
    text: str


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

    def finished(self) -> Iterator[tuple[str, str]]:
        """The ids of the prepared cases; what they were prepared from is not known."""
        for _, case in self._rows():
            yield case["id"], ""

    def write_all(self, cases: Iterable[Case]) -> None:
        """All cases at once: after a kill the file holds the old lines or the new ones."""
        _write_lines(self.lines, (case.model_dump_json().encode() + b"\n" for case in cases))
        self.read_done()

    def write_parts(self, names: Iterable[str]) -> dict[str, Path]:
        """Write the lines of each value of `meta["split"]` into `NAME.VALUE.jsonl`; the paths by value."""
        paths = {name: self.lines.with_suffix(f".{name}{ENDING}") for name in names}
        for name, path in paths.items():
            _write_lines(path, (line for line, case in self._rows() if case["meta"].get("split") == name))
        return paths

    def _rows(self) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Each line with its case; raises RunError for a damaged line."""
        with self.lines.open("rb") as file:
            for number, line in enumerate(file, start=1):
                where = f"{self.lines} line {number}: not a case"
                case = parse_object(line, where, error=RunError, advice=PREPARED_AGAIN, nan=True)
                if not isinstance(case.get("id"), str):
                    raise RunError(f"{where}: field 'id' is {shown(case.get('id'))}. {PREPARED_AGAIN}")
                yield line, case


class Failures:
    """A JSON Lines file of the cases that failed: `{"id", "reason", "error"}`; there is none without failures."""

    def __init__(self, path: Path) -> None:
        self.path, self.count = path, 0
        self.reasons, self._first = Counter[str](), dict[str, str]()

    def add(self, case_id: str, error: ExecutionError) -> None:
        line = json.dumps({"id": case_id, "reason": error.reason, "error": str(error)}, ensure_ascii=False) + "\n"
        with writing(self.path), open(self.path, "ab", opener=fresh_opener) as file:
            file.write(line.encode("utf-8", "backslashreplace"))
        self.count += 1
        self.reasons[error.reason] += 1
        self._first.setdefault(error.reason, str(error))

    @property
    def example(self) -> str:
        """The first error of the most frequent reason."""
        return self._first[self.reasons.most_common(1)[0][0]] if self.reasons else ""


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with rewriting(path) as file:
        file.writelines(lines)
