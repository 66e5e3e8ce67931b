"""Labels of single texts in anybody's words: categories, or scores and their scale."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ..category_words import NEGATIVE, POSITIVE, number_of
from .columns import Column
from .sides import NO_LABEL

MOST_CATEGORIES = 20
ENDS = {0: (1, 2, 3, 4, 5, 7, 10, 100), 1: (3, 4, 5, 6, 7, 10, 100)}  # of usual scales, by their lowest score
LEADING = re.compile(r"^(\d+(?:\.\d+)?)\s*(?:/\s*(\d+)|[-–:.)(]|stars?\b|$)", re.IGNORECASE)


@dataclass(frozen=True)
class SingleReading:
    """How the words of a column are labels of single texts.

    Attributes:
        kind: categories, or scores.
        values: words that say a number in other characters, or no label.
        scale: of scores.
    """

    kind: Literal["categories", "scores"]
    values: Mapping[str, str]
    scale: tuple[float, float] = (1, 5)


def single_reading(column: Column) -> SingleReading | None:
    """The reading of a column; None where its words are neither scores nor few categories.

    Example:
        >>> column = Column("grade")
        >>> for value in ("4/5", "3/5", "1/5", "n/a"):
        ...     column.add(value)
        >>> single_reading(column)
        SingleReading(kind='scores', values={'n/a': '', '4/5': '4', '3/5': '3', '1/5': '1'}, scale=(1.0, 5.0))
    """
    skipped = {word: "" for word in column.counts if word.casefold() in NO_LABEL - {"none"}}
    words = [word for word in column.counts if word not in skipped]
    if not words:
        return None
    numbers = {word: number for word in words if (number := _number(word)) is not None}
    if len(numbers) == len(words):
        is_two = len(words) == 2 and sorted(number for number, _ in numbers.values()) in ([0, 1], [-1, 1])
        if is_two and all(number_of(word) is not None for word in words):
            return SingleReading("categories", skipped)
        values = {word: f"{number:g}" for word, (number, _) in numbers.items() if number_of(word) is None}
        top = max(top for _, top in numbers.values())
        return SingleReading("scores", skipped | values, _scale([number for number, _ in numbers.values()], top))
    is_repeated = column.filled >= 2 * len(words) or is_known(words)
    if numbers or len(words) > MOST_CATEGORIES or not is_repeated or column.is_long:
        return None
    return SingleReading("categories", skipped)


def is_known(words: list[str]) -> bool:
    """Whether all words are such as pass and fail."""
    return all(word.casefold() in POSITIVE | NEGATIVE for word in words)


def _number(word: str) -> tuple[float, float] | None:
    """The number that a word begins with, and the end of its scale (0 without one)."""
    if word and not word.strip("★☆⭐*"):
        return float(len(word) - word.count("☆")), float(len(word)) if "☆" in word else 0.0
    number = number_of(word)
    if number is not None:
        return number, 0.0
    match = LEADING.match(word)
    return (float(match[1]), float(match[2] or 0)) if match else None


def _scale(numbers: list[float], top: float) -> tuple[float, float]:
    """The shortest usual scale that holds the numbers."""
    low, high = min(numbers), max([*numbers, top])
    if low < 0:
        return -max(-low, high), max(-low, high)
    if high <= 1 and any(number != int(number) for number in numbers):
        return 0.0, 1.0
    start = 0 if low < 1 else 1
    if top > start:
        return float(start), top
    floor = 5 if start == 1 and low > 1 else 0  # without the lowest score the highest may be missing too
    return float(start), float(next((end for end in ENDS[start] if end >= max(high, floor)), high))
