"""The attributes of a case: short values of columns that are no other field, such as subset, source or language.

Figures are given by attribute (`dicast evaluate --by subset`). No judge sees them, and they are part of no digest.
"""

import math
from collections.abc import Mapping
from typing import Any

MOST_CHARACTERS = 100  # a longer value is a text, not a category


def attributes_of(columns: Mapping[str, Any]) -> dict[str, str]:
    """The columns that hold a scalar of at most 100 characters, as texts; empty values are left out.

    Example:
        >>> attributes_of({"subset": "Neighbor", "year": 2024.0, "hard": True, "note": "", "tags": ["x"]})
        {'subset': 'Neighbor', 'year': '2024', 'hard': 'true'}
    """
    texts = {str(name): scalar_text(value) for name, value in columns.items()}
    return {name: text for name, text in texts.items() if name and 0 < len(text) <= MOST_CHARACTERS}


def scalar_text(value: Any) -> str:
    """A scalar as text; empty for any other value. A data frame reads whole numbers beside missing ones as floats."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if not math.isfinite(value) else str(int(value)) if value.is_integer() else str(value)
    return str(value).strip() if isinstance(value, str | int) else ""
