"""Requirements on a metric, such as accuracy >= 0.7: the whole 95 % interval decides."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ..errors import RunError
from ..evaluation.results import Evaluation, Measure
from ..stats.power import labels_for_proportion

SMALLEST = 0.01  # distance for which labels are counted: their number grows with its inverse square
Outcome = Literal["holds", "fails", "inconclusive"]


@dataclass(frozen=True)
class Requirement:
    """A metric that must be at least, or at most, a value."""

    name: str
    at_least: bool
    value: float

    @classmethod
    def parse(cls, text: str) -> "Requirement":
        """A requirement from NAME>=VALUE or NAME<=VALUE; raises ValueError for other text.

        Example:
            >>> str(Requirement.parse("accuracy>=0.70"))
            'accuracy >= 0.7'
        """
        match = re.fullmatch(r"\s*(.+?)\s*(>=|<=)\s*([-+.\d]+)\s*", text)
        try:
            if match:
                return cls(match[1], match[2] == ">=", float(match[3]))
        except ValueError:
            pass
        raise ValueError(f"{text!r}: write NAME>=VALUE or NAME<=VALUE, as in accuracy>=0.7.")

    def check(self, evaluation: Evaluation) -> "CheckedRequirement":
        """Whether a run meets the requirement.

        Raises:
            RunError: the run has no such metric.
        """
        measure = evaluation.measure(self.name)
        if measure is None or measure.value is None:
            names = [other.name for section in evaluation.sections.values() for other in section]
            close = get_close_matches(self.name, names, n=1)
            advice = f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(names)}."
            raise RunError(f"--require {self.name}: the run has no such measure. {advice}")
        low = measure.value if measure.low is None else measure.low
        high = measure.value if measure.high is None else measure.high
        value = self.value
        if not self.at_least:
            low, high, value = -high, -low, -value
        if low >= value:
            return CheckedRequirement(self, "holds", "holds")
        if high < value:
            return CheckedRequirement(self, "fails", "does not hold")
        return CheckedRequirement(self, "inconclusive", "cannot be decided from these labels" + self._advice(measure))

    def _advice(self, measure: Measure) -> str:
        """The number of labels that would decide, for proportions: the interval must shrink to the distance."""
        assert measure.value is not None
        distance = abs(measure.value - self.value)
        if measure.kind != "proportion" or distance < SMALLEST:
            return ""
        needed = labels_for_proportion(min(max(measure.value, 0.0), 1.0), min(distance, 0.499))
        return f"; about {needed:,} independent labels would decide, if the value stays the same"

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {self.value:g}"


@dataclass(frozen=True)
class CheckedRequirement:
    """A requirement with its outcome, and the outcome in words."""

    requirement: Requirement
    outcome: Outcome
    text: str
