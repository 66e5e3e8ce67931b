"""Values to records of pydantic; messages name the field and show the value in at most 80 characters."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import DataError, DicastError

# What pydantic says with names of Python classes, by the type of its error
OBJECT = "Input should be an object"
IN_WORDS = dict.fromkeys(
    ("model_type", "model_attributes_type", "dataclass_type", "dict_type", "mapping_type"), OBJECT
) | {"path_type": "Input should be a path"}
MOST_SHOWN = 80  # characters of a value in a message

Model = TypeVar("Model", bound=BaseModel)


def parse_record(
    model: type[Model], value: Any, where: str, *, error: type[DicastError] = DataError, advice: str = ""
) -> Model:
    """The record that a value describes.

    Args:
        where: begins the message, as in "runs/x/manifest.json".
        error: raised for a field that is missing, unknown or wrong.
        advice: ends the message.
    """
    try:
        return model.model_validate(value)
    except ValidationError as problem:
        raise error(f"{where}: {explain(problem)} {advice}".rstrip()) from None


def parse_record_json(
    model: type[Model], text: str | bytes, where: str, *, error: type[DicastError] = DataError, advice: str = ""
) -> Model:
    """The record of a JSON text, by the fastest way; arguments as of `parse_record`.

    For lines that dicast wrote itself: of a key that an object has twice, the last is read.
    """
    try:
        return model.model_validate_json(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    except ValidationError as problem:
        raise error(f"{where}: {explain(problem)} {advice}".rstrip()) from None


def explain(error: Exception) -> str:
    """What is wrong with a record, in one line: the first field, its value and the reason."""
    if not isinstance(error, ValidationError):
        return " ".join(str(error).splitlines())
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = " ".join(first["msg"].removeprefix("Value error, ").split())
    message = IN_WORDS.get(first["type"], message)
    value = "" if first["type"] in ("missing", "json_invalid") else f" is {shown(first['input'])}"
    message = message if message.endswith((".", "?")) else f"{message}."
    return f"field {shown(field)[1:-1]!r}{value}: {message}" if field else message


def shown(value: object) -> str:
    """A value as JSON, at most 80 characters of it; characters that cannot be encoded are escaped.

    Example:
        >>> shown({"a": [1, "x" * 100]})[:20]
        '{"a": [1, "xxxxxxxxx'
    """
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=_named).iterencode(_cut(value)):
            text += part if len(part) <= MOST_SHOWN else part[: MOST_SHOWN + 1]
            if len(text) > MOST_SHOWN:
                break
    except (ValueError, TypeError, RecursionError):  # thousands of digits; a key that is no text; a list in itself
        text += f"... ({type(value).__name__})"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "..."


def _cut(value: object) -> object:
    return value[: MOST_SHOWN + 1] if isinstance(value, str) else value


def _named(value: object) -> str:
    """A value that JSON lacks, such as a date, as text; of an object without one, its type."""
    has_text = type(value).__str__ is not object.__str__ or type(value).__repr__ is not object.__repr__
    return str(value)[: MOST_SHOWN + 1] if has_text else type(value).__name__
