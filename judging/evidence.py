"""Scores as evidence: one reading per candidate, and the readings of all candidates as one finding."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..data import Finding


@dataclass(frozen=True)
class ScoreReading:
    """A score on the judge's scale; the levels' probabilities and the mass read when it was read from a token."""

    score: float
    levels: tuple[float, ...] = ()
    mass_read: float | None = None
    explanation: str = ""


def expected_level(score: Any) -> float:
    """A Score's mean level on the scale 1, 2, ... (DSPy counts levels from 0)."""
    return float(score.value) + 1


def levels_of(score: Any) -> tuple[float, ...]:
    """A Score's probabilities, lowest level first."""
    return tuple(score.probabilities[level] for level in range(len(score.probabilities)))


def rescaled(score: float, from_: tuple[float, float], to: tuple[float, float]) -> float:
    """The score moved linearly from one scale to another."""
    return to[0] + (score - from_[0]) * (to[1] - to[0]) / (from_[1] - from_[0])


def mean_reading(readings: Sequence[ScoreReading]) -> ScoreReading:
    """The mean of several readings of one candidate, with all their explanations."""
    return ScoreReading(
        score=math.fsum(reading.score for reading in readings) / len(readings),
        explanation=" | ".join(reading.explanation for reading in readings if reading.explanation),
    )


def side_by_side(criterion: str, readings: Sequence[ScoreReading], *, guideline: str = "") -> Finding:
    """The finding of one reading per candidate."""
    explanations = [f"({_name(i, len(readings))}) {r.explanation}" for i, r in enumerate(readings) if r.explanation]
    return Finding(
        criterion=criterion,
        guideline=guideline,
        scores=tuple(reading.score for reading in readings),
        levels=tuple(reading.levels for reading in readings) if all(r.levels for r in readings) else None,
        mass_read=min((r.mass_read for r in readings if r.mass_read is not None), default=None),
        explanation=" ".join(explanations) if len(readings) > 1 else readings[0].explanation,
    )


def _name(index: int, count: int) -> str:
    return "ab"[index] if count == 2 else str(index)
