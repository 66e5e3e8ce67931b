"""The lines of a JSON Lines file, of which the last one of each id counts."""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path


class LastLines:
    """Numbered lines of a file of JSON objects; a line is passed over where a later one has the same id.

    The file is read twice, so that only hashes of its ids stay in memory. An unfinished last line is passed over.

    Attributes:
        repeated: the lines that are passed over because of a later one.

    Args:
        path: the file.
        name: the member that holds the id; lines without it all count.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self._name = path, name
        self._begin = re.compile(rb'\{"%s":"([^"\\]*)"' % name.encode())  # as dicast writes it
        self._last: dict[int, int] = {}  # of the ids that are repeated: the number of their last line
        self.repeated = 0
        seen: set[int] = set()
        for number, line in self._lines():
            key = self._key(line)
            if key is None:
                continue
            if key in seen:
                self._last[key] = number
                self.repeated += 1
            seen.add(key)

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        for number, line in self._lines():
            key = self._key(line) if self._last else None
            if key is None or self._last.get(key, number) == number:
                yield number, line

    def line_of(self, name: str) -> int | None:
        """The number of the line that counts for this id; None: there is none."""
        key = self._hash(name.encode())
        return next((number for number, line in self if self._key(line) == key), None)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n") or _is_json(line):
                    yield number, line

    def _key(self, line: bytes) -> int | None:
        if begin := self._begin.match(line):
            name = begin[1]
        else:
            try:
                name = str(json.loads(line)[self._name]).encode()
            except (ValueError, RecursionError, KeyError, TypeError, IndexError):
                return None
        return self._hash(name)

    @staticmethod
    def _hash(name: bytes) -> int:
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest())


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
