"""Drift: whether a judge still agrees with people as it did when it was compiled.

Two shares of independent cases are compared, that of the training record and that of fresh labels. The interval of
their difference is Newcombe's hybrid of Wilson's (1998, Statistics in Medicine 17, method 10). Each one-sided test at
5 %, enumerated exactly for 20 to 400 labels and accuracies of 0.5 to 0.99, errs at most 6.4 % of the time.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..errors import DeclarationError
from ..stats.proportions import Proportion
from ..stats.resampling import quantile

LEVEL = 0.9  # of the two-sided interval: each end is a one-sided test at 5 %
POWER = 0.8
MOST_LABELS = 1_000_000


@dataclass(frozen=True)
class Drift:
    """The accuracies of then and now.

    Attributes:
        margin: the loss of accuracy that would matter, in (0, 1).
    """

    then: Proportion
    now: Proportion
    margin: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise DeclarationError(f"drift: margin {self.margin} is not in (0, 1). Give 0.05, say.")

    @property
    def difference(self) -> float:
        """Of now - then, in [-1, 1]; NaN when either has no label."""
        return self.now.value - self.then.value

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of the difference, at 90 %; (-1, 1) when either has no label."""
        return _newcombe(self.now.hits, self.now.n, self.then) if self.now.n and self.then.n else (-1.0, 1.0)

    @property
    def outcome(self) -> Literal["agrees", "worse", "unknown"]:
        """`agrees`: a loss of the margin is excluded. `worse`: no loss at all is excluded. Else nothing is shown."""
        low, high = self.interval
        return "agrees" if low > -self.margin else "worse" if high < 0 else "unknown"

    def needed(self) -> int | None:
        """Fresh labels that exclude a loss of the margin with 80 % chance, should the judge agree exactly as then.

        None where the record rests on so few labels that no number of fresh ones does.
        """
        if not self.then.n:
            return None
        enough = 1
        while self._power(enough) < POWER:
            enough *= 2
            if enough > MOST_LABELS:
                return None
        few = enough // 2
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (middle, enough) if self._power(middle) < POWER else (few, middle)
        return enough

    def _power(self, n: int) -> float:
        """The chance that n fresh labels exclude a loss of the margin, at the accuracy of then."""
        from scipy.stats import binom

        if _newcombe(n, n, self.then)[0] <= -self.margin:
            return 0.0
        few, enough = -1, n  # hits; the low end rises with them
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if _newcombe(middle, n, self.then)[0] > -self.margin else (middle, enough)
        return float(binom.sf(few, n, self.then.value))

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON; the difference is None when either has no label."""
        low, high = self.interval
        return {
            "outcome": self.outcome,
            "then": self.then.as_dict(),
            "now": self.now.as_dict(),
            "difference": None if math.isnan(self.difference) else self.difference,
            "low": low,
            "high": high,
            "margin": self.margin,
            "needed": self.needed() if self.outcome == "unknown" else None,
        }


def _newcombe(hits: int, n: int, then: Proportion) -> tuple[float, float]:
    now = hits / n
    (low, high), (low_then, high_then) = _wilson(hits, n), _wilson(then.hits, then.n)
    difference = now - then.value
    return (
        difference - math.hypot(now - low, high_then - then.value),
        difference + math.hypot(high - now, then.value - low_then),
    )


def _wilson(hits: int, n: int) -> tuple[float, float]:
    z = quantile(LEVEL)
    centre, half = hits + z * z / 2, z * math.sqrt(hits * (n - hits) / n + z * z / 4)
    return max(0.0, (centre - half) / (n + z * z)), min(1.0, (centre + half) / (n + z * z))
