"""Fingerprints of labelled cases: a judge file says with them on which cases the judge was compiled."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..data import Case


def digest(values: Mapping[str, Any]) -> str:
    """Twelve hex digits, different for different values."""
    return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:12]


def digest_of(cases: Iterable[Case]) -> str:
    """SHA-256, in hex, of labelled cases in their order."""
    text = "\n".join(case.model_dump_json() for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()


def case_fingerprints(cases: Sequence[Case]) -> str:
    """The fingerprints that a judge file stores, in a line: `digest_of` all cases, then twelve hex digits per case."""
    return " ".join([digest_of(cases), *sorted(map(_fingerprint, cases))])


def exclude_seen(cases: Sequence[Case], fingerprints: object) -> list[Case]:
    """The cases that are not among those of the fingerprints, whatever their order, ids and labels.

    Args:
        fingerprints: as a judge file stores them; anything but a text means that nothing is known, so all cases stay.
    """
    if not isinstance(fingerprints, str):
        return list(cases)
    whole, *by_case = fingerprints.split() or [""]
    seen = set(by_case)
    return [] if digest_of(cases) == whole else [case for case in cases if _fingerprint(case) not in seen]


def _fingerprint(case: Case) -> str:
    """Twelve hex digits of what a judge sees of a case, its candidates in either order."""
    context = case.model_dump_json(include={"query", "history", "profile", "aspect"})
    return digest({"about": context, "texts": sorted(candidate.text for candidate in case.candidates)})
