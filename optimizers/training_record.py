"""The training record of a judge file: where the judge comes from, and what the test part showed."""

from collections.abc import Mapping
from typing import Any

from ..evaluation.results import Measure
from .certificates.certificate import Certificate
from .cost_account import Spent
from .result import COMPILED, UNCOMPILED, Result, Row

SHOWN = ("agreement", "correlation")  # sections of an evaluation


def training_record(
    tested: Result | None, certificate: Certificate | None, *, origin: Mapping[str, Any], spent: Spent
) -> dict[str, Any]:
    """What `dicast show` and `dicast check` read, as JSON.

    Args:
        tested: None for a judge that was stopped before its test; its outcome is then "untested".
        origin: parts, digest of the cases, seed.
        spent: on the whole compilation.
    """
    told = {**origin, "spent": spent.model_dump(mode="json")}
    if tested is None:
        return {**told, "outcome": "untested", "told": "the compilation was stopped before the test"}
    return {
        "before": _accuracy(tested.row(UNCOMPILED)),
        "after": _accuracy(tested.row(COMPILED)),
        "objective": tested.objective,
        "outcome": tested.outcome,
        "told": tested.told,
        **told,
        "test": {row.name: _told(row) for row in tested.rows},
        "baselines": [one.model_dump(mode="json") for one in tested.baselines],
        "certificate": certificate.model_dump(mode="json") if certificate else None,
    }


def _told(row: Row) -> dict[str, Any]:
    figures: list[Measure] = [one for name in SHOWN for one in row.evaluation.sections.get(name, ())]
    shown = {one.name: one.model_dump(mode="json") for one in figures}
    return {"figures": shown, "calls": row.calls, "tokens": row.tokens}


def _accuracy(row: Row) -> dict[str, Any] | None:
    """Hits and n of the test part, with the interval; None for judges of scores."""
    figure = row.evaluation.measure("accuracy")
    if figure is None or figure.value is None:
        return None
    return {"hits": round(figure.value * figure.n), "n": figure.n, "low": figure.low, "high": figure.high}
