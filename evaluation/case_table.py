"""What identifies the cases of a run, so that the run can be joined with another: ids, labels, groups, texts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ..data import Judged, Scores
from ..data.case import SWAPPED, Category, Label
from ..data.verdict import own_group
from ..errors import DataError

LabelValue = str | int | tuple[float, ...] | None  # a letter or category, an index, or one score per candidate


class CaseRecord(NamedTuple):
    """A case as a run has it; None and () where the run does not say."""

    id: str
    label: LabelValue = None
    group: str | None = None
    aspect: str | None = None
    lengths: tuple[int, ...] = ()
    systems: tuple[str | None, ...] = ()
    has_votes: bool = False
    digest: str = ""

    @classmethod
    def of(cls, judged: Judged) -> "CaseRecord":
        return cls(
            judged.case_id, _value(judged.label), judged.group, judged.aspect, judged.lengths, judged.systems,
            bool(judged.votes), judged.case_digest,
        )  # fmt: skip

    @property
    def item(self) -> str:
        """The group where no run names one."""
        return own_group(self.id, self.aspect)

    def swapped(self) -> "CaseRecord":
        """The same pair with its candidates exchanged; without the digest of its texts."""
        label = self.label
        if isinstance(label, str):
            label = SWAPPED.get(label, label)  # type: ignore[call-overload]
        elif isinstance(label, tuple):
            label = label[::-1]
        return self._replace(label=label, lengths=self.lengths[::-1], systems=self.systems[::-1], digest="")


@dataclass(frozen=True, eq=False)
class CaseTable:
    """The cases of a run, scored or not, in the order of their ids.

    Attributes:
        place: where a case is written, as in "file.jsonl line 3"; None: not in a file.
    """

    cases: tuple[CaseRecord, ...] = ()
    place: Callable[[str], str] | None = None

    @classmethod
    def of(cls, cases: Iterable[CaseRecord], place: Callable[[str], str] | None = None) -> "CaseTable":
        """The table of these cases; raises DataError where an id is repeated."""
        ordered = tuple(sorted(cases, key=lambda case: case.id))
        for case, following in pairwise(ordered):
            if case.id == following.id:
                raise DataError(f"verdicts: case {case.id!r} has several. Give one verdict for each case.")
        return cls(ordered, place)

    @cached_property
    def by_id(self) -> dict[str, CaseRecord]:
        return {case.id: case for case in self.cases}


def _value(label: Label | None) -> LabelValue:
    if label is None:
        return None
    if isinstance(label, Scores):
        return label.values
    return label.category if isinstance(label, Category) else label.value
