"""Which addresses can be a figure of an evaluation at all, known from the names that metrics declare."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any, get_args

from pydantic import BaseModel

from ..errors import DeclarationError
from ..evaluation.metric import usable_metrics
from ..evaluation.renamed_measures import current_name
from ..evaluation.results import Evaluation
from ..stats.association import STRATA
from .measure_address import SEGMENT, SUBGROUP, fields_of

OF_TEXTS = ("bleu", "bleu_sentence", "rouge[12L]", "bertscore_*", "bartscore_*")  # of the option `texts`
OF_SUBGROUPS = ("accuracy", "spearman")  # the main figure of a value of a field
MOST_NEAR = 3
BETWEEN = re.compile(r"\.(?![^\[]*\])")  # segments of a path


def check_addresses(addresses: Iterable[str], who: str) -> None:
    """Raises DeclarationError for an address that no evaluation has a figure at, whatever its cases."""
    for address in dict.fromkeys(addresses):
        if not _can_be_figure(address, allowing_undeclared=True):
            near = near_declared(address)
            advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else "See docs/experiments.md."
            raise DeclarationError(f"{who}: measure {address!r}: there is no such figure. {advice}")


def is_declared(address: str) -> bool:
    """Whether the address is of a figure by the names that metrics declare; else it may be of no figure, or of a
    metric that declares none."""
    return _can_be_figure(address, allowing_undeclared=False)


def near_declared(address: str) -> list[str]:
    """Declared names that are similar, the most similar first."""
    name = current_name(_without_aspect(BETWEEN.split(address)[-1].partition("[")[0]))
    close = get_close_matches(name, sorted({*_declared()[0], *OF_TEXTS}), n=MOST_NEAR)
    head = re.split(r"[.\[]", address)[0]
    return close or get_close_matches(head, list(Evaluation.model_fields), n=1)


def _can_be_figure(address: str, *, allowing_undeclared: bool) -> bool:
    names, all_declared = _declared()
    if fields_of(address):
        match = SUBGROUP.fullmatch(address)
        return match is not None and match[1] in OF_SUBGROUPS
    if _is_name(address, names) or _is_path(address, names):
        return True
    is_of_path = re.split(r"[.\[]", address)[0] in Evaluation.model_fields
    return allowing_undeclared and not all_declared and not is_of_path


def _declared() -> tuple[tuple[str, ...], bool]:
    """The names that metrics declare, * for any text, and whether every metric does."""
    declared = [metric.measures for metric in usable_metrics()]
    return (*(name for names in declared for name in names), *OF_TEXTS), all(declared)


def _is_name(address: str, names: Iterable[str]) -> bool:
    shown = (address, _without_aspect(address))
    return any(fnmatchcase(text, name) or fnmatchcase(name, text) for text in shown for name in names)


def _is_path(address: str, names: Iterable[str]) -> bool:
    """Whether the first segment is a field of evaluations, and the last a field there or a measure."""
    first, *others = (SEGMENT.fullmatch(segment) for segment in BETWEEN.split(address))
    if first is None or first[1] not in Evaluation.model_fields or not all(others):
        return False
    annotation = Evaluation.model_fields[first[1]].annotation
    if not others and not first[2]:
        return annotation in (int, float)
    if first[1] == "strata" and others and others[0] and _without_aspect(others[0][1] or "") not in STRATA:
        return False
    last = others[-1] if others else first
    records = _fields_below(annotation)
    if not records or last is None:  # a table of counts: its names are known from the cases alone
        return True
    return last[2] == "name" or last[1] in records or _is_name(last[1] or "", names)


def _fields_below(annotation: Any) -> set[str]:
    """The names of the fields of all records in a type, and in the types of these."""
    return {name for record in _records(annotation) for name in record.model_fields}


def _records(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from _records(field.annotation)
    for part in get_args(annotation):
        yield from _records(part)


def _without_aspect(name: str) -> str:
    return re.sub(r" \(.*\)$", "", name)
