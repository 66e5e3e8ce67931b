"""What identifies a run: everything that changes its verdicts, by name, in the manifest of its folder.

A run is continued where its identity is equal. Every verdict carries two short digests: of its case as it was read, and
of the judge's part of the identity, so that lines of another run are noticed.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

OF_JUDGE = ("judge", "settings", "models", "learned", "fitted_cases")  # the names that `judge_digest` covers
OF_CASES = ("data", "fields", "scale", "layout")  # how cases were read; verdicts with digests are compared one by one
ADDED_LATER = ("models", "fitted_cases", "fields", "scale", "layout")  # names that manifests of earlier versions lack


class Difference(NamedTuple):
    """One name with another value; nested names have dots, as in settings.order."""

    name: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} = {self.before!r}, now it is {self.now!r}"


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    """What differs between two identities; what an earlier version did not record is passed over."""
    later = [name for name in ADDED_LATER if name not in before]
    then, present = _flat(before), _flat({name: value for name, value in now.items() if name not in later})
    for name in then | present:
        values = [None if _is_absent(value) else value for value in (then.get(name), present.get(name))]
        if values[0] != values[1]:
            yield Difference(name, then.get(name), present.get(name))


def merged(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The identity of a run that is continued: as it was, with new names, and with how the cases are read now."""
    return {**now, **before, **{name: now[name] for name in OF_CASES if name in now}}


def is_complete(identity: Mapping[str, Any]) -> bool:
    """Whether the identity is of this version, so that it names the models that answered."""
    return "models" in identity


def judge_digest(identity: Mapping[str, Any]) -> str:
    """Twelve hex digits of judge, settings and models, which every verdict of the run carries."""
    part = {name: identity[name] for name in OF_JUDGE if identity.get(name)}
    text = json.dumps(part, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_absent(value: Any) -> bool:
    """Whether the value means the same as a missing name."""
    return value is None or value is False or value in ({}, [])


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The values of nested mappings by dotted name, as JSON returns them."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        is_nested = isinstance(value, Mapping) and bool(value)
        flat |= _flat(value, f"{prefix}{name}.") if is_nested else {f"{prefix}{name}": json.loads(json.dumps(value))}
    return flat
