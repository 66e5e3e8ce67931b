"""Fixed-sequence testing: ever looser thresholds, each by the averaged exact test, until one is not rejected."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...errors import DeclarationError
from ...stats.resampling import mean, proportion, quantile, wilson
from .averaged_binomial_test import binomial_cdf, critical_errors, limits, p_value, upper_limit
from .certainty_table import Accepted, CertaintyTable, ThresholdPath

START_POWER, START_COVERAGE = 0.9, 0.1  # the chance that the start is rejected, and the coverage at the start
PLANNED_POWER = 0.8
MOST_ACCEPTED = 5_000  # groups of accepted verdicts to plan for
WEIGHTING = "accepted groups"
Start = Callable[[Sequence[Accepted], float, float], int]


@dataclass(frozen=True)
class SequenceResult:
    """The test of a path of thresholds.

    Attributes:
        steps: what every step accepts.
        p: of every step.
        first: the step where the test starts.
        last: the last step that was rejected; None if none was.
        stop: the first step that was tested and not rejected; None if all were rejected.
    """

    table: CertaintyTable
    path: ThresholdPath
    steps: Sequence[Accepted]
    p: Sequence[float]
    first: int
    last: int | None
    stop: int | None
    risk: float
    delta: float

    def at(self, step: int) -> dict[str, Any]:
        """The fields that all points of a certificate's curve have."""
        accepted = self.steps[step]
        shown = {"accepted": accepted.groups, "errors": accepted.total, "coverage": accepted.coverage}
        return {**shown, "p": self.p[step]}

    def changes(self) -> Iterator[int]:
        """The steps that accept something, only the last of consecutive steps with the same counts."""
        for step, accepted in enumerate(self.steps):
            following = self.steps[step + 1] if step + 1 < len(self.steps) else None
            same = following is not None and (accepted.cases, accepted.wrong) == (following.cases, following.wrong)
            if accepted.cases and not (same and self.at(step) == self.at(step + 1)):
                yield step

    def summary(self) -> dict[str, Any]:
        """The fields that all certificates have."""
        table = self.table
        certified = None if self.last is None else self.steps[self.last]
        outcome = self._refusal() if certified is None else self._certified(certified)
        return {
            "weighting": WEIGHTING, "risk": self.risk, "delta": self.delta, "cases": table.n, "n": table.groups,
            "accepted": certified.groups if certified else 0,
            "errors": certified.total if certified else 0.0,
            "accepted_of_all": certified.cases if certified else 0,
            "errors_of_all": certified.wrong if certified else 0,
            **self._interval_of_all(), **self._coverage(), **outcome,
        }  # fmt: skip

    def _certified(self, certified: Accepted) -> dict[str, Any]:
        bound = upper_limit(certified.errors, self.risk, self.delta, single=certified.single)
        return {"bound": bound, "needed": None}

    def _refusal(self) -> dict[str, Any]:
        """What is said where nothing is certified: the disagreement at the stop, and the labels that would do."""
        none: dict[str, Any] = {"bound": None, "needed": None}
        stopped = None if self.stop is None else self.steps[self.stop]
        if stopped is None or not stopped.groups:
            return none
        low, high = limits(stopped.errors, 0.05, single=stopped.single)
        needed, needed_low = (
            None if enough is None else math.ceil(enough * self.table.groups / stopped.groups)
            for enough in (
                accepted_needed(disagreement, risk=self.risk, delta=self.delta)
                for disagreement in (stopped.total / stopped.groups, low)
            )
        )
        return none | {"needed": needed, "needed_low": needed_low, "stopped_low": low, "stopped_high": high}

    def _coverage(self) -> dict[str, float]:
        table = self.table
        decided = np.zeros(table.n, dtype=bool)
        if self.last is not None:
            decided = table.decider(self.path[self.last]) < len(self.path[self.last])
        if table.n == table.groups:
            cases = proportion(decided)
            return {"coverage": cases.value, "coverage_low": cases.low, "coverage_high": cases.high}
        groups = mean(np.bincount(table.codes, decided, table.groups) / table.sizes)
        low, high = max(0.0, groups.low), min(1.0, groups.high)
        if groups.value in (0, 1):
            low, high = wilson(groups.value, table.groups, quantile(0.95))
        return {"coverage": groups.value, "coverage_low": low, "coverage_high": high}

    def _interval_of_all(self) -> dict[str, float]:
        """The interval of the disagreement with every case weighted equally; empty where every case is alone."""
        table = self.table
        if self.last is None or table.n == table.groups:
            return {}
        taken, wrong = table.wrong(self.path[self.last])
        cases = proportion(wrong, table.codes[taken])
        return {} if math.isnan(cases.low) else {"of_all_low": cases.low, "of_all_high": cases.high}


def run_sequence(
    table: CertaintyTable,
    path: ThresholdPath,
    risk: float,
    delta: float,
    start_steps: int | None = None,
    start: Start | None = None,
) -> SequenceResult:
    """The path tested from its start to the first step that is not rejected.

    Args:
        start_steps: the start is one of so many first steps; None: any.
        start: gives the start, of the steps, risk and delta; it must not read the steps' errors. None: `start_of`.
    """
    check_levels(risk, delta)
    steps = [table.accepted(thresholds) for thresholds in path]
    critical = critical_errors([step.groups for step in steps], risk, delta).tolist()
    p = [p_value(step.errors, risk, delta, critical=most) for step, most in zip(steps, critical, strict=True)]
    first = (start or start_of)(steps[:start_steps], risk, delta)
    stop = next((step for step in range(first, len(path)) if p[step] > delta), None)
    end = len(path) if stop is None else stop
    last = end - 1 if end > first else None
    return SequenceResult(table, path, steps, p, first, last, stop, risk, delta)


def start_of(steps: Sequence[Accepted], risk: float, delta: float) -> int:
    """The step to start with, by certainties only; the last step if too few groups are accepted to reject any."""
    accepted = np.array([step.groups for step in steps])
    critical = critical_errors(accepted, risk, delta)
    if not (critical >= 0).any():
        return len(steps) - 1
    power = binomial_cdf(critical, accepted, np.array([step.predicted for step in steps]))
    enough = (power >= START_POWER) & (np.array([step.coverage for step in steps]) >= START_COVERAGE)
    return int(enough.argmax() if enough.any() else np.where(critical >= 0, power, -1.0).argmax())


@cache
def accepted_needed(disagreement: float, *, risk: float = 0.1, delta: float = 0.05) -> int | None:
    """The fewest groups with an accepted verdict that are certified with probability 0.8 at this disagreement.

    Returns:
        None if 5,000 are not enough, as for a disagreement of `risk` or more.

    Example:
        >>> accepted_needed(0.0), accepted_needed(0.05), accepted_needed(0.1)
        (29, 179, None)
    """
    if disagreement >= risk:
        return None
    for most in (MOST_ACCEPTED // 10, MOST_ACCEPTED):  # a few are usually enough, and quick to search
        accepted = np.arange(1, most + 1)
        enough = binomial_cdf(critical_errors(accepted, risk, delta), accepted, disagreement) >= PLANNED_POWER
        if enough.any():
            return int(accepted[enough.argmax()])
    return None


def check_levels(risk: float, delta: float) -> None:
    """Raise DeclarationError for a risk or a delta for which the test is not exact (see `certify`)."""
    if not (0 < risk <= 0.5 and 0 < delta <= 0.25):
        raise DeclarationError(
            f"certify: risk {risk:g}, delta {delta:g}. Give a risk in (0, 0.5] and a delta in (0, 0.25], "
            "0.1 and 0.05, say."
        )
