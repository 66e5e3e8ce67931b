"""The training record of a judge file: what the judge was compiled on, what it cost, and its test results."""

from collections.abc import Mapping
from typing import Any

from ..evaluation.drift import accuracy_record
from .certificates.certificate import Certificate
from .cost_account import TotalCost
from .result import JudgeOnTest, Result

SECTIONS = ("agreement", "correlation")  # of an evaluation: what the record keeps of it


def training_record(
    result: Result | None, certificate: Certificate | None, *, origin: Mapping[str, Any], spent: TotalCost
) -> dict[str, Any]:
    """The record as JSON; `dicast show` and `dicast check` read it.

    Args:
        result: None for a judge whose compilation stopped before the test; its outcome is then "untested".
        origin: sizes of the parts, digest of the cases, seed.
        spent: by the whole compilation.
    """
    record = {**origin, "spent": spent.model_dump(mode="json")}
    if result is None:
        return {**record, "outcome": "untested", "summary": "the compilation was stopped before the test"}
    return {
        "before": accuracy_record(result.uncompiled.evaluation),
        "after": accuracy_record(result.compiled.evaluation),
        "objective": result.objective,
        "outcome": result.outcome,
        "summary": result.summary,
        **record,
        "test": {judge.name: _measures(judge) for judge in result.judges},
        "baselines": [measure.model_dump(mode="json") for measure in result.reference_measures],
        "certificate": certificate.model_dump(mode="json") if certificate else None,
    }


def _measures(judge: JudgeOnTest) -> dict[str, Any]:
    measures = (measure for name in SECTIONS for measure in judge.evaluation.sections.get(name, ()))
    return {
        "measures": {measure.name: measure.model_dump(mode="json") for measure in measures},
        "calls": judge.calls,
        "tokens": judge.tokens,
    }
