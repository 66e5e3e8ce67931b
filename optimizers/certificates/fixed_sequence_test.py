"""Fixed-sequence testing: ever looser thresholds, each by the exact binomial, up to the first that is not rejected."""

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
Stages = Sequence[tuple[ArrayLike, ArrayLike]]
Path = Sequence[tuple[float, ...]]

START_POWER, START_SHARE = 0.9, 0.1  # the chance that the start is rejected, the share of cases that it keeps
PLANNED_POWER = 0.8
MOST_KEPT = 5_000  # verdicts to plan for
CHUNK = 1 << 22  # truth values in memory at once


@dataclass(frozen=True)
class Cases:
    """Judges' verdicts: certainty, -1 where there is none, and whether right; (judges, n) each.

    Attributes:
        given: the cases that these were drawn from, themselves where all were taken.
    """

    sure: Floats
    right: NDArray[np.bool_]
    given: "Cases | None" = None

    @property
    def all(self) -> "Cases":
        return self.given or self

    @property
    def n(self) -> int:
        return len(self.sure[0])

    def decider(self, thresholds: tuple[float, ...]) -> Counts:
        """(n,) the first judge that reaches its threshold; the number of judges where none does."""
        reached = self.sure >= np.array(thresholds)[:, None]
        return np.where(reached.any(axis=0), reached.argmax(axis=0), len(thresholds))

    def tally(self, path: Path) -> tuple[Counts, Counts, Floats]:
        """What each step of a path keeps, how many of these disagree, and how many would, going by the certainties."""
        most = max(1, CHUNK // self.n)
        parts = [self._tally(np.array(path[step : step + most])) for step in range(0, len(path), most)]
        kept, errors, expected = (np.concatenate(side) for side in zip(*parts, strict=True))
        return kept, errors, expected

    def count(self, thresholds: tuple[float, ...]) -> tuple[int, int]:
        """What one step keeps, and how many of these disagree."""
        (kept,), (errors,), _ = (side.tolist() for side in self.tally([thresholds]))
        return kept, errors

    def _tally(self, thresholds: Floats) -> tuple[Counts, Counts, Floats]:
        steps, n = len(thresholds), self.n
        kept, errors, expected = np.zeros(steps, np.int64), np.zeros(steps, np.int64), np.zeros(steps)
        left = np.ones((steps, n), dtype=bool)
        for sure, right, reached in zip(self.sure, self.right, thresholds.T, strict=True):
            decided = left & (sure >= reached[:, None])
            kept += decided.sum(axis=1)
            errors += (decided & ~right).sum(axis=1)
            expected += decided @ (1 - sure)
            left &= ~decided
        return kept, errors, expected


@dataclass(frozen=True)
class Outcome:
    """A path, what each step keeps, and how far it was rejected."""

    cases: Cases
    path: Path
    kept: Counts
    errors: Counts
    p: Floats
    first: int
    last: int | None  # that was rejected
    stop: int | None  # that was not
    risk: float
    delta: float

    def at(self, step: int) -> dict[str, Any]:
        return {"kept": int(self.kept[step]), "errors": int(self.errors[step]), "p": float(self.p[step])}

    def changes(self) -> Iterator[int]:
        """Steps that keep something, each but the last of those that keep and miss the same."""
        for step in range(len(self.path)):
            same = step + 1 < len(self.path) and self.at(step) == self.at(step + 1)
            if self.kept[step] and not same:
                yield step

    def summary(self) -> dict[str, Any]:
        """The fields that all certificates have."""
        n = self.cases.n
        kept, errors, bound, needed, of_all = 0, 0, None, None, (0, 0)
        if self.last is not None:
            kept, errors = int(self.kept[self.last]), int(self.errors[self.last])
            bound = limits(errors, kept, 2 * self.delta)[1]
            of_all = self.cases.all.count(self.path[self.last])
        elif self.stop is not None:
            there = int(self.kept[self.stop])
            enough = kept_needed(int(self.errors[self.stop]) / there, risk=self.risk, delta=self.delta)
            needed = None if enough is None else math.ceil(enough * n / there)
        coverage = proportion(np.arange(n) < kept)
        return {
            "risk": self.risk, "delta": self.delta, "cases": self.cases.all.n, "n": n, "kept": kept, "errors": errors,
            "kept_of_all": of_all[0], "errors_of_all": of_all[1],
            "coverage": coverage.value, "coverage_low": coverage.low, "coverage_high": coverage.high,
            "bound": bound, "needed": needed,
        }  # fmt: skip


def drawn_cases(stages: Stages, groups: Groups, seed: int) -> Cases:
    """The cases, one a group."""
    sides = [(np.asarray(sure, dtype=np.float64), np.asarray(right, dtype=np.float64)) for sure, right in stages]
    shapes = {side.shape for pair in sides for side in pair}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise DataError(
            f"certify: sides of shapes {sorted(shapes)}. Give one certainty and one truth value for each case."
        )
    sure, right = (np.array(side) for side in zip(*sides, strict=True))
    known = ~np.isnan(sure)
    if not known.any():
        raise DataError(f"certify: none of {sure.shape[1]} cases has a certainty. Give a judge's verdicts.")
    if not ((sure[known] >= 0) & (sure[known] <= 1)).all():
        outside = sure[known][(sure[known] < 0) | (sure[known] > 1)][0]
        raise DataError(f"certify: certainty {outside:g} is not in [0, 1]. Give probabilities, or NaN for no verdict.")
    if not np.isin(right[known], (0, 1)).all():
        raise DataError(
            "certify: a verdict is neither right nor wrong. Give true or false for each that has a certainty."
        )
    codes, count = group_codes(groups, sure.shape[1])
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes, minlength=count)
    drawn = (np.random.default_rng(seed).random(count) * sizes).astype(np.int64)
    used = np.sort(order[np.cumsum(sizes) - sizes + drawn])
    if not known[:, used].any():
        raise DataError("certify: no drawn case has a certainty. Give more cases.")
    everything = Cases(np.where(known, sure, -1.0), right == 1)
    return Cases(everything.sure[:, used], everything.right[:, used], everything)


def run_sequence(cases: Cases, path: Path, risk: float, delta: float, begin: int | None = None) -> Outcome:
    """The path, tested from its start, which is one of the first `begin` steps, to the first that is not rejected."""
    check_levels(risk, delta)
    kept, errors, expected = cases.tally(path)
    p = _cdf(errors, kept, risk)
    first = start_of(kept[:begin], expected[:begin], cases.n, risk, delta)
    failed = np.flatnonzero(p[first:] > delta)
    stop = first + int(failed[0]) if len(failed) else None
    end = len(path) if stop is None else stop
    return Outcome(cases, path, kept, errors, p, first, end - 1 if end > first else None, stop, risk, delta)


def start_of(kept: Counts, expected: Floats, n: int, risk: float, delta: float) -> int:
    """The step to start with, by certainties alone; the last where so few cases are kept that none can be rejected."""
    critical = _critical(kept, risk, delta)
    if not (critical >= 0).any():
        return len(kept) - 1
    power = _cdf(critical, kept, expected / np.maximum(kept, 1))
    enough = (power >= START_POWER) & (kept >= START_SHARE * n)
    return int(enough.argmax() if enough.any() else np.where(critical >= 0, power, -1.0).argmax())


def _critical(kept: Counts, risk: float, delta: float) -> Counts:
    """The most errors among `kept` that are rejected; -1 where not even none is."""
    from scipy.stats import binom

    # The least count whose p-value is delta or more.
    most = np.maximum(binom.ppf(delta, kept, risk), 0).astype(np.int64)
    return np.where(_cdf(most, kept, risk) <= delta, most, most - 1)


def kept_needed(rate: float, *, risk: float = 0.1, delta: float = 0.05) -> int | None:
    """The fewest kept verdicts that are certified with probability 0.8 when people disagree at `rate`.

    None where no 5,000 are enough, as for a rate of `risk` or more.

    Example:
        >>> kept_needed(0.0), kept_needed(0.05), kept_needed(0.1)
        (29, 179, None)
    """
    if rate >= risk:
        return None
    for most in (MOST_KEPT // 10, MOST_KEPT):  # few are enough as a rule, and quick to look through
        kept = np.arange(1, most + 1)
        enough = _cdf(_critical(kept, risk, delta), kept, rate) >= PLANNED_POWER
        if enough.any():
            return int(kept[enough.argmax()])
    return None


def check_levels(risk: float, delta: float) -> None:
    """Refuse a risk or a delta for which the test is not exact (see `certify`)."""
    if not (0 < risk <= 0.5 and 0 < delta <= 0.25):
        raise DeclarationError(
            f"certify: risk {risk:g}, delta {delta:g}. Give a risk in (0, 0.5] and a delta in (0, 0.25], "
            "0.1 and 0.05, say."
        )


def limits(errors: int, kept: int, delta: float) -> tuple[float, float]:
    """The exact two-sided interval of a share at 1 - delta (Clopper & Pearson 1934)."""
    from scipy.special import betaincinv

    low = float(betaincinv(errors, kept - errors + 1, delta / 2)) if errors else 0.0
    return low, float(betaincinv(errors + 1, kept - errors, 1 - delta / 2)) if errors < kept else 1.0


def _cdf(counts: Counts, n: Counts, rate: float | Floats) -> Floats:
    """P(Bin(n, rate) <= counts)."""
    from scipy.special import bdtr

    return np.where(counts < 0, 0.0, bdtr(np.maximum(counts, 0).astype(np.float64), n, rate))
