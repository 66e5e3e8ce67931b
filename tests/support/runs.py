"""Verdicts made by hand, and their evaluation."""

from collections.abc import Iterable
from typing import Any

from dicast.data import Judged, Scores, Winner
from dicast.evaluation import Evaluation, Measure, evaluate, run_arrays

IDENTITY = {"judge": "direct", "settings": {}, "lm": "m", "data": "0" * 64}


def distinct(verdicts: Iterable[Judged]) -> list[Judged]:
    """The verdicts with ids of their own, in their order."""
    return [verdict.model_copy(update={"case_id": f"{number:04}"}) for number, verdict in enumerate(verdicts)]


def evaluated(*verdicts: Judged, scale: tuple[float, float] | None = None, **options: Any) -> Evaluation:
    """The evaluation of verdicts as they are."""
    return evaluate(run_arrays(verdicts, scale), IDENTITY, **options)


def measure(evaluation: Evaluation, name: str) -> Measure:
    """The measure of this name, which must exist."""
    found = evaluation.measure(name)
    assert found is not None, name
    return found


def value(evaluation: Evaluation, name: str) -> float:
    """The value of the measure of this name, which must be defined."""
    number = measure(evaluation, name).value
    assert number is not None, name
    return number


def fraction(evaluation: Evaluation, name: str) -> tuple[int, int]:
    """The hits and n of a proportion."""
    proportion = measure(evaluation, name)
    assert proportion.value is not None
    return round(proportion.value * proportion.n), proportion.n


def pair(human: str | None = None, winner: str | None = None, consistent: bool | None = None, **fields: Any) -> Judged:
    label = {"value": human} if human else None
    return Judged.model_validate({"case_id": "c", "winner": winner, "consistent": consistent, "label": label} | fields)


def text(score: float | None, human: float | None, **fields: Any) -> Judged:
    label = None if human is None else Scores(values=(human,), lo=0, hi=10)
    return Judged(**{"case_id": "c", "scores": None if score is None else (score,), "label": label} | fields)


def choice(right: int, *scores: float, **fields: Any) -> Judged:
    return Judged(**{"case_id": "c", "scores": scores or None, "label": Winner(value=right)} | fields)


def unscored(human: str | None = None, reason: str = "parse_failure") -> Judged:
    return pair(human, status="unscored", reason=reason)
