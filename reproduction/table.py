"""One figure recomputed beside the figure published: the verdict is how far they agree, and why not.

exact           the same counts, or the same to six or more printed decimals: what the source's own program printed
rounds equal    the same once rounded to the decimals printed; halves may have been rounded up or to even
differs         not the same; `why` when it is known what the recorded rows give instead
not recorded    the recorded rows do not determine it; `why` alike
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
FULL = 6  # printed decimals from which on equality is no coincidence


@dataclass(frozen=True)
class Figure:
    """A figure as recomputed: of `n` recorded judgments, `hits` of them where it is a share.

    NaN says that the recorded rows do not determine it.
    """

    value: float
    n: int
    hits: int | None = None
    basis: Basis = "items"

    @classmethod
    def share(cls, part: Proportion) -> Self:
        return cls(part.value, part.n, part.hits)

    @classmethod
    def count(cls, count: int, basis: Basis = "items") -> Self:
        return cls(count, count, basis=basis)


@dataclass(frozen=True)
class Printed:
    """A figure as published; `hits` of `n` where the source prints the counts too."""

    value: float
    decimals: int
    hits: int | None = None
    n: int | None = None


class Explained(Record):
    """Why a published figure cannot be had from its own recorded rows, and what these give instead."""

    recorded: float | None = Field(default=None, description="what the rows give, to as many decimals; None: nothing")
    why: str


class Row(Record):
    """One figure of one table, recomputed and published."""

    table: str
    figure: str
    recomputed: float | None = Field(description="None: the recorded rows do not determine it")
    n: int = Field(description="recorded judgments that it is of")
    hits: int | None = Field(default=None, description="of a share")
    basis: Basis | None = Field(description="single judgments, or counts and shares that the source printed of a run")
    published: float
    decimals: int = Field(description="of the published figure, as printed")
    difference: float | None = Field(description="recomputed less published")
    verdict: Verdict
    why: str = Field(default="", description="of a figure that differs or is not recorded; empty: not explained")

    @property
    def unexplained(self) -> bool:
        """Not what was published, and nobody knows why."""
        return self.verdict in ("differs", "not recorded") and not self.why

    @property
    def told(self) -> str:
        """The verdict in words."""
        return f"{self.verdict}, unexplained" if self.unexplained else self.verdict


def compare(
    table: str,
    recomputed: Mapping[str, Figure],
    published: Mapping[str, Printed],
    explained: Mapping[str, Explained],
) -> Iterator[Row]:
    """A row a published figure, in the order of the source.

    An explanation holds only while the rows give what it says they give: other rows differ unexplained.
    """
    for name, printed in published.items():
        figure = recomputed.get(name, Figure(math.nan, 0))
        verdict = _verdict(figure, printed)
        known = explained.get(name)
        holds = (
            known is not None
            and verdict in ("differs", "not recorded")
            and _as_explained(figure, known, printed.decimals)
        )
        value = None if math.isnan(figure.value) else figure.value
        yield Row(
            table=table,
            figure=name,
            recomputed=value,
            n=figure.n,
            hits=figure.hits,
            basis=None if value is None else figure.basis,
            published=printed.value,
            decimals=printed.decimals,
            difference=None if value is None else value - printed.value,
            verdict=verdict,
            why=known.why if known and holds else "",
        )


def _verdict(figure: Figure, printed: Printed) -> Verdict:
    if math.isnan(figure.value):
        return "not recorded"
    if printed.hits is not None:
        return "exact" if (figure.hits, figure.n) == (printed.hits, printed.n) else "differs"
    if not rounds_to(figure.value, printed.value, printed.decimals):
        return "differs"
    whole = printed.decimals == 0 and figure.value == printed.value
    return "exact" if whole or printed.decimals >= FULL else "rounds equal"


def _as_explained(figure: Figure, known: Explained, decimals: int) -> bool:
    if known.recorded is None or math.isnan(figure.value):
        return known.recorded is None and math.isnan(figure.value)
    return rounds_to(figure.value, known.recorded, decimals)


def rounds_to(value: float, printed: float, places: int) -> bool:
    """Whether `value`, rounded to so many decimals, is what was printed: halves rounded up, or to even.

    Example:
        >>> rounds_to(0.7185, 0.719, 3), rounds_to(0.7185, 0.718, 3), rounds_to(0.7184, 0.719, 3)
        (True, True, False)
    """
    unit = Decimal(1).scaleb(-places)
    wanted = Decimal(repr(float(printed))).quantize(unit)
    exact = Decimal(repr(float(value)))  # the shortest decimal: 0.7185 is a half, its nearest double is not
    return any(exact.quantize(unit, rounding) == wanted for rounding in (ROUND_HALF_UP, ROUND_HALF_EVEN))
