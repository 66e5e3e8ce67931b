"""The elements of a JSON array, one at a time: exports of hundreds of megabytes are one array."""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from .json_text import LENIENT, JsonError, check

SPACE = " \t\r\n"


def json_elements(parts: Iterable[str]) -> Iterator[Any]:
    """The elements of the array that the parts of a text are together.

    Memory: one element and some parts. What follows the array is not read.

    Raises:
        JsonError: no array, or it is broken; the message names the element, from 1.
    """
    text, position, number, source = "", 0, 0, iter(parts)

    def next_character() -> str:
        nonlocal text, position
        while True:
            while position < len(text) and text[position] in SPACE:
                position += 1
            if position < len(text):
                return text[position]
            part = next(source, None)
            if part is None:
                raise JsonError(f"is not a whole JSON array (it ends in element {number + 1})")
            text, position = part.lstrip("\ufeff") if not number else part, 0

    if next_character() != "[":
        raise JsonError("is not a JSON array")
    position += 1
    if next_character() == "]":
        return
    while True:
        next_character()
        number += 1
        wanted_more = 1
        while True:
            try:
                value, end = LENIENT.raw_decode(text, position)
                if end < len(text):  # a number at the end may go on in the next part
                    break
            except JsonError:
                raise
            except json.JSONDecodeError as problem:
                reason = f"is not JSON ({problem.msg} in element {number})"
            except RecursionError:
                raise JsonError(f"element {number}: lists and objects are nested too deep") from None
            else:
                reason = f"is not a whole JSON array (it ends in element {number})"
            more = list(islice(source, wanted_more))
            if not more:
                raise JsonError(reason)
            text, position, wanted_more = text[position:] + "".join(more), 0, 2 * wanted_more
        check(value)
        position = end
        yield value
        mark = next_character()
        position += 1
        if mark == "]":
            return
        if mark != ",":
            raise JsonError(f"is not JSON (a comma is missing after element {number})")
