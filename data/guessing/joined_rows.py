"""Whether several rows of a file are one case, as with a row for each annotator, and which columns join them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from ..layout import Columns, columns_of, value_at
from ..row_fields import Row
from .columns import Column
from .guess import Guess
from .names import strength

TEXTS = ("query", "response_a", "response_b", "response", "context")


def joining_columns(guessed: Guess, columns: Mapping[str, Column], rows: Iterable[Row]) -> tuple[tuple[str, ...], str]:
    """The columns with equal values on all rows of one case, and what speaks for them; () where a row is a case.

    Args:
        guessed: the fields; its `id` and `unused` are looked at for a column that numbers cases or names annotators.
        rows: of the file, read once.
    """
    texts = [name for ours in TEXTS for name in _names(guessed.fields.get(ours), columns)]
    free = [*guessed.unused, *_names(guessed.fields.get("id"), columns), *_names(guessed.fields.get("group"), columns)]
    annotator = annotator_of(guessed, columns)
    identity = max((name for name in free if name != annotator), key=lambda name: strength(name, "id"), default=None)
    if identity is not None and (not strength(identity, "id") or columns[identity].distinct >= columns[identity].rows):
        identity = None
    aspect = _names(guessed.fields.get("aspect"), columns)
    by_text, people = Counter[bytes](), dict[bytes, set[str]]()
    of_identity, is_constant = dict[str, bytes](), True
    count = 0
    for row in rows:
        count += 1
        key = _digest([value_at(row, name) for name in (*texts, *aspect)])
        by_text[key] += 1
        if annotator is not None:
            people.setdefault(key, set()).add(str(row.get(annotator)))
        if identity is not None:
            whole = _digest([row.get(identity), *(value_at(row, name) for name in aspect)]).hex()
            is_constant = is_constant and of_identity.setdefault(whole, key) == key
    has_several = len(by_text) <= 0.9 * count
    annotates = annotator is not None and sum(map(len, people.values())) >= 0.9 * count
    if not has_several or not (annotates or (identity is not None and is_constant)):
        return (), ""
    key_columns = (identity,) if identity is not None and is_constant else tuple(texts)
    by = f", by {annotator} ({columns[annotator].distinct} annotators)" if annotator is not None and annotates else ""
    return (*key_columns, *aspect), f"{count:,} rows are {len(by_text):,} cases{by}"


def annotator_of(guessed: Guess, columns: Mapping[str, Column]) -> str | None:
    """The column that names who labelled a row."""
    free = [*guessed.unused, *(name for ours in ("id", "group") for name in _names(guessed.fields.get(ours), columns))]
    best = max(free, key=lambda name: _annotator(name, columns), default=None)
    return best if best is not None and _annotator(best, columns) else None


def _annotator(name: str, columns: Mapping[str, Column]) -> int:
    column = columns[name]
    return strength(name, "annotator") if 1 < column.distinct < column.rows and not column.is_text else 0


def _names(theirs: Columns | None, columns: Mapping[str, Column]) -> tuple[str, ...]:
    return tuple(name for name in columns_of(theirs or "", columns))


def _digest(values: list[object]) -> bytes:
    return hashlib.blake2b(repr(values).encode("utf-8", "replace"), digest_size=12).digest()
