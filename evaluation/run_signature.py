"""The signature line of a run: judge, parameters, models, n, data, seed and version (after sacrebleu)."""

from collections.abc import Mapping
from typing import Any

from .._version import __version__


def signature_line(identity: Mapping[str, Any], n: int) -> str:
    """One line for a run's `identity` (judge, settings, lm, data, seed, merge, unreadable, no_ties) of n cases."""
    structure = ",".join(f"{name}={value}" for name, value in sorted(identity["settings"].items()))
    parts = [identity["judge"], structure, f"lm={identity['lm']}", f"n={n}", f"data={identity['data'][:12]}"]
    if identity.get("seed") is not None:
        parts.append(f"seed={identity['seed']}")
    if identity.get("aspect"):
        parts.append(f"aspect={identity['aspect']}")
    parts += [f"{name}={identity[name]}" for name in ("merge", "unreadable") if identity.get(name)]
    if identity.get("no_ties"):
        parts.append("no ties")
    if identity.get("refusals"):
        parts.append(f"refusals={identity['refusals']}")
    if identity.get("not_by"):
        parts.append(f"not by {','.join(identity['not_by'])}")
    return "|".join([*filter(None, parts), f"dicast {__version__}"])
