"""The scales of judgments, as types of outputs, with the words that name their levels in the probability readout."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal


@dataclass(frozen=True)
class ReadAs:
    """Names the levels of a scale, lowest first, or the options of a choice, for the probability readout."""

    names: tuple[str, ...]


LEVELS = ReadAs(("very poor", "poor", "fair", "good", "excellent"))
STARS = ReadAs(("1 star", "2 stars", "3 stars", "4 stars", "5 stars"))
OneToFive = Annotated[Literal[1, 2, 3, 4, 5], LEVELS]
OneToFiveStars = Annotated[Literal[1, 2, 3, 4, 5], STARS]
OneToTen = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]  # without names: beside names, small models pass over a history
ZeroToTen = Annotated[Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], LEVELS]  # read on five levels

if TYPE_CHECKING:
    Percent = int
    Certainty = int
else:  # DSPy enforces a Literal, and no bounds of an int
    Percent = Literal[tuple(range(101))]
    Certainty = Literal[tuple(range(1, 101))]
