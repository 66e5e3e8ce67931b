"""The attributes of a run's cases as arrays: for each field its values, and which value each case has."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..data import Judged

Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
MOST_VALUES = 100  # of a field: more are no subgroups but an id or a text; Auto-J has 58 scenarios


@dataclass(frozen=True, eq=False)
class AttributeArrays:
    """The f fields that divide the cases, the aspect among them, in alphabetical order.

    Codes are indices into the values of the field; -1: the case has no value.
    """

    names: tuple[str, ...]  # (f,)
    values: tuple[tuple[str, ...], ...]  # of each field, in alphabetical order
    too_many: tuple[str, ...]  # fields with more than 100 values, which have no codes
    codes: Codes  # (n, f) of the scored verdicts
    case_codes: Codes  # (cases, f) of all cases, scored or not

    def varies(self, name: str) -> bool:
        """Whether the cases have several values of a field."""
        return name in self.too_many or (name in self.names and len(self.values[self.names.index(name)]) > 1)

    def rows(self, mask: Flags) -> "AttributeArrays":
        """The attributes of the verdicts where `mask`, (n,), is true; those of all cases stay."""
        return replace(self, codes=self.codes[mask])


class AttributeCoder:
    """Fields and values with the numbers that they got when they first appeared."""

    def __init__(self) -> None:
        self._fields: dict[str, dict[str, int]] = {}

    def codes(self, judged: Judged) -> tuple[int, ...]:
        """The value's number in each field that is known so far; -1 for none, and for a field with too many values."""
        attributes = judged.attributes | ({"aspect": judged.aspect} if judged.aspect else {})
        for name, value in attributes.items():
            values = self._fields.setdefault(name, {})
            if len(values) <= MOST_VALUES:
                values.setdefault(value, len(values))
        return tuple(self._fields[name].get(attributes.get(name, ""), -1) for name in self._fields)

    def arrays(self, scored: Sequence[tuple[int, ...]], cases: Sequence[tuple[int, ...]]) -> AttributeArrays:
        """The arrays of codes that `codes` returned, whatever the order in which it read the verdicts."""
        names = sorted(name for name, values in self._fields.items() if len(values) <= MOST_VALUES)
        return AttributeArrays(
            names=tuple(names),
            values=tuple(tuple(sorted(self._fields[name])) for name in names),
            too_many=tuple(sorted(set(self._fields) - set(names))),
            codes=self._matrix(scored, names),
            case_codes=self._matrix(cases, names),
        )

    def _matrix(self, rows: Sequence[tuple[int, ...]], names: Sequence[str]) -> Codes:
        """(rows, names): the codes with fields and values in alphabetical order."""
        columns = {name: column for column, name in enumerate(self._fields)}
        matrix = np.full((len(rows), len(names)), -1, dtype=np.int64)
        for target, name in enumerate(names):
            values = self._fields[name]
            rank = {values[value]: position for position, value in enumerate(sorted(values))}
            column = columns[name]
            matrix[:, target] = [rank.get(row[column], -1) if column < len(row) else -1 for row in rows]
        return matrix
