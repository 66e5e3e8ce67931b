"""Probabilities of names and their logarithms."""

import math
from collections.abc import Mapping, Sequence

from ..data import Finding
from .aggregate import FLOOR


def mean_logs(findings: Sequence[Finding], categories: Sequence[str]) -> dict[str, float]:
    """The mean log-probability of each category, by weight."""
    total = math.fsum(finding.weight for finding in findings)
    return {
        name: math.fsum(f.weight * math.log(max((f.distribution or {}).get(name, 0.0), FLOOR)) for f in findings)
        / total
        for name in categories
    }


def normalised(logs: Mapping[str, float]) -> dict[str, float]:
    """Probabilities in proportion to the exponentials, of sum 1."""
    top = max(logs.values())
    masses = {name: math.exp(value - top) for name, value in logs.items()}
    total = math.fsum(masses.values())
    return {name: mass / total for name, mass in masses.items()}
