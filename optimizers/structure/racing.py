"""Racing: a structure that is significantly worse than a rival is stopped before it has judged all cases.

Cases are divided into slices in a seeded order, by whole groups. After each slice the challenger is tested against the
rival on the cases that both have scored; a significantly worse challenger is stopped (F-race, Birattari et al. 2002,
with a paired permutation test in place of Friedman's; the idea is that of Hoeffding races, Maron & Moore 1994).

The test works for any measure of a run. Leaving out each group in turn gives the contribution of the group (the
delete-group jackknife; Busing, Meijer & van der Leeden 1999, Statistics and Computing 9): for a mean, exactly the mean
of the group. The signs of the groups' differences are then flipped, as in `stats.paired`.

Simulated (tests/optimizers/test_racing.py): in 400 worlds of 10 structures the best one survived 96 to 100 times in
100, equally good structures included; of 200 cases 13 % of the judgments were saved if accuracies differ by 0.05, 29 %
if they differ by 0.1.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data import Case
from ...data.case import Record
from ...errors import DeclarationError
from ...evaluation.run_arrays import RunArrays
from ...stats.paired import permutation
from ...stats.resampling import Estimate, quantile

Floats = NDArray[np.float64]
FEWEST = 25  # cases at a test: significance takes 7 cases that all favour the rival, and judges differ on few
MOST_UNITS = 400  # units to leave out in turn; more groups are pooled


@dataclass(frozen=True)
class RacingTest:
    """When a structure may be stopped.

    Attributes:
        slices: the proportions of the cases after which it is tested; empty: it is never stopped.
        alpha: of the two-sided test after each slice.
    """

    slices: tuple[float, ...] = (0.25, 0.5)
    alpha: float = 0.03

    def __post_init__(self) -> None:
        if sorted({*self.slices, 0.0, 1.0}) != [0.0, *self.slices, 1.0] or not 0 < self.alpha < 1:
            raise DeclarationError(
                f"race: slices {self.slices}, alpha {self.alpha}. Give rising proportions and an alpha, all in (0, 1)."
            )


class Interim(Record):
    """The interim result of a structure on the first slices, taken together."""

    cases: int = Field(description="judged cases")
    scored: int = Field(description="judged cases with a verdict")
    value: float | None = Field(description="the objective; None if it is not defined")
    units: tuple[float | None, ...] = Field(
        description="the contribution of each unit to the value; None for a unit without a scored case"
    )
    calls: float = Field(description="mean LM calls of a verdict, including those that the cache answered")
    tokens: float | None = Field(description="mean tokens of a verdict; None if they are not known")
    seconds: float | None = Field(
        default=None, description="mean seconds of a verdict, summed over calls; None if they are not known"
    )

    @property
    def coverage(self) -> float:
        return self.scored / self.cases


@dataclass(frozen=True)
class RacingSchedule:
    """The cases in the order in which every structure judges them.

    Attributes:
        slices: the cases of each slice.
        units: case id -> number of its unit, which is a group or several groups.
        weights: (units,) the number of cases of each unit.
    """

    slices: tuple[tuple[Case, ...], ...]
    units: Mapping[str, int]
    weights: Floats

    def contributions(self, run: RunArrays, measure: Callable[[RunArrays], float]) -> tuple[float | None, ...]:
        """Each unit's contribution to the measure F of a run: (n F - (n - m) F(without its m cases)) / m."""
        codes = np.array([self.units[case_id] for case_id in run.ids], dtype=np.intp)
        whole, n = measure(run), run.n
        contributions: list[float | None] = [None] * len(self.weights)
        for unit in np.unique(codes).tolist():
            rest = run.rows(codes != unit)
            value = (n * whole - rest.n * (measure(rest) if rest.n else 0.0)) / (n - rest.n)
            # Rounded, so that judges with the same verdicts differ by exactly 0.
            contributions[unit] = round(value, 10) if math.isfinite(value) else None
        return tuple(contributions)

    def estimate(self, interim: Interim) -> Estimate:
        """The value with Student's 95 % interval over units; for a mean this is the cluster-robust interval.

        The interval is NaN with fewer than two units, and if all units are equal, which does not inform the error.
        """
        known, weights = self._known(interim.units)
        return _student(math.nan if interim.value is None else interim.value, known, weights)

    def difference(self, first: Interim, second: Interim) -> Estimate:
        """The value of the first less that of the second, with the same kind of interval from the units of both."""
        values = [math.nan if interim.value is None else interim.value for interim in (first, second)]
        return _student(values[0] - values[1], *self._unit_differences(first, second))

    def error(self, interim: Interim) -> float:
        """The standard error of the value; NaN with fewer than two units."""
        return _error(*self._known(interim.units))

    def weighted_differences(self, first: Interim, second: Interim) -> Floats:
        """First - second by unit, times the unit's cases, where both have scored."""
        differences, weights = self._unit_differences(first, second)
        return differences * weights

    def _unit_differences(self, first: Interim, second: Interim) -> tuple[Floats, Floats]:
        ours, theirs = (np.array(interim.units, dtype=np.float64) for interim in (first, second))
        return self._known(ours - theirs)

    def _known(self, units: Sequence[float | None] | Floats) -> tuple[Floats, Floats]:
        values = np.array(units, dtype=np.float64)
        known = ~np.isnan(values)
        return values[known], self.weights[known]


def _student(value: float, units: Floats, weights: Floats) -> Estimate:
    count, n = len(units), int(weights.sum())
    error = _error(units, weights)
    if not error > 0:
        return Estimate(value, math.nan, math.nan, n, count)
    half = quantile(0.95, count - 1) * error
    return Estimate(value, value - half, value + half, n, count)


def _error(units: Floats, weights: Floats) -> float:
    if (count := len(units)) < 2:
        return math.nan
    residuals = weights * (units - float(weights @ units) / float(weights.sum()))
    return math.sqrt(count / (count - 1) * float(residuals @ residuals)) / float(weights.sum())


def racing_schedule(cases: Sequence[Case], race: RacingTest, *, seed: int) -> RacingSchedule:
    """The cases divided into slices by whole groups in a seeded order; a slice has at least `FEWEST` cases.

    Raises:
        DeclarationError: no case.
    """
    if not cases:
        raise DeclarationError("structure search: no case to select by. Give more labelled cases.")
    groups: dict[str, list[Case]] = {}
    for case in sorted(cases, key=lambda case: case.id):
        groups.setdefault(case.split_key, []).append(case)
    keys = sorted(groups)
    order = [keys[index] for index in np.random.default_rng(seed).permutation(len(keys))]
    limits = [part * len(cases) for part in race.slices if part * len(cases) >= FEWEST] + [math.inf]
    slices: list[list[Case]] = [[] for _ in limits]
    dealt = 0
    for key in order:
        slices[next(number for number, limit in enumerate(limits) if dealt < limit)] += groups[key]
        dealt += len(groups[key])
    bound = min(len(order), MOST_UNITS)
    units = {case.id: number * bound // len(order) for number, key in enumerate(order) for case in groups[key]}
    weights = np.bincount(list(units.values())).astype(np.float64)
    return RacingSchedule(tuple(tuple(part) for part in slices if part), units, weights)


def is_beaten(
    challenger: Interim, rival: Interim, schedule: RacingSchedule, *, alpha: float, higher: bool, seed: int
) -> bool:
    """Whether the challenger is significantly worse than the rival after the same slices.

    Args:
        alpha: of the two-sided test.
        higher: whether a higher value is better.
        seed: of the random sign flips, if there are more than 10,000 possible.
    """
    differences = schedule.weighted_differences(challenger, rival)
    lead = math.fsum(differences) if higher else -math.fsum(differences)
    return lead < 0 and permutation(differences, np.zeros_like(differences), seed=seed) < alpha
