"""JSON as files hold it, read strictly: an object has each key once, a text can be encoded, nothing is nested deep.

The checks that JSON's grammar does not make are cheap on good input: duplicate keys are noticed where an object is
built, and only a line with many brackets, or with an escape that may be half of a character, is looked through.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from ..errors import DataError, DicastError
from .record import shown
from .text import SAVE, not_utf8, read_text

MOST_NESTING = 100  # lists and objects inside one another; what nests deeper breaks programs that recurse
MOST_BITS = 1000  # of a whole number, some 300 digits: a longer one is no float
HALF = re.compile(r"\\u[dD][89a-fA-F]")  # an escape of half of a UTF-16 pair; both halves of an emoji, too
PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F]")
SURROGATE = re.compile("[\ud800-\udfff]")

_Path = tuple[()] | tuple[Any, object]  # the path of the value around, and the key or index in it


class JsonError(ValueError):
    """A text is not JSON that can be used; the message says why, without its file."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JsonError(f"the key {shown(twice)} is there twice; keep one of them")
    return content


def _refused(name: str) -> NoReturn:
    raise JsonError(f"is not JSON ({name} is no JSON number)")


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refused)
LENIENT = json.JSONDecoder(object_pairs_hook=_object)  # NaN and Infinity are read


def load_json(text: str | bytes, *, nan: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        nan: whether NaN and Infinity are read, as data frames write them.

    Raises:
        JsonError: not JSON or not UTF-8, a key twice in one object, half of a UTF-16 pair, a number too long to be
            one, lists and objects nested more than 100 deep.
    """
    is_suspect = False
    if isinstance(text, bytes):
        raw = text
        try:
            text = raw.decode()
        except UnicodeDecodeError as problem:
            raise JsonError(not_utf8(raw, problem)) from None
    else:
        is_suspect = SURROGATE.search(text) is not None
    if text[:1] == "\ufeff":
        text = text[1:]
    try:
        value = (LENIENT if nan else STRICT).decode(text)
    except JsonError:
        raise
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno}, " if "\n" in text.rstrip() else ""
        raise JsonError(f"is not JSON ({problem.msg}, {line}column {problem.colno})") from None
    except RecursionError:
        raise JsonError(_too_deep()) from None
    except ValueError:  # Python refuses whole numbers of more than 4,300 digits
        raise JsonError("is not JSON that can be read (a whole number of thousands of digits)") from None
    if is_suspect or text.count("[") + text.count("{") > MOST_NESTING or _has_half(text):
        check(value)
    return value


def _has_half(text: str) -> bool:
    """Whether a text may have an escape without its other half; a backslash that is escaped makes it uncertain."""
    halves = len(HALF.findall(text))
    return halves > 0 and ("\\\\" in text or halves != 2 * len(PAIR.findall(text)))


def check(value: Any, *, finite: bool = False) -> None:
    """Raises JsonError for a value that no JSON file should hold, with the path of its field.

    Args:
        finite: whether numbers must be finite, and whole ones have at most 300 digits.
    """
    below: list[tuple[_Path, Any, int]] = [((), value, 0)]
    while below:
        path, item, depth = below.pop()
        if depth > MOST_NESTING:
            raise JsonError(_too_deep())
        if isinstance(item, dict):
            for key in item:
                if isinstance(key, str) and (half := SURROGATE.search(key)):
                    raise JsonError(f"the key {shown(key)}: {_half(half)}")
            below += [((path, key), inner, depth + 1) for key, inner in item.items()]
        elif isinstance(item, list | tuple):
            below += [((path, index), inner, depth + 1) for index, inner in enumerate(item)]
        elif isinstance(item, str) and (half := SURROGATE.search(item)):
            raise JsonError(f"{_field(path)}{_half(half)}")
        elif finite and isinstance(item, float) and not math.isfinite(item):
            raise JsonError(f"{_field(path)}{item:g} is not a finite number")
        elif finite and isinstance(item, int) and item.bit_length() > MOST_BITS:
            raise JsonError(f"{_field(path)}a whole number of more than 300 digits")


def _field(path: _Path) -> str:
    names: list[str] = []
    while path:
        names.append(str(path[1]))
        path = path[0]
    return f"field {shown('.'.join(reversed(names)))}: " if names else ""


def _half(half: re.Match[str]) -> str:
    return f"character {half.start()} is half of a UTF-16 pair; repair the text"


def _too_deep() -> str:
    return f"lists and objects are nested more than {MOST_NESTING} deep"


def parse_json(
    text: str | bytes, where: str, *, error: type[DicastError] = DataError, advice: str = "", nan: bool = False
) -> Any:
    """The value of a JSON text, whose numbers are finite.

    Args:
        where: begins the message, as in "runs/x/manifest.json".
        error: raised for what is not JSON, or cannot be used.
        advice: ends the message.
        nan: whether NaN, Infinity and numbers too large for a float are read.
    """
    try:
        value = load_json(text, nan=nan)
        if not nan:
            check(value, finite=True)
    except JsonError as problem:
        raise error(f"{where}: {problem}. {advice}".rstrip()) from None
    return value


def parse_object(
    text: str | bytes, where: str, *, error: type[DicastError] = DataError, advice: str = "", nan: bool = False
) -> dict[str, Any]:
    """The JSON object of a text; arguments as of `parse_json`."""
    value = parse_json(text, where, error=error, advice=advice, nan=nan)
    if not isinstance(value, dict):
        raise error(f"{where}: a JSON {json_kind(value)}, not an object. {advice}".rstrip())
    return value


def read_object(
    path: Path, *, error: type[DicastError] = DataError, advice: str = SAVE, nan: bool = False
) -> dict[str, Any]:
    """The JSON object of a small file; arguments as of `parse_json`."""
    return parse_object(read_text(path, error=error, advice=advice), str(path), error=error, advice=advice, nan=nan)


def json_lines(
    lines: Iterable[str | bytes], source: str, *, error: type[DicastError] = DataError, advice: str = ""
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers from 1 and JSON objects of lines; blank lines are passed over.

    Args:
        source: begins messages, as in "verdicts.jsonl"; the line follows.
        error: raised for a line that is not a JSON object, or cannot be used.
        advice: ends messages.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, parse_object(line, f"{source} line {number}", error=error, advice=advice, nan=True)


def json_kind(value: object) -> str:
    """The name of a JSON value's type."""
    names = {dict: "object", list: "list", str: "text", bool: "true or false", int: "number", float: "number"}
    return names.get(type(value), "null" if value is None else type(value).__name__)
