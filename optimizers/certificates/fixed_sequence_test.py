"""Fixed-sequence testing: ever looser thresholds, each by the exact binomial, until one is not rejected."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DataError, DeclarationError
from ...stats.resampling import Groups, group_codes, proportion

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
JudgeEvidence = tuple[ArrayLike, ArrayLike]  # (n,) certainties of a judge, and (n,) whether it agrees with people
ThresholdPath = Sequence[tuple[float, ...]]  # one threshold per judge at each step

START_POWER, START_COVERAGE = 0.9, 0.1  # the chance that the start is rejected, and the coverage at the start
PLANNED_POWER = 0.8
MOST_ACCEPTED = 5_000  # verdicts to plan for
CHUNK = 1 << 22  # truth values in memory at once


@dataclass(frozen=True)
class CertaintyTable:
    """The verdicts of judges on the same cases, one per group.

    Attributes:
        certainty: (judges, n), -1 without a verdict.
        correct: (judges, n), whether the verdict equals the human label.
        population: all available cases, from which these were sampled; None if all are used.
    """

    certainty: Floats
    correct: NDArray[np.bool_]
    population: "CertaintyTable | None" = None

    @property
    def all(self) -> "CertaintyTable":
        return self.population or self

    @property
    def n(self) -> int:
        return len(self.certainty[0])

    def decider(self, thresholds: tuple[float, ...]) -> Counts:
        """(n,) the first judge that reaches its threshold; the number of judges if none does."""
        reached = self.certainty >= np.array(thresholds)[:, None]
        return np.where(reached.any(axis=0), reached.argmax(axis=0), len(thresholds))

    def counts(self, path: ThresholdPath) -> tuple[Counts, Counts, Floats]:
        """At every step of a path: the accepted verdicts, their errors, and the errors that the certainties predict."""
        most = max(1, CHUNK // self.n)
        parts = [self._counts(np.array(path[step : step + most])) for step in range(0, len(path), most)]
        accepted, errors, expected = (np.concatenate(side) for side in zip(*parts, strict=True))
        return accepted, errors, expected

    def count(self, thresholds: tuple[float, ...]) -> tuple[int, int]:
        """The accepted verdicts of one step, and their errors."""
        (accepted,), (errors,), _ = (side.tolist() for side in self.counts([thresholds]))
        return accepted, errors

    def _counts(self, thresholds: Floats) -> tuple[Counts, Counts, Floats]:
        steps, n = len(thresholds), self.n
        accepted, errors, expected = np.zeros(steps, np.int64), np.zeros(steps, np.int64), np.zeros(steps)
        left = np.ones((steps, n), dtype=bool)
        for certainty, correct, threshold in zip(self.certainty, self.correct, thresholds.T, strict=True):
            decided = left & (certainty >= threshold[:, None])
            accepted += decided.sum(axis=1)
            errors += (decided & ~correct).sum(axis=1)
            expected += decided @ (1 - certainty)
            left &= ~decided
        return accepted, errors, expected


@dataclass(frozen=True)
class SequenceResult:
    """The test of a path of thresholds.

    Attributes:
        accepted, errors, p: of every step.
        first: the step where the test starts.
        last: the last step that was rejected; None if none was.
        stop: the first step that was tested and not rejected; None if all were rejected.
    """

    table: CertaintyTable
    path: ThresholdPath
    accepted: Counts
    errors: Counts
    p: Floats
    first: int
    last: int | None
    stop: int | None
    risk: float
    delta: float

    def at(self, step: int) -> dict[str, Any]:
        return {"accepted": int(self.accepted[step]), "errors": int(self.errors[step]), "p": float(self.p[step])}

    def changes(self) -> Iterator[int]:
        """The steps that accept something, only the last of consecutive steps with the same counts."""
        for step in range(len(self.path)):
            same = step + 1 < len(self.path) and self.at(step) == self.at(step + 1)
            if self.accepted[step] and not same:
                yield step

    def summary(self) -> dict[str, Any]:
        """The fields that all certificates have."""
        n = self.table.n
        accepted, errors, bound, needed, of_all = 0, 0, None, None, (0, 0)
        if self.last is not None:
            accepted, errors = int(self.accepted[self.last]), int(self.errors[self.last])
            bound = exact_limits(errors, accepted, 2 * self.delta)[1]
            of_all = self.table.all.count(self.path[self.last])
        elif self.stop is not None:
            at_stop = int(self.accepted[self.stop])
            enough = accepted_needed(int(self.errors[self.stop]) / at_stop, risk=self.risk, delta=self.delta)
            needed = None if enough is None else math.ceil(enough * n / at_stop)
        coverage = proportion(np.arange(n) < accepted)
        return {
            "risk": self.risk, "delta": self.delta, "cases": self.table.all.n, "n": n, "accepted": accepted,
            "errors": errors, "accepted_of_all": of_all[0], "errors_of_all": of_all[1],
            "coverage": coverage.value, "coverage_low": coverage.low, "coverage_high": coverage.high,
            "bound": bound, "needed": needed,
        }  # fmt: skip


def certainty_table(stages: Sequence[JudgeEvidence], groups: Groups, seed: int) -> CertaintyTable:
    """The verdicts on one sampled case per group.

    Raises:
        DataError: see `certify`.
    """
    sides = [(np.asarray(stage[0], dtype=np.float64), np.asarray(stage[1], dtype=np.float64)) for stage in stages]
    shapes = {side.shape for pair in sides for side in pair}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise DataError(
            f"certify: sides of shapes {sorted(shapes)}. Give one certainty and one truth value for each case."
        )
    certainty, correct = (np.array(side) for side in zip(*sides, strict=True))
    known = ~np.isnan(certainty)
    if not known.any():
        raise DataError(f"certify: none of {certainty.shape[1]} cases has a certainty. Give a judge's verdicts.")
    if not ((certainty[known] >= 0) & (certainty[known] <= 1)).all():
        outside = certainty[known][(certainty[known] < 0) | (certainty[known] > 1)][0]
        raise DataError(f"certify: certainty {outside:g} is not in [0, 1]. Give probabilities, or NaN for no verdict.")
    if not np.isin(correct[known], (0, 1)).all():
        raise DataError(
            "certify: a verdict is neither right nor wrong. Give true or false for each verdict with a certainty."
        )
    codes, count = group_codes(groups, certainty.shape[1])
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=count)
    sampled = (np.random.default_rng(seed).random(count) * sizes).astype(np.int64)
    used = np.sort(order[np.cumsum(sizes) - sizes + sampled])
    if not known[:, used].any():
        raise DataError("certify: no sampled case has a certainty. Give more cases.")
    population = CertaintyTable(np.where(known, certainty, -1.0), correct == 1)
    return CertaintyTable(population.certainty[:, used], population.correct[:, used], population)


def run_sequence(
    table: CertaintyTable, path: ThresholdPath, risk: float, delta: float, start_steps: int | None = None
) -> SequenceResult:
    """The path tested from its start to the first step that is not rejected.

    Args:
        start_steps: the start is one of so many first steps; None: any.
    """
    check_levels(risk, delta)
    accepted, errors, expected = table.counts(path)
    p = _cdf(errors, accepted, risk)
    first = start_of(accepted[:start_steps], expected[:start_steps], table.n, risk, delta)
    failed = np.flatnonzero(p[first:] > delta)
    stop = first + int(failed[0]) if len(failed) else None
    end = len(path) if stop is None else stop
    last = end - 1 if end > first else None
    return SequenceResult(table, path, accepted, errors, p, first, last, stop, risk, delta)


def start_of(accepted: Counts, expected: Floats, n: int, risk: float, delta: float) -> int:
    """The step to start with, by certainties only; the last step if too few cases are accepted to reject any."""
    critical = _critical(accepted, risk, delta)
    if not (critical >= 0).any():
        return len(accepted) - 1
    power = _cdf(critical, accepted, expected / np.maximum(accepted, 1))
    enough = (power >= START_POWER) & (accepted >= START_COVERAGE * n)
    return int(enough.argmax() if enough.any() else np.where(critical >= 0, power, -1.0).argmax())


def _critical(accepted: Counts, risk: float, delta: float) -> Counts:
    """The most errors among `accepted` at which the test rejects; -1 if it never does."""
    from scipy.stats import binom

    # The least count whose p-value is delta or more.
    most = np.maximum(binom.ppf(delta, accepted, risk), 0).astype(np.int64)
    return np.where(_cdf(most, accepted, risk) <= delta, most, most - 1)


def accepted_needed(disagreement: float, *, risk: float = 0.1, delta: float = 0.05) -> int | None:
    """The fewest accepted verdicts that are certified with probability 0.8, if people disagree with this proportion.

    None if 5,000 are not enough, as for a disagreement of `risk` or more.

    Example:
        >>> accepted_needed(0.0), accepted_needed(0.05), accepted_needed(0.1)
        (29, 179, None)
    """
    if disagreement >= risk:
        return None
    for most in (MOST_ACCEPTED // 10, MOST_ACCEPTED):  # a few are usually enough, and quick to search
        accepted = np.arange(1, most + 1)
        enough = _cdf(_critical(accepted, risk, delta), accepted, disagreement) >= PLANNED_POWER
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


def exact_limits(errors: int, accepted: int, delta: float) -> tuple[float, float]:
    """The exact two-sided interval of errors / accepted at 1 - delta (Clopper & Pearson 1934)."""
    from scipy.special import betaincinv

    low = float(betaincinv(errors, accepted - errors + 1, delta / 2)) if errors else 0.0
    return low, float(betaincinv(errors + 1, accepted - errors, 1 - delta / 2)) if errors < accepted else 1.0


def _cdf(counts: Counts, n: Counts, p: float | Floats) -> Floats:
    """P(Bin(n, p) <= counts)."""
    from scipy.special import bdtr

    return np.where(counts < 0, 0.0, bdtr(np.maximum(counts, 0).astype(np.float64), n, p))
