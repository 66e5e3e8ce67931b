"""The verdict of a category from findings: distributions over the categories, combined by weight.

    mean   log-probabilities are averaged by weight, over the readings of a criterion and over criteria (a logarithmic
           opinion pool, Genest & Zidek 1986); of yes-no criteria that is the weighted mean of the log-odds
    all    of two categories: each criterion must hold, so the one with the lowest odds of the positive category decides

Equal categories give the first of them, which of two is the negative one.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..data import Case, Finding, Verdict
from .judge import rationale_of
from .probabilities import mean_logs, normalised

Combine = Literal["mean", "all"]
COMBINES: tuple[Combine, ...] = ("mean", "all")


def category_verdict(case: Case, findings: Sequence[Finding], *, combine: Combine = "mean") -> Verdict:
    """The verdict that findings with distributions over the case's categories give."""
    fields = combined(findings, case.categories, combine)
    return Verdict(case_id=case.id, findings=tuple(findings), rationale=rationale_of(findings), **fields)


def combined(findings: Sequence[Finding], categories: Sequence[str], combine: Combine = "mean") -> dict[str, Any]:
    """Category, distribution and certainty.

    Example:
        >>> said = [Finding(criterion=c, distribution={"fail": 1 - p, "pass": p}) for c, p in (("x", 0.9), ("y", 0.4))]
        >>> combined(said, ("fail", "pass"))["category"], combined(said, ("fail", "pass"), "all")["category"]
        ('pass', 'fail')
    """
    by_criterion: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.distribution and not finding.is_factor:
            by_criterion[finding.criterion].append(finding)
    logs = [mean_logs(readings, categories) for readings in by_criterion.values()]
    weights = [math.fsum(finding.weight for finding in readings) for readings in by_criterion.values()]
    if combine == "all":
        negative, positive = categories
        logs, weights = [min(logs, key=lambda said: said[positive] - said[negative])], [1.0]
    total = math.fsum(weights)
    pooled = {name: math.fsum(w * said[name] for w, said in zip(weights, logs, strict=True)) / total
              for name in categories}  # fmt: skip
    return category_of(normalised(pooled))


def category_of(shares: Mapping[str, float]) -> dict[str, Any]:
    """The fields of a verdict with these probabilities: the first of the most probable categories."""
    category = max(shares, key=lambda name: shares[name])
    return {"category": category, "distribution": dict(shares), "certainty": min(shares[category], 1.0)}
