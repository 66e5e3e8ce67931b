"""YAML as people write it, read strictly: plain values, each key once, bounded size, and no value inside itself.

The events of a document are counted before a value is built, so that a document which unfolds to millions of values by
its aliases is refused at the price of reading its text.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from ..errors import DataError, DicastError
from .json_text import JsonError, check
from .record import shown
from .text import SAVE, read_text

MOST_CHARACTERS = 1_000_000
MOST_VALUES = 20_000  # with every alias written out
MOST_DEPTH = 50
PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(PARSER):
    """Plain values only; a key that a mapping has twice is an error."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"]
        seen: set[str] = set()
        for key in keys:
            if key.value in seen:
                raise JsonError(f"line {key.start_mark.line + 1}: the key {shown(key.value)} is there twice; keep one")
            seen.add(key.value)
        content: dict[Hashable, Any] = super().construct_mapping(node, deep)
        return content


def parse_yaml(
    text: str, where: str, *, error: type[DicastError] = DataError, advice: str = "", strings: bool = False
) -> Any:
    """The value of a YAML text.

    Args:
        where: begins the message, as in "recipe my.yaml".
        error: raised for what is not YAML, too large, or cannot be used.
        advice: ends the message.
        strings: whether every scalar stays the text that is written.
    """
    try:
        if len(text) > MOST_CHARACTERS:
            raise JsonError(f"has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
        _count(text)
        value = yaml.load(text, Loader=yaml.BaseLoader if strings else _StrictLoader)
        check(value, finite=True)
    except (yaml.YAMLError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as problem:
        # Beside YAMLError: an impossible date, a number of thousands of digits, `!!bool x`, `!!int ''`
        reason = problem if isinstance(problem, JsonError) else f"is not YAML ({' '.join(str(problem).split())[:300]})"
        raise error(f"{where}: {reason}. {advice}".rstrip()) from None
    return value


def read_yaml(path: Path, where: str, *, error: type[DicastError] = DataError, advice: str = SAVE) -> Any:
    """The value of a YAML file; arguments as of `parse_yaml`."""
    return parse_yaml(read_text(path, where, error=error, advice=advice), where, error=error, advice=advice)


def _count(text: str) -> None:
    """Raises JsonError where a document unfolds to too many values, is nested too deep, or holds itself."""
    sizes: dict[str | None, int] = {}
    opened: list[tuple[str | None, int]] = []  # anchors of the collections around, with the count at their start
    values = 0
    for event in yaml.parse(text, Loader=PARSER):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = opened.pop()
            if anchor is not None:
                sizes[anchor] = values - before
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in opened):
                raise JsonError(f"&{shown(event.anchor)[1:-1]} holds itself by an alias")
            values += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, values))
            values += 1
        elif isinstance(event, yaml.ScalarEvent):
            values += 1
        if len(opened) > MOST_DEPTH:
            raise JsonError(f"lists and mappings are nested more than {MOST_DEPTH} deep")
        if values > MOST_VALUES:
            raise JsonError(f"holds more than {MOST_VALUES:,} values, aliases written out")
