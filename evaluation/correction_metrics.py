"""Whether rewritten texts are better: scores before and after (Fennec, arXiv 2405.12163, section 4).

Both scores are the same judge's, each text judged alone. Texts were chosen for their low scores, so a part of any gain
is regression to the mean: without a judge of its own the gain is an upper bound.
"""

from dataclasses import dataclass, field
from typing import Any

from ..data import Verdict
from ..stats.proportions import Mean, Proportion


@dataclass
class Corrections:
    """Counts over the corrections of verdicts; `texts` counts those that were not judged anew as well."""

    texts: int = 0
    better: int = 0
    before: Mean = field(default_factory=Mean)
    after: Mean = field(default_factory=Mean)

    def add(self, verdict: Verdict) -> None:
        for correction in verdict.corrections:
            self.texts += 1
            if correction.before is not None and correction.after is not None:
                self.before.add(correction.before)
                self.after.add(correction.after)
                self.better += correction.after > correction.before

    @property
    def improved(self) -> Proportion:
        """The share of the texts judged anew that score higher than before."""
        return Proportion(self.better, self.after.n)

    def as_dict(self) -> dict[str, Any]:
        """Empty when nothing was corrected."""
        if not self.texts:
            return {}
        means = {"before": self.before.value, "after": self.after.value} if self.after.n else {}
        return {"texts": self.texts, **means, "improved": self.improved.as_dict()}
