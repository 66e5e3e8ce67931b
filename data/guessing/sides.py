"""Labels of pairs in anybody's words: which of the two a word names, or that neither is better.

Numbers are not words: 1 and 0 may name the first response or say "yes", so that a set of numbers may have two readings.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..category_words import number_of
from .names import SIDES, words_of

TIE = frozenset(
    "tie ties tied equal equally same both neither draw even unentschieden gleich empate similar comparable identical "  # noqa: SIM905
    "indifferent".split()
)
TIES = ("no preference", "no difference", "about the same", "no winner", "not better", "toss up", "on par")
NO_LABEL = frozenset(
    ("", "n/a", "na", "nan", "null", "skip", "skipped", "?", "??", "-", "unsure", "unknown", "none", "idk")
)
BETTER = re.compile(r"better|wins?\b|prefer|stronger|beats?\b|over\b|>|best")
WORSE = re.compile(r"worse|loses?\b|weaker|<|worst")
FIRST = frozenset(pair[0] for pair in SIDES if pair[0] not in ("0", "1"))
SECOND = frozenset(pair[1] for pair in SIDES if pair[1] not in ("1", "2"))


@dataclass(frozen=True)
class SideReading:
    """One way to read the words of a column as labels of pairs.

    Attributes:
        values: each word -> a, b, tie, or "" for no label.
        because: what speaks for it.
    """

    values: Mapping[str, str]
    because: str


def side_readings(
    words: Iterable[str], names: tuple[str, str], systems: tuple[str, str] = ("", "")
) -> tuple[list[SideReading], list[str]]:
    """The readings of a column's words, and the words that fit nothing.

    Args:
        words: all different values of the column.
        names: the columns of the two responses.
        systems: the systems that wrote them, where each has one.

    Returns:
        One reading where it is certain, two where they are equally good, none where a word fits nothing.

    Example:
        >>> readings, odd = side_readings(["answer_A", "answer_B", "both good"], ("answer_A", "answer_B"))
        >>> readings[0].values, odd
        ({'answer_A': 'a', 'answer_B': 'b', 'both good': 'tie'}, [])
        >>> [reading.values for reading in side_readings(["0", "1"], ("answer_A", "answer_B"))[0]]
        [{'0': 'a', '1': 'b'}, {'0': 'b', '1': 'a'}]
    """
    listed = list(words)
    skipped = {word: "" for word in listed if word.casefold().strip() in NO_LABEL}
    left = [word for word in listed if word not in skipped]
    if not left:
        return [], listed
    if all(number_of(word) is not None or word.casefold() in ("true", "false") for word in left):
        return [SideReading({**reading.values, **skipped}, reading.because) for reading in _numbers(left, names)], []
    sides = {word: side_of(word, names, systems) for word in left}
    odd = [word for word, side in sides.items() if side is None]
    named = {side for side in sides.values() if side in ("a", "b")}
    if odd or not named:
        return [], odd or left
    return [SideReading({word: str(side) for word, side in sides.items()} | skipped, "by their words")], []


def side_of(word: str, names: tuple[str, str], systems: tuple[str, str] = ("", "")) -> str | None:
    """What one word says: a, b or tie; None where it says none of them.

    Example:
        >>> names = ("response_1", "response_2")
        >>> [side_of(word, names) for word in ("[[A]]", "B>>A", "model_2", "Both bad", "a is much better", "good")]
        ['a', 'b', 'b', 'tie', 'a', None]
    """
    text = word.casefold().strip()
    for side, name, system in zip("ab", names, systems, strict=True):
        if text in (name.casefold(), system.casefold()) and text:
            return side
    words = list(words_of(word))
    if TIE & set(words) or any(phrase in text for phrase in TIES) or re.search(r"[ab12]\s*=\s*[ab12]", text):
        return "tie"
    if re.search(r"\bB\b", word) and re.search(r"\ba\b", word):  # an article: "B is a bit better"
        words = [part for part in words if part != "a"]
    distinct = [set(words_of(name)) - set(words_of(other)) for name, other in (names, names[::-1])]
    first, second = FIRST | distinct[0] | {"1"}, SECOND | distinct[1] | {"2"}
    sides = [
        "a" if part in first and part not in second else "b" for part in words if (part in first) != (part in second)
    ]
    if not sides:
        return None
    if len(set(sides)) == 1:
        return _other(sides[0]) if WORSE.search(text) and not BETTER.search(text) else sides[0]
    if BETTER.search(text):
        return sides[0]
    return sides[1] if WORSE.search(text) else None


def _other(side: str) -> str:
    return "b" if side == "a" else "a"


def _numbers(words: list[str], names: tuple[str, str]) -> list[SideReading]:
    """The readings of numbers, the likelier first; one where the columns of the responses are numbered."""
    by_number = {
        1.0 if word.casefold() == "true" else 0.0 if word.casefold() == "false" else number_of(word): word
        for word in words
    }
    numbers = sorted(number for number in by_number if number is not None)
    numbered = _numbers_of_names(names)
    if numbered and set(numbered) <= set(numbers) and len(numbers) <= 3:
        sides = {number: "ab"[numbered.index(number)] if number in numbered else "tie" for number in numbers}
        return [_reading(by_number, sides, f"the responses are {names[0]} and {names[1]}")]
    ways: list[tuple[dict[float, str], str]]
    match numbers:
        case [1.0, 2.0] | [1.0] | [2.0]:
            ways = [({1.0: "a", 2.0: "b"}, "the number of the response")]
        case [0.0, 1.0, 2.0]:
            ways = [
                ({1: "a", 2: "b", 0: "tie"}, "1 and 2 the responses, 0 a tie"),
                ({0: "a", 1: "b", 2: "tie"}, "0 and 1 the responses, 2 a tie"),
            ]
        case [1.0, 2.0, 3.0]:
            ways = [
                ({1: "a", 2: "b", 3: "tie"}, "1 and 2 the responses, 3 a tie"),
                ({1: "a", 2: "tie", 3: "b"}, "from the first to the second"),
            ]
        case [0.0, 1.0]:
            ways = [
                ({0: "a", 1: "b"}, "0 the first response, 1 the second"),
                ({1: "a", 0: "b"}, "1 where the first is better, else 0"),
            ]
        case _:
            low, high = numbers[0], numbers[-1]
            middle = 0.0 if low < 0 else (0.5 if high <= 1 else (1 + max(high, 5 if high > 3 else high)) / 2)
            sides = {number: "a" if number < middle else "b" if number > middle else "tie" for number in numbers}
            other = {number: side if side == "tie" else _other(side) for number, side in sides.items()}
            ways = [(sides, "low numbers for the first response"), (other, "high numbers for the first response")]
    return [_reading(by_number, sides, because) for sides, because in ways]


def _reading(by_number: Mapping[float | None, str], sides: Mapping[float, str], because: str) -> SideReading:
    return SideReading({by_number[n]: side for n, side in sorted(sides.items()) if n in by_number}, because)


def _numbers_of_names(names: tuple[str, str]) -> tuple[float, float] | None:
    """The numbers by which the names of the responses differ, as of output_1 and output_2."""
    for pair in (("0", "1"), ("1", "2")):
        if all(number in words_of(name) for number, name in zip(pair, names, strict=True)):
            return float(pair[0]), float(pair[1])
    return None
