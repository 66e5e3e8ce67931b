"""Compare a recomputed value with the published value.

exact           equal counts, or equal to six or more printed decimals: the output of the source's program
rounds equal    equal after rounding to the printed decimals; halves may have been rounded up or to even
differs         not equal; `why` if it is known what the recorded rows give instead
not recorded    the recorded rows do not determine the value; `why` if the reason is known
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Literal, Self

from pydantic import Field

from ..data.case import Record
from ..stats.proportions import Proportion

Verdict = Literal["exact", "rounds equal", "differs", "not recorded"]
Basis = Literal["items", "aggregates"]
FULL = 6  # printed decimals from which on equality cannot be a coincidence


@dataclass(frozen=True)
class Recomputed:
    """A recomputed value of `n` recorded judgments; NaN if the recorded rows do not determine it.

    Attributes:
        hits: of a proportion; None for other values.
        why: of a value that the rows do not determine: which rows are missing.
    """

    value: float
    n: int
    hits: int | None = None
    basis: Basis = "items"
    why: str = ""

    @classmethod
    def proportion(cls, part: Proportion) -> Self:
        return cls(part.value, part.n, part.hits)

    @classmethod
    def count(cls, count: int, basis: Basis = "items") -> Self:
        return cls(count, count, basis=basis)


@dataclass(frozen=True)
class PublishedValue:
    """A published value with its printed decimals; `hits` of `n` if the source prints the counts too."""

    value: float
    decimals: int
    hits: int | None = None
    n: int | None = None


class Explanation(Record):
    """Why a published value cannot be recomputed from the recorded rows of its source."""

    recorded: float | None = Field(
        default=None, description="the value that the rows give, to the printed decimals; None: they give none"
    )
    why: str = Field(description="the reason")


class TableRow(Record):
    """One value of one table, recomputed and published."""

    table: str = Field(description="name of the table")
    name: str = Field(description="name of the value")
    recomputed: float | None = Field(description="None: the recorded rows do not determine it")
    n: int = Field(description="recorded judgments that the value is computed from")
    hits: int | None = Field(default=None, description="of a proportion")
    basis: Basis | None = Field(description="single judgments, or counts that the source printed of a run")
    published: float = Field(description="the published value")
    decimals: int = Field(description="printed decimals of the published value")
    difference: float | None = Field(description="recomputed less published")
    verdict: Verdict = Field(description="how far both values agree")
    why: str = Field(default="", description="of a value that differs or is not recorded; empty: not explained")

    @property
    def unexplained(self) -> bool:
        """Whether the value differs from the published one, or is missing, for an unknown reason."""
        return self.verdict in ("differs", "not recorded") and not self.why

    @property
    def verdict_text(self) -> str:
        """The verdict, marked if it is unexplained."""
        return f"{self.verdict}, unexplained" if self.unexplained else self.verdict


def compare(
    table: str,
    recomputed: Mapping[str, Recomputed],
    published: Mapping[str, PublishedValue],
    explained: Mapping[str, Explanation],
) -> Iterator[TableRow]:
    """A row for each published value, in the order of the source.

    An explanation is valid only while the recorded rows give its value; other differences are unexplained.
    """
    for name, printed in published.items():
        figure = recomputed.get(name, Recomputed(math.nan, 0))
        verdict = _verdict(figure, printed)
        known = explained.get(name)
        holds = (
            known is not None
            and verdict in ("differs", "not recorded")
            and _as_explained(figure, known, printed.decimals)
        )
        value = None if math.isnan(figure.value) else figure.value
        yield TableRow(
            table=table,
            name=name,
            recomputed=value,
            n=figure.n,
            hits=figure.hits,
            basis=None if value is None else figure.basis,
            published=printed.value,
            decimals=printed.decimals,
            difference=None if value is None else value - printed.value,
            verdict=verdict,
            why=known.why if known and holds else figure.why if verdict == "not recorded" else "",
        )


def _verdict(value: Recomputed, printed: PublishedValue) -> Verdict:
    if math.isnan(value.value):
        return "not recorded"
    if printed.hits is not None:
        return "exact" if (value.hits, value.n) == (printed.hits, printed.n) else "differs"
    if not rounds_to(value.value, printed.value, printed.decimals):
        return "differs"
    whole = printed.decimals == 0 and value.value == printed.value
    return "exact" if whole or printed.decimals >= FULL else "rounds equal"


def _as_explained(value: Recomputed, known: Explanation, decimals: int) -> bool:
    if known.recorded is None or math.isnan(value.value):
        return known.recorded is None and math.isnan(value.value)
    return rounds_to(value.value, known.recorded, decimals)


def rounds_to(value: float, printed: float, places: int) -> bool:
    """Whether `value` rounds to the printed value at this number of decimals; halves are rounded up, or to even.

    Example:
        >>> rounds_to(0.7185, 0.719, 3), rounds_to(0.7185, 0.718, 3), rounds_to(0.7184, 0.719, 3)
        (True, True, False)
    """
    unit = Decimal(1).scaleb(-places)
    target = Decimal(repr(float(printed))).quantize(unit)
    exact = Decimal(repr(float(value)))  # the shortest decimal: 0.7185 is a half, its nearest double is not
    return any(exact.quantize(unit, rounding) == target for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN))
