"""Drift: whether a judge still agrees with people as it did when it was compiled.

Two accuracies of independent cases are compared: that of the training record of a judge file, and that of new labels.
Both are estimates by groups, so cases of one prompt count for what they say together (`stats.two_samples`).

    recorded = read_accuracy(training record["after"])     what a judge file stores, made by `accuracy_record`
    now = accuracy_estimate(evaluate(verdicts, identity))   of new labelled cases, judged without abstention
    drift = Drift(recorded.estimate, now, margin)           drift.outcome, drift.interval, drift.labels_needed()
    Drift(..., repeated=repeated_checks(history, ...))      "worse" of all checks of the judge at most 5 % wrong

A workflow around it needs: a judge file with such a record, labelled cases that the judge was not compiled on, the
verdicts of the judge with its threshold off, and the margin. `recorded.basis` says what the record's estimate rests on
and belongs in its report.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from ..errors import DeclarationError
from ..stats.resampling import Estimate, quantile, wilson
from ..stats.two_samples import effective_n_of_interval, pooled_difference_interval
from .check_history import CheckHistory
from .results import Evaluation, Measure

LEVEL = 0.9  # of the two-sided interval: each end is a one-sided test at 5 %
POWER = 0.8
MOST_LABELS = 1_000_000
NOTHING = Estimate(math.nan, math.nan, math.nan, 0, 0)
Basis = Literal["groups", "interval", "cases"]


@dataclass(frozen=True)
class RecordedAccuracy:
    """The accuracy of a training record.

    Attributes:
        basis: what the effective sample size comes from: the record's own number by groups; the width of the recorded
            interval; or the number of cases, as if they were independent (records of earlier versions).
    """

    estimate: Estimate
    basis: Basis


@dataclass(frozen=True)
class RepeatedChecks:
    """The latest checks of a judge, taken together.

    Attributes:
        number: of the latest check; 1: the first.
        checks: how many of the latest checks are taken together: back to as many labels as the record has.
        now: the accuracy on their labels.
        level: one-sided, of the comparison with the record; those of all checks together make 5 %.
    """

    number: int
    checks: int
    now: Estimate
    level: float

    @property
    def confidence(self) -> float:
        """The level of the two-sided interval."""
        return 1 - 2 * self.level


@dataclass(frozen=True)
class Drift:
    """The accuracies of then and now.

    Attributes:
        then: of the training record, with its effective sample size.
        now: of new labels, likewise.
        margin: the loss of accuracy that would matter, in (0, 1).
        repeated: the checks of this judge so far; None: this one alone.
    """

    then: Estimate
    now: Estimate
    margin: float = 0.05
    repeated: RepeatedChecks | None = None

    def __post_init__(self) -> None:
        if not 0 < self.margin < 1:
            raise DeclarationError(f"drift: margin {self.margin} is not in (0, 1). Give 0.05, say.")

    @property
    def difference(self) -> float:
        """Accuracy now less then, in [-1, 1]; NaN when either has no label."""
        return self.now.value - self.then.value

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of the difference, at 90 %; (-1, 1) when either has no label, or only labels of one group."""
        return pooled_difference_interval(self.then, self.now, LEVEL)

    @cached_property
    def repeated_interval(self) -> tuple[float, float]:
        """Of the difference on the latest checks together, at `repeated.confidence`."""
        assert self.repeated
        return pooled_difference_interval(self.then, self.repeated.now, self.repeated.confidence)

    @property
    def outcome(self) -> Literal["agrees", "worse", "unknown"]:
        """`agrees`: a loss of the margin is excluded. `worse`: no loss at all is excluded, by the latest checks
        together where these are known. Else nothing is shown."""
        low, high = self.interval
        if low > -self.margin:
            return "agrees"
        return "worse" if (self.repeated_interval[1] if self.repeated else high) < 0 else "unknown"

    def labels_needed(self, accuracy: float | None = None) -> int | None:
        """New labels with which a loss of the margin is excluded with 80 % power, if accuracy is now this.

        They are taken to come in groups like the new ones, or, where there are none, like those of then. None where
        the record rests on so few labels that no number of new ones suffices.

        Args:
            accuracy: in [0, 1]; None: the recorded one, `then.value`.
        """
        accuracy = self.then.value if accuracy is None else accuracy
        if self.then.effective_n is None:
            return None
        enough = 1
        while self._power(enough, accuracy) < POWER:
            enough *= 2
            if enough > MOST_LABELS:
                return None
        few = enough // 2
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (middle, enough) if self._power(middle, accuracy) < POWER else (few, middle)
        return enough

    def labels_needed_range(self) -> tuple[int | None, int | None]:
        """`labels_needed` at the upper and at the lower end of the recorded accuracy's interval; None: no number is
        enough, or the record has no interval."""
        ends = self.then.high, self.then.low
        fewest, most = (None if math.isnan(end) else self.labels_needed(end) for end in ends)
        return fewest, most

    @cached_property
    def _grouping(self) -> tuple[float, float]:
        """Cases per independent case, and cases per group, of new labels."""
        like = self.now if self.now.effective_n else self.then
        assert like.effective_n
        return max(1.0, like.n / like.effective_n), like.n / (like.freedom + 1)

    def _power(self, n: int, accuracy: float) -> float:
        """The probability that n new labels exclude a loss of the margin, at this accuracy."""
        from scipy.stats import binom

        per_case, per_group = self._grouping
        groups, effective = (n, n) if per_group == 1 else (round(n / per_group), round(n / per_case))
        if effective < 1 or (per_group > 1 and groups < 2):
            return 0.0

        def excludes(hits: int) -> bool:
            now = Estimate(hits / effective, math.nan, math.nan, n, groups, float(effective))
            return pooled_difference_interval(self.then, now, LEVEL)[0] > -self.margin

        if not excludes(effective):
            return 0.0
        few, enough = -1, effective  # hits; the low end rises with them
        while enough - few > 1:
            middle = (few + enough) // 2
            few, enough = (few, middle) if excludes(middle) else (middle, enough)
        return float(binom.sf(few, effective, accuracy))

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON; the difference is None when either has no label."""
        low, high = self.interval
        unknown = self.outcome == "unknown"
        fewest, most = self.labels_needed_range() if unknown else (None, None)
        return {
            "outcome": self.outcome,
            "then": estimate_as_dict(self.then),
            "now": estimate_as_dict(self.now),
            "difference": None if math.isnan(self.difference) else self.difference,
            "low": low,
            "high": high,
            "margin": self.margin,
            "labels_needed": self.labels_needed() if unknown else None,
            "labels_needed_low": fewest,
            "labels_needed_high": most,
            "repeated": self._repeated_as_dict(),
        }

    def _repeated_as_dict(self) -> dict[str, Any] | None:
        if self.repeated is None:
            return None
        low, high = self.repeated_interval
        return {
            "number": self.repeated.number,
            "checks": self.repeated.checks,
            "now": estimate_as_dict(self.repeated.now),
            "difference": _known(self.repeated.now.value - self.then.value),
            "low": low,
            "high": high,
            "confidence": self.repeated.confidence,
        }


def repeated_checks(history: CheckHistory, record: Estimate) -> RepeatedChecks:
    """The latest checks of a judge together.

    Args:
        history: of the judge, with the check of now.
        record: the accuracy of its training record.
    """
    now, checks = history.latest(record.n)
    return RepeatedChecks(len(history.checks), checks, now, history.level(record))


def accuracy_estimate(evaluation: Evaluation) -> Estimate:
    """The accuracy of an evaluation with its effective sample size; of 0 cases where there is none."""
    measure = evaluation.measure("accuracy")
    return NOTHING if measure is None else _estimate(measure)


def accuracy_record(evaluation: Evaluation) -> dict[str, Any] | None:
    """What a training record stores of an accuracy, for `read_accuracy`; None where the evaluation has none."""
    estimate = accuracy_estimate(evaluation)
    return estimate_as_dict(estimate) if estimate.n else None


def read_accuracy(record: object) -> RecordedAccuracy | None:
    """The accuracy of a training record; None where it holds none, or impossible numbers.

    Args:
        record: as `accuracy_record` made it, or of earlier versions: hits and n, with or without low and high.
    """
    if not isinstance(record, Mapping):
        return None
    hits, n = record.get("hits"), record.get("n")
    if type(hits) is not int or type(n) is not int or not 0 <= hits <= n or not n:
        return None
    numbers = {name: record.get(name) for name in ("value", "low", "high", "effective_n")}
    value, low, high, effective_n = (_number(number) for number in numbers.values())
    groups = record.get("groups")
    if type(groups) is int and 1 <= groups <= n:
        accuracy = hits / n if math.isnan(value) else value
        effective = min(effective_n, n) if effective_n > 0 else None  # None: all cases are of one group
        equal = _number(record.get("effective_groups"))
        known = equal if 1 <= equal < groups else None  # None: groups of one size, or a record of earlier versions
        effect = _number(record.get("design_effect"))
        sizes = effective, known, effect if 0 <= effect < n else None
        return RecordedAccuracy(Estimate(accuracy, low, high, n, groups, *sizes), "groups")
    accuracy = hits / n
    if low <= accuracy <= high and 0 < high - low < 1:
        as_wide = min(effective_n_of_interval(low, high, accuracy), n)
        return RecordedAccuracy(Estimate(accuracy, low, high, n, n, as_wide), "interval")
    return RecordedAccuracy(Estimate(accuracy, *wilson(accuracy, n, quantile(0.95)), n, n, float(n)), "cases")


def estimate_as_dict(estimate: Estimate) -> dict[str, Any]:
    """A proportion for JSON, with its sample sizes and design effect; None for what is not defined."""
    if not estimate.n:
        return {"n": 0}
    return {
        "value": estimate.value,
        "low": _known(estimate.low),
        "high": _known(estimate.high),
        "hits": round(estimate.value * estimate.n),
        "n": estimate.n,
        "groups": estimate.groups,
        "effective_n": estimate.effective_n,
        "effective_groups": estimate.effective_groups,
        "design_effect": estimate.design_effect,
    }


def _estimate(measure: Measure) -> Estimate:
    value, low, high = (_number(number) for number in (measure.value, measure.low, measure.high))
    groups = measure.n if measure.groups is None else measure.groups
    sizes = measure.effective_n, measure.effective_groups, measure.design_effect
    return Estimate(value, low, high, measure.n, groups, *sizes)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
