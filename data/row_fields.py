"""Fields of a row of a user's file: what a cell says, or an error that names field and value."""

import math
from collections.abc import Mapping
from typing import Any

from ..parsing import JsonError, load_json, shown

Row = Mapping[str, Any]
SEPARATORS = (",", ";", "|", "\n")  # of votes in one cell


class FieldError(ValueError):
    """A field of a row has a value that cannot be used; `field` and `value` say which.

    Args:
        problem: begins the message; by default that the field has this value.
    """

    def __init__(self, field: str, value: object, advice: str, problem: str | None = None) -> None:
        message = problem or f"field {field!r} is {shown(value)}"
        super().__init__(f"{message}. {advice}" if advice else message)
        self.field, self.value = field, value


def text_of(row: Row, field: str) -> str:
    """The text of a field; it may be empty."""
    value = row.get(field)
    if not isinstance(value, str):
        raise FieldError(field, value, "Give a text (it may be empty).")
    return value


def word_of(value: object) -> str:
    """The value as a word in lower case."""
    return str(value).strip().lower()


def number_of(field: str, value: object) -> float:
    """The finite number of a field."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise FieldError(field, value, "Give a number.")
    return number


def certainty_of(vote: Mapping[str, Any]) -> float | None:
    """The certainty of a vote, in [0, 1]; None where it states none."""
    certainty = None if vote.get("certainty") is None else number_of("votes", vote["certainty"])
    if certainty is not None and not 0 <= certainty <= 1:
        raise FieldError("votes", vote, "A certainty is in 0..1.")
    return certainty


def list_of(field: str, value: object) -> list[Any]:
    """The list of a field, which a cell may hold as JSON text; empty without a value."""
    value = decoded(value)
    if value is None or value == "":
        return []
    if not isinstance(value, list | tuple):
        raise FieldError(field, value, "Give a list.")
    return list(value)


def votes_of(value: object) -> list[Any]:
    """The votes of a cell: a list, JSON of one, or texts with commas, semicolons or bars between them.

    Example:
        >>> votes_of("A,B, A"), votes_of('["pass", "fail"]'), votes_of("a"), votes_of(None)
        (['A', 'B', 'A'], ['pass', 'fail'], ['a'], [])
    """
    whole = decoded(value)
    if isinstance(whole, str) and whole.strip() and not whole.strip().startswith(("[", "{")):
        separator = next((mark for mark in SEPARATORS if mark in whole), None)
        return [part.strip() for part in whole.split(separator)] if separator else [whole.strip()]
    return list_of("votes", whole)


def decoded(value: Any) -> Any:
    """A list or object that a CSV cell holds as JSON text; anything else as it is."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return load_json(value)
        except JsonError:
            return value
    return value
