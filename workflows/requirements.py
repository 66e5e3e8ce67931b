"""Requirements on a measure, such as accuracy >= 0.7: the whole 95 % interval decides.

Without an interval nothing is decided, however good the value looks: nobody knows how far it is from the truth. Costs
are counts of the run itself and not estimates, so that their value decides.
"""

import math
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ..errors import RunError
from ..evaluation.results import Evaluation, Measure
from ..stats.jackknife import LEAST

MOST_NEEDED = 1e6  # cases; of more no number is said
COUNTED = "cost"  # the section of measures that are counts and not estimates
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

    @property
    def subgroup(self) -> tuple[str, str, str] | None:
        """Measure, field and value of NAME[FIELD=VALUE], as in accuracy[subset=hard]; None for any other name."""
        match = re.fullmatch(r"(.+?)\s*\[\s*([^=\]]+?)\s*=\s*(.*?)\s*\]", self.name, re.DOTALL)
        return (match[1], match[2], match[3]) if match else None

    def check(self, evaluation: Evaluation) -> "CheckedRequirement":
        """Whether a run meets the requirement; one on a subgroup needs its field in `by` of the evaluation.

        Raises:
            RunError: the run has no such measure, or no case with the subgroup's value.
        """
        measure = self._measure(evaluation)
        if measure.value is None:
            return CheckedRequirement(self, "inconclusive", f"cannot be decided: {_undefined(measure)}")
        low, high, value = measure.low, measure.high, self.value
        if measure in evaluation.sections.get(COUNTED, ()):
            low = high = measure.value
        if low is None or high is None:
            text = f"cannot be decided: {measure.value:.3f} has no interval, as {_no_interval(measure)}"
            return CheckedRequirement(self, "inconclusive", text)
        if not self.at_least:
            low, high, value = -high, -low, -value
        if low >= value:
            return CheckedRequirement(self, "holds", "holds")
        if high < value:
            return CheckedRequirement(self, "fails", "does not hold")
        interval = f"{measure.value:.3f} [{measure.low:.3f}, {measure.high:.3f}]"
        text = f"cannot be decided from these labels: {interval}{_what_would_decide(measure, self.value)}"
        return CheckedRequirement(self, "inconclusive", text)

    def _measure(self, evaluation: Evaluation) -> Measure:
        if self.subgroup is not None and evaluation.measure(self.name) is None:
            return self._measure_of_subgroup(evaluation, *self.subgroup)
        measure = evaluation.measure(self.name)
        if measure is None:
            names = [other.name for section in evaluation.sections.values() for other in section]
            close = get_close_matches(self.name, names, n=1)
            advice = f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(names)}."
            raise RunError(f"--require {self.name}: the run has no such measure. {advice}")
        return measure

    def _measure_of_subgroup(self, evaluation: Evaluation, name: str, field: str, value: str) -> Measure:
        tables = evaluation.subgroups.tables if evaluation.subgroups else ()
        rows = [row for table in tables if table.field == field for row in table.rows]
        if not rows:
            raise RunError(f"--require {self.name}: no figures by {field} were computed. Give --by {field} too.")
        row = next((row for row in rows if row.value == value), None)
        if row is None:
            values = ", ".join(sorted(row.value for row in rows))
            raise RunError(f"--require {self.name}: no case has {field}={value}. The values of {field}: {values}.")
        if row.figure.name != name:
            raise RunError(f"--require {self.name}: the measure by {field} is {row.figure.name}. Give that.")
        return row.figure

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {self.value:g}"


@dataclass(frozen=True)
class CheckedRequirement:
    """A requirement with its outcome, and the outcome in words."""

    requirement: Requirement
    outcome: Outcome
    text: str


def _what_would_decide(measure: Measure, limit: float) -> str:
    """How many cases more, or groups, end the interval at the limit if the value stays as it is; empty: not known.

    The distance from the value to the end of the interval on the limit's side is what must shrink to the limit: of a
    proportion in units of its standard deviation there (Wilson 1927), so that a lopsided interval is no trap.
    """
    value, end = measure.value, measure.low
    if value is None or end is None or measure.high is None or value == limit:
        return ""
    if limit > value:
        end = measure.high

    def squared(bound: float) -> float:
        of_proportion = measure.kind == "proportion" and measure.null_value is None
        variance = bound * (1 - bound) if of_proportion else 1.0
        return (value - bound) ** 2 / variance if variance > 0 else math.inf

    sizes, unit = (measure.n, "case") if measure.groups is None else (measure.groups, "group")
    needed = sizes * squared(end) / squared(limit) if squared(limit) else math.inf
    if needed > MOST_NEEDED:
        return ""
    more = max(1, math.ceil(needed) - sizes)
    return f"; if the value stays so, about {more:,} {unit}{'s' * (more > 1)} more would decide it"


def _undefined(measure: Measure) -> str:
    note = "" if measure.note == "not defined on these cases" else measure.note
    return f"{measure.name} is not defined on these cases{f' ({note})' if note else ''}"


def _no_interval(measure: Measure) -> str:
    """Why a measure has no interval."""
    if (measure.groups or measure.n) == 1:
        problem = "it is a single case" if measure.n == 1 else f"all its {measure.n:,} cases are of one group"
        return f"{problem}; more groups would give it one"
    if measure.freedom + 1 < LEAST:
        return f"one of its {measure.groups:,} groups holds nearly all cases; more groups would give it one"
    return measure.note or "this measure has none, or too little varies between the groups"
