"""The scales that judgments stand on: as types of written answers, and as levels of those read from probabilities."""

from typing import TYPE_CHECKING, Literal

LEVELS = ("very poor", "poor", "fair", "good", "excellent")
STARS = ("1 star", "2 stars", "3 stars", "4 stars", "5 stars")
TEN = (
    "hates it", "very bad", "bad", "weak", "below average", "average", "decent", "good", "very good", "loves it",
)  # fmt: skip
OneToFive = Literal[1, 2, 3, 4, 5]
OneToTen = Literal[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

if TYPE_CHECKING:
    Percent = int
    Certainty = int
else:  # DSPy enforces a Literal, and no bounds of an int
    Percent = Literal[tuple(range(101))]
    Certainty = Literal[tuple(range(1, 101))]
