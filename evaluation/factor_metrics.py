"""What a person's profile does to a guideline, and whether the weights explain the right answer (PREF, 2508.10028).

Augmentation: how many factors the profile added, and how many of the added ones are exclusions, found by keyword. The
intervals take factors for independent; those of one guideline are not quite, so the true ones are somewhat wider.

Explanation check: each general factor's weight by the person's preference against its weight by the data set's own
explanation of the right answer, as Pearson, Spearman and Kendall's tau-b. It is told for the factors of all guidelines
in one list, and as the mean over guidelines, where one with constant weights or under 3 such factors has no correlation
and is left out and counted. The paper gives one figure each and, as far as we know, does not say which of the two.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..data import Finding, Verdict
from ..stats.proportions import Mean, Proportion, correlations, known

EXCLUSION = re.compile(
    r"""\b(?: avoid\w* | without | no | not(?!\ (?:only|just|merely)\b) | never | none | nothing | neither | nor
          | cannot | \w+n['’]t | exclud\w* | exclusions? | omit\w* | refrain\w* | free\ (?:of|from) | \w+-free | non-\w+
          )\b""",
    re.IGNORECASE | re.VERBOSE,
)


def is_exclusion(factor: Finding) -> bool:
    """Whether a factor asks to leave something out, by its name and test.

    Its reason is not read: that tells of the person ("does not eat fish") also where the factor itself is an addition.

    Example:
        >>> is_exclusion(Finding(criterion="Avoid seafood")), is_exclusion(Finding(criterion="Notable detail"))
        (True, False)
    """
    return EXCLUSION.search(f"{factor.criterion} {factor.guideline}") is not None


@dataclass
class Factors:
    """Counts over guidelines: one a verdict, or for a panel one a member; verdicts without factors are passed over."""

    guidelines: int = 0
    factors: int = 0
    added: int = 0
    excluding: int = 0  # of the added ones
    left_out: int = 0  # guidelines with explained weights that have no correlation
    weights: Counter[tuple[float, float]] = field(default_factory=Counter, repr=False)  # (preference, explanation)
    means: dict[str, Mean] = field(default_factory=dict, repr=False)

    def add(self, verdict: Verdict) -> None:
        for guideline in guidelines(verdict):
            added = [factor for factor in guideline if factor.added]
            self.guidelines += 1
            self.factors += len(guideline)
            self.added += len(added)
            self.excluding += sum(map(is_exclusion, added))
            weights = [
                (f.weight, f.explained_weight) for f in guideline if f.explained_weight is not None and not f.added
            ]
            if weights:
                self._correlate(weights)

    def _correlate(self, weights: list[tuple[float, float]]) -> None:
        self.weights.update(weights)
        values = known(correlations(weights))
        self.left_out += not values
        for name, value in values.items():
            self.means.setdefault(name, Mean()).add(value)

    @property
    def added_each(self) -> float:
        """Added factors a guideline; NaN without any guideline."""
        return self.added / self.guidelines if self.guidelines else math.nan

    @property
    def share_added(self) -> Proportion:
        """Of all factors."""
        return Proportion(self.added, self.factors)

    @property
    def exclusions(self) -> Proportion:
        """Of the added factors."""
        return Proportion(self.excluding, self.added)

    def pooled(self) -> dict[str, float]:
        """The correlations over the factors of all guidelines; empty under 3, NaN when either side is constant."""
        return correlations(self.weights.elements())

    def as_dict(self) -> dict[str, Any]:
        """Empty when nothing was counted."""
        if not self.guidelines:
            return {}
        told = {"guidelines": self.guidelines, "factors": self.factors, "added_each": self.added_each}
        shares = {"share_added": self.share_added.as_dict(), "exclusions": self.exclusions.as_dict()}
        if not self.weights:
            return told | shares
        explained = {
            "factors": self.weights.total(),
            "pooled": known(self.pooled()),
            "mean": {name: mean.as_dict() for name, mean in self.means.items()},
            "left_out": self.left_out,
        }
        return told | shares | {"explained": explained}


def guidelines(verdict: Verdict) -> Iterator[list[Finding]]:
    """The factors of a verdict, guideline by guideline."""
    factors = [finding for finding in verdict.findings if finding.is_factor]
    for member in dict.fromkeys(factor.member for factor in factors):
        yield [factor for factor in factors if factor.member == member]
