"""What is in the columns of a file: how many values, how long, which words how often."""

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..category_words import number_of, written
from ..row_fields import SEPARATORS, Row, decoded

MOST_WORDS = 400  # distinct short values that are counted
LONGEST_WORD = 60
MOST_ROWS = 20_000  # of a file that are looked at


@dataclass
class Column:
    """One column.

    Attributes:
        rows: rows so far.
        filled: of them with a value.
        characters: of all texts.
        counts: how often each short value occurs; of lists each item.
        is_list: whether values are lists.
        is_conversation: whether values are lists of {role, content}.
        is_long: whether a value is longer than a word may be.
    """

    name: str
    rows: int = 0
    filled: int = 0
    characters: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    digests: set[bytes] = field(default_factory=set)
    is_list: bool = False
    is_conversation: bool = False
    is_long: bool = False

    def add(self, value: Any) -> None:
        """Count the value of a row."""
        self.rows += 1
        whole = decoded(value)
        if whole is None or whole == "" or whole == []:
            return
        self.filled += 1
        text = written(value)
        self.characters += len(text)
        self.digests.add(hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())
        if isinstance(whole, list) and all(isinstance(turn, dict) and "role" in turn for turn in whole):
            self.is_conversation = True
        elif isinstance(whole, list) and all(not isinstance(item, dict | list) for item in whole):
            self.is_list = True
            for item in whole:
                self._count(written(item))
        elif not isinstance(whole, dict | list):
            self._count(text)

    def _count(self, word: str) -> None:
        if not word:
            return
        if len(word) > LONGEST_WORD:
            self.is_long = True
        elif word in self.counts or len(self.counts) < MOST_WORDS:
            self.counts[word] += 1

    @property
    def distinct(self) -> int:
        """Different values."""
        return len(self.digests)

    @property
    def mean(self) -> float:
        """Characters of a value."""
        return self.characters / self.filled if self.filled else 0.0

    @property
    def is_words(self) -> bool:
        """Whether the values are few short words, as labels are."""
        return 0 < len(self.counts) <= 60 and not self.is_long and not self.is_conversation

    @property
    def is_text(self) -> bool:
        """Whether the values are texts that somebody wrote."""
        if self.is_conversation or self.is_long:
            return True
        has_words = any(" " in word for word in self.counts)
        return self.filled > 0 and not self.is_list and self.distinct > 1 and (self.mean >= 25 or has_words)

    @property
    def numbers(self) -> list[float]:
        """The different values, where all are numbers; else []."""
        values = [number_of(word) for word in self.counts]
        return sorted(value for value in values if value is not None) if None not in values else []

    def split(self) -> "Column | None":
        """The column of the words between separators, as votes in one cell; None where no value has one."""
        if self.is_list or self.is_long:
            return None
        separator = next((mark for mark in SEPARATORS if any(mark in word for word in self.counts)), None)
        if separator is None:
            return None
        parts = Column(self.name, rows=self.rows, filled=self.filled, digests=self.digests, is_list=True)
        for word, count in self.counts.items():
            for part in word.split(separator):
                if part.strip():
                    parts.counts[written(part)] += count
        return parts


def read_columns(rows: Iterable[Row]) -> dict[str, Column]:
    """The columns of rows, in the order in which they occur; rows that lack one count as empty."""
    columns: dict[str, Column] = {}
    count = 0
    for row in rows:
        count += 1
        for name, value in row.items():
            columns.setdefault(str(name), Column(str(name))).add(value)
    for column in columns.values():
        column.rows = count
    return columns
