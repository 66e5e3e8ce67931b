"""Fingerprints of labelled cases: a judge file says with them on which cases the judge was compiled."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..data import Case
from ..data.text_digest import case_text_digest

NORMALISED = (
    "texts"  # the first word of fingerprints by normalised texts; files of earlier versions begin with a digest
)

EXACT = 12  # hex digits of a fingerprint of an earlier version


def digest(values: Mapping[str, Any]) -> str:
    """Twelve hex digits, different for different values."""
    return hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:12]


def digest_of(cases: Iterable[Case]) -> str:
    """SHA-256, in hex, of labelled cases in their order."""
    text = "\n".join(case.model_dump_json() for case in cases)
    return hashlib.sha256(text.encode()).hexdigest()


def case_fingerprints(cases: Sequence[Case], *earlier: object) -> str:
    """The fingerprints that a judge file stores, in a line: "texts", then the `case_text_digest` of each case.

    Args:
        earlier: fingerprints of the judge files that the judge comes from; their cases are seen as well. Those of an
            earlier version stay as they are, which their length shows. Anything but a text has no cases.
    """
    stored = {word for words in earlier if isinstance(words, str) for word in words.split()[1:]}
    return " ".join([NORMALISED, *sorted({*map(case_text_digest, cases), *stored})])


def count_of(fingerprints: str) -> int | None:
    """The number of distinct cases; None of an earlier version's, where it is not known."""
    first, *by_case = fingerprints.split() or [""]
    return len(by_case) if first == NORMALISED else None


def exclude_seen(cases: Sequence[Case], fingerprints: object) -> list[Case]:
    """The cases that are not among those of the fingerprints, whatever their order, ids and labels.

    A case with the same texts is the same case, also where case, white space or compatibility characters differ; by the
    fingerprints of an earlier version only where no character differs.

    Args:
        fingerprints: as a judge file stores them; anything but a text means that nothing is known, so all cases stay.
    """
    if isinstance(fingerprints, str) and digest_of(cases) == fingerprints.partition(" ")[0]:
        return []
    is_seen = seen_before(fingerprints)
    return [case for case in cases if not is_seen(case)]


def seen_before(fingerprints: object) -> Callable[[Case], bool]:
    """Whether a case is among those of the fingerprints; arguments as of `exclude_seen`."""
    first, *by_case = fingerprints.split() if isinstance(fingerprints, str) and fingerprints else [""]
    exact = frozenset(word for word in by_case if first != NORMALISED or len(word) == EXACT)
    normalised = frozenset(by_case) - exact
    return lambda case: (
        (bool(normalised) and case_text_digest(case) in normalised)
        or (bool(exact) and _exact_fingerprint(case) in exact)
    )


def text_digests(fingerprints: object) -> frozenset[str]:
    """The `case_text_digest`s among fingerprints; none of an earlier version's, or of anything but a text."""
    first, *by_case = fingerprints.split() if isinstance(fingerprints, str) and fingerprints else [""]
    return frozenset(word for word in by_case if first == NORMALISED and len(word) != EXACT)


def _exact_fingerprint(case: Case) -> str:
    """Twelve hex digits of what a judge sees of a case, its candidates in either order; as earlier versions wrote."""
    context = case.model_dump_json(include={"query", "history", "profile", "aspect"})
    return digest({"about": context, "texts": sorted(candidate.text for candidate in case.candidates)})
