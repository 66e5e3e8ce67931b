"""Which verdict a reason speaks for: by its own clear words where it has them, else one token of a model says it.

A weak model argues for one response and calls the other one better. That is noticed, and not repaired by hand. The
verdicts are listed to the model in two orders, each at another place: a model that names the same place of both lists
says nothing.
"""

import re
import string
from functools import lru_cache
from typing import Any, Literal

import dspy

from ..errors import NoTokenProbabilities, ParseFailure, Refusal, Unreadable
from ..signatures.reasons import SpeaksFor
from .answer_types import MOST_OPTIONS
from .delimiters import constant
from .question import Question
from .reading_ways import reading_in_way
from .verdict_words import VerdictWords

LETTERS = 3  # sampled where a model gives no token probabilities
NEAR = 0.5  # points between a score and the score that a reason names
BETTER = re.compile(
    r"\b(?:response|answer|text|option)\s+(?P<name>[AB]|\d+)\s+(?:is|was|seems)\s+(?:\w+\s+)?"
    r"(?P<word>better|best|stronger|superior|preferable|worse|weaker|inferior)\b",
    re.IGNORECASE,
)
NEGATION = re.compile(r"\b(?:not|no|never|neither|nor|hardly)\b|n't\b", re.IGNORECASE)
WORSE = frozenset({"worse", "weaker", "inferior"})
NAMED_SCORE = re.compile(r"\b(?:score|rating|grade)\s+(?:of|is)\s+(?P<score>\d+(?:\.\d+)?)", re.IGNORECASE)


class ReasonCheck(Question):
    """Says which verdict a reason speaks for. Calls: none where the reason says it itself, else two, of one token."""

    def __init__(self) -> None:
        super().__init__(SpeaksFor, "reason_check", who="reason check", max_tokens=16)

    def spoken_for(self, reason: str, words: VerdictWords) -> str | None:
        """The verdict, as a key of `words.options`, or a score as text; None where nothing says it, or the two orders
        of the verdicts say different ones.

        Raises:
            ExecutionError: the server failed.
            ModelError: the model cannot be used.
        """
        if not words.options:
            return _named_score(reason)
        if clear := said_clearly(reason, tuple(words.options)):
            return clear
        if not 2 <= len(words.options) <= MOST_OPTIONS:
            return None
        options = list(words.options)
        first, second = (self._one_of(reason, words, order) for order in (options, [*options[1:], options[0]]))
        return first if first == second else None

    def _one_of(self, reason: str, words: VerdictWords, order: list[str]) -> str | None:
        """The verdict by one token, where they are listed in this order."""
        letters = string.ascii_uppercase[: len(order)]
        lines = (f"{letter}. {words.options[option]}" for letter, option in zip(letters, order, strict=True))
        inputs = {"reason": reason, "verdicts": constant("\n".join(lines))}
        try:
            with reading_in_way("auto", LETTERS):
                answer = self(readout="probability", signature=_with_letters(letters), **inputs)
        except (NoTokenProbabilities, ParseFailure, Refusal, Unreadable):
            return None
        shares = answer.shares("speaks_for")
        return order[letters.index(max(letters, key=lambda letter: shares[letter]))]


def agrees(spoken_for: str | None, words: VerdictWords) -> bool | None:
    """Whether a reason speaks for its verdict; None where it is not known."""
    if spoken_for is None:
        return None
    if words.score is not None:
        return abs(float(spoken_for) - words.score) <= NEAR
    return spoken_for == words.chosen


def said_clearly(reason: str, options: tuple[str, ...]) -> str | None:
    """The winner that a reason names as better, or whose rival it names as worse; None where it names none or two.

    Example:
        >>> said_clearly("Response B is better: it names the year.", ("a", "b", "tie"))
        'b'
    """
    rivals = {"a": "b", "b": "a"}
    named = set()
    for sentence in re.split(r"(?<=[.!?;])\s+", reason):
        for match in BETTER.finditer(sentence):
            name = match["name"].lower()
            if NEGATION.search(sentence):
                return None
            named.add(rivals.get(name) if match["word"].lower() in WORSE else name)
    (only,) = named if len(named) == 1 else (None,)
    return only if only in options else None


def _named_score(reason: str) -> str | None:
    """The score that a reason names; None where it names none or several."""
    scores = {match["score"] for match in NAMED_SCORE.finditer(reason)}
    return scores.pop() if len(scores) == 1 else None


@lru_cache(maxsize=64)
def _with_letters(letters: str) -> type[dspy.Signature]:
    signature: Any = SpeaksFor
    changed: type[dspy.Signature] = signature.with_updated_fields("speaks_for", type_=Literal[tuple(letters)])
    return changed
