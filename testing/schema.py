"""Default answers: the smallest value that a JSON schema allows, and a distribution of the next token."""

import math
from collections.abc import Mapping
from typing import Any

# A prefers the first position, so a test that ignores the order of presentation is noticed; 3 answers rating scales.
DEFAULT_PROBABILITIES: Mapping[str, float] = {"A": math.exp(-0.5), "B": math.exp(-1.2), "3": math.exp(-2.0)}


def smallest_value(schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """The smallest value of a JSON schema: the first enum value, one list item, every property of an object.

    Args:
        schema: a JSON schema, such as the `response_format` of a request holds.
        root: the schema whose `$defs` are referred to; `schema` itself by default.

    Example:
        >>> smallest_value({"type": "object", "properties": {"score": {"enum": [1, 2, 3]}, "why": {"type": "string"}}})
        {'score': 1, 'why': 'some text'}
    """
    root = schema if root is None else root
    if "$ref" in schema:
        return smallest_value(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "array":
        return [smallest_value(schema["items"], root)]
    if kind == "object":
        return {name: smallest_value(part, root) for name, part in schema.get("properties", {}).items()}
    return {"integer": schema.get("minimum", 1), "number": 1.0, "boolean": True}.get(str(kind), "some text")
