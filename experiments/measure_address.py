"""Any figure of an evaluation by its address, with its interval and n where it has them.

accuracy                          a measure of any section by its name
accuracy (*)                      every measure whose name fits, as that of each aspect
accuracy[subset=hard]             the main figure of one value of a field, as `--require` writes it
strata.hard.accuracy              a path in the JSON of `dicast evaluate`: fields, and members of lists by name
branches[n=3].measures.accuracy   a member of a list by another field
usage.calls                       a plain number; it has no interval
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from pydantic import BaseModel

from ..evaluation.results import Evaluation, Measure

NAMES = ("name", "label", "system", "field", "value", "n", "threshold", "whose", "low")  # what a member goes by
IMPLIED = ("measures", "figure", "accuracy")  # left out of a path between a member of a list and its figure
SEGMENT = re.compile(r"([^.\[\]]+)?(?:\[([^=\]]+)=([^\]]*)\])?")
SUBGROUP = re.compile(r"([^.\[\]]+)\[([^=\[\]]+)=([^\[\]]*)\]")
MOST_NEAR = 3


def fields_of(address: str) -> tuple[str, ...]:
    """The fields of the cases that an evaluation must be computed by to have this figure."""
    match = SUBGROUP.fullmatch(address)
    return (match[2],) if match and match[1] not in Evaluation.model_fields else ()


def figures_at(evaluation: Evaluation, address: str) -> tuple[Measure, ...]:
    """The figures at an address; none where the evaluation has no such figure."""
    named = evaluation.measure(address)
    if named is not None:
        return (named,)
    if "*" in address and "[" not in address:
        return tuple(measure for measure in _measures(evaluation) if fnmatchcase(measure.name, address))
    figure = _of_subgroup(evaluation, address) if fields_of(address) else _at_path(evaluation, address)
    return () if figure is None else (figure,)


def near_names(evaluation: Evaluation, address: str) -> list[str]:
    """Names of figures that the evaluation has, the most similar first."""
    names = [measure.name for measure in _measures(evaluation)]
    head = address.partition("[")[0]
    close = get_close_matches(address, names, n=MOST_NEAR) or get_close_matches(head, names, n=MOST_NEAR)
    is_path = "." in address or "[" in address
    return close or (get_close_matches(head.partition(".")[0], list(Evaluation.model_fields), n=1) if is_path else [])


def _measures(evaluation: Evaluation) -> Iterator[Measure]:
    return (measure for section in evaluation.sections.values() for measure in section)


def _of_subgroup(evaluation: Evaluation, address: str) -> Measure | None:
    match = SUBGROUP.fullmatch(address)
    if match is None or evaluation.subgroups is None:
        return None
    name, field, value = match.groups()
    rows = (row for table in evaluation.subgroups.tables if table.field == field for row in table.rows)
    return next((row.figure for row in rows if row.value == value and row.figure.name == name), None)


def _at_path(evaluation: Evaluation, address: str) -> Measure | None:
    """Follow a path; a measure at its end stays one, a number becomes one without an interval."""
    node: Any = evaluation
    for segment in re.split(r"\.(?![^\[]*\])", address):
        match = SEGMENT.fullmatch(segment)
        if match is None:
            return None
        name, key, value = match.groups()
        if name:
            node = _member(node, name)
        if key:
            node = _chosen(node, key, value)
        if node is None:
            return None
    return _as_measure(node, address, evaluation)


def _member(node: Any, name: str) -> Any:
    if isinstance(node, dict):
        return node.get(name)
    if isinstance(node, list | tuple):
        return next((item for item in node if _goes_by(item, name)), None)
    if not isinstance(node, BaseModel):
        return None
    if name in type(node).model_fields:
        return getattr(node, name)
    parts = (_member(getattr(node, part), name) for part in IMPLIED if isinstance(getattr(node, part, None), tuple))
    return next((part for part in parts if part is not None), None)


def _goes_by(item: Any, name: str) -> bool:
    key = next((getattr(item, field) for field in NAMES if field in getattr(type(item), "model_fields", {})), None)
    return _text(key) == name


def _chosen(node: Any, key: str, value: str) -> Any:
    if not isinstance(node, list | tuple):
        return None
    return next((item for item in node if _text(getattr(item, key, None)) == value), None)


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _as_measure(figure: Any, address: str, evaluation: Evaluation) -> Measure | None:
    if isinstance(figure, Measure):
        return figure
    if isinstance(figure, bool) or not isinstance(figure, int | float):
        return None
    return Measure(name=address, value=float(figure), n=evaluation.cases, description="of the whole run")
