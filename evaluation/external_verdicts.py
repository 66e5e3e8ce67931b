"""Verdicts of other tools as rows of JSON Lines, to be measured like a run.

    {"id": "17", "prediction": "a", "label": "b"}                                   a pair; also "tie"
    {"id": "17", "prediction": "a", "prediction_swapped": "b", "label": "b"}        asked in both orders
    {"id": "17", "prediction": [7.5, 6], "label": [4, 2]}                           a pair by the scores of its texts
    {"id": "17", "prediction": 3.5, "label": 4, "votes": [4, 5, 3]}                 a text's score
    {"id": "17", "prediction": 2, "label": 0, "options": 4}                         a choice, by index

The fields are those of `external_row`. A file holds verdicts of one kind, of one judge in one setting. What no single
row says is decided for all rows of this judge and setting, chosen or not: the scale of the certainty, whether it was
asked in both orders, and the scale of its scores.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..data import Judged
from ..data.attributes import scalar_text
from ..data.lines import lines_of
from ..data.rows import bad_row
from ..errors import DataError
from ..parsing import parse_object
from .external_row import ExternalVerdict
from .judged_row import RowFacts, judged_row
from .repeated_verdicts import RepeatedRows

NAMES = ("judge", "setting")
ADVICE = "Give one verdict a line."

Row = Mapping[str, Any]
Names = tuple[str, ...]


class FileLines:
    """The lines of a file, read anew each time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[bytes]:
        return lines_of(self.path)


@dataclass
class ExternalVerdicts:
    """The verdicts of JSON rows, read one at a time; equal rows of one case count once.

    Attributes:
        source: what messages call the rows.
        lines: one row of JSON each; can be read several times.
        where: only rows whose fields have these values.

    Raises:
        DataError: while they are read: a row that is no verdict (file, line, field, value), rows of several judges or
            settings, or different rows of one case.
    """

    source: str
    lines: Iterable[str | bytes]
    where: Mapping[str, str]
    _repeated: int | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of_file(cls, path: Path, where: Mapping[str, str] | None = None) -> "ExternalVerdicts":
        return cls(str(path), FileLines(path), where or {})

    def __iter__(self) -> Iterator[Judged]:
        repeated = RepeatedRows(self.source)
        for number, row in self._rows():
            judged = self._judged(number, row)
            if repeated.is_new(number, judged):
                yield judged
        self._repeated = repeated.count

    @property
    def repeated(self) -> int:
        """Rows that do not count, because another row of the case is the same; known once all rows were read."""
        if self._repeated is None:
            for _ in self:
                pass
        return self._repeated or 0

    def line_of(self, case_id: str) -> int | None:
        """The line of a case; None: there is none."""
        return next((number for number, row in self._rows() if row.case_id == case_id), None)

    @cached_property
    def facts(self) -> RowFacts:
        """What all rows of the chosen judge and setting say together."""
        facts: dict[Names, RowFacts] = {}
        chosen: Names | None = None
        for _, content in self._contents():
            names = tuple(scalar_text(content.get(name)) for name in NAMES)
            facts.setdefault(names, RowFacts()).add(content)
            if self._is_chosen(content):
                self._check_same(chosen or names, names)
                chosen = chosen or names
        return facts.get(chosen or (), RowFacts())

    def values_of(self, name: str) -> set[str]:
        """The values that the rows have in a field, chosen or not."""
        return {text for _, content in self._contents() if (text := scalar_text(content.get(name)))}

    @property
    def no_row(self) -> str:
        """That no row has the chosen values, and which values there are."""
        fields = ", ".join(f"{name}={value}" for name, value in self.where.items())
        values = {name: sorted(self.values_of(name)) for name in self.where}
        known = "; ".join(f"{name}: {', '.join(some[:20]) or 'none'}" for name, some in values.items())
        return f"{self.source}: no row has {fields}. Give values of its rows ({known})."

    def _contents(self) -> Iterator[tuple[int, Row]]:
        for number, raw in enumerate(self.lines, start=1):
            if raw.strip():
                yield number, parse_object(raw, f"{self.source} line {number}", advice=ADVICE, nan=True)

    def _is_chosen(self, content: Row) -> bool:
        return all((text := scalar_text(content.get(name))) and text == value for name, value in self.where.items())

    def _rows(self) -> Iterator[tuple[int, ExternalVerdict]]:
        """The chosen rows with their lines."""
        kinds: dict[str, int] = {}
        for number, content in self._contents():
            if not self._is_chosen(content):
                continue
            try:
                row = ExternalVerdict.model_validate(self._with_categories(content))
            except ValidationError as error:
                raise bad_row(self.source, number, error) from None
            if row.kind:
                kinds.setdefault(row.kind, number)
            if len(kinds) > 1:
                (first, line), (second, _) = kinds.items()
                raise DataError(
                    f"{self.source} line {number}: the verdicts are {second}, those of line {line} {first}. Give "
                    "one file for each kind."
                )
            yield number, row

    def _with_categories(self, content: Row) -> Row:
        """The row with the categories of all rows, where they name any."""
        try:
            categories = self.facts.categories
        except ValueError as error:
            raise DataError(f"{self.source}: {error}") from None
        return {**content, "categories": list(categories)} if categories else content

    def _judged(self, number: int, row: ExternalVerdict) -> Judged:
        try:
            return judged_row(row, self.facts)
        except ValueError as error:
            raise bad_row(self.source, number, error) from None

    def _check_same(self, chosen: Names, names: Names) -> None:
        for name, value, other in zip(NAMES, chosen, names, strict=True):
            if value != other:
                raise DataError(
                    f"{self.source}: holds verdicts of {name} {value!r} and {other!r}. Give --where {name}={other!r}, "
                    f"or name one as in FILE.jsonl:{name}={other}"
                )


def read_external_verdicts(path: Path, where: Mapping[str, str] | None = None) -> Iterator[Judged]:
    """The verdicts of a file, as `ExternalVerdicts` reads them."""
    return iter(ExternalVerdicts.of_file(path, where))
