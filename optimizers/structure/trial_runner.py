"""Run the trials of a search: judge slice by slice, cross-fit a head, stop losers, and measure value and cost."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...data import Case, Judged, Verdict
from ...data.case import digest
from ...errors import DeclarationError, Internal, ModelError, RunError, Unreadable
from ...evaluation.run_arrays import run_arrays
from ...judging.judge import Judge
from ..cost_account import CostUnit, cost_per_verdict
from ..error_costs import costs_in
from ..evidence import fit_head, identity
from ..objective import Objective
from .pareto import ParetoPoint, StructureTrial
from .racing import Interim, RacingSchedule, RacingTest, is_beaten
from .space import Point, Space, with_settings
from .study import TrialRecord

RunJudge = Callable[[Judge, Sequence[Case]], Sequence[Judged]]
EARLY_FOLDS = 3  # for a head before the last slice: 6 fits per candidate instead of 15
LOST = 0.02  # of coverage: a structure that leaves so many more cases unscored than the start is never chosen


@dataclass(frozen=True)
class TrialRunner:
    """Runs the trials of one search.

    Attributes:
        judge: before the search.
        cost: the second objective; None: there is none.
        timed: whether seconds are measured; they differ from run to run, so that they are left out where nobody asks.
    """

    judge: Judge
    space: Space
    objective: Objective
    schedule: RacingSchedule
    run_judge: RunJudge
    race: RacingTest
    fit_head: bool
    cost: CostUnit | None
    seed: int
    timed: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """What identifies the search."""
        cases = sorted(case.model_dump_json() for part in self.schedule.slices for case in part)
        return {
            **identity(self.judge),
            "cases": digest("\n".join(cases)),
            "space": {name: list(values) for name, values in self.space.values.items()},
            "objective": self.objective.name,
            "cost": self.cost,
            "head": self.fit_head,
            "race": [list(self.race.slices), self.race.alpha],
            "seed": self.seed,
        }

    def run(self, point: Point, before: Sequence[TrialRecord]) -> TrialRecord:
        """The trial of one structure: stopped as soon as a rival has beaten it, unusable if it cannot judge.

        Raises:
            DeclarationError, Unreadable, Internal: the first trial, the judge before the search, cannot judge or be
                measured.
            ModelError: a model cannot be used.
            KeyboardInterrupt: `run_judge` was stopped.
        """
        interims: list[Interim] = []
        ended: dict[str, Any] = {}
        settings = self.space.settings(point)
        try:
            tried = with_settings(self.judge, settings)
            for _, part in tried.named_sub_modules(Judge):
                part.check_demos()  # before anything is asked
            rival = self._run(tried, interims, before)
        except (RunError, ModelError):  # they are not caused by the structure
            raise
        except (DeclarationError, Unreadable, Internal) as error:
            if not before:
                raise
            ended = {"status": "unusable", "detail": str(error)}
        else:
            if rival is not None:
                ended = {"status": "stopped", "rival": rival.trial.number}
        if not before:
            self._check(interims[-1])
        results = self._results(interims[-1]) if interims else {}
        trial = StructureTrial(number=len(before), settings=settings, **ended, **results)
        return TrialRecord(trial=trial, interims=tuple(interims))

    def sampler_values(
        self, record: TrialRecord, before: Sequence[TrialRecord], values: Sequence[Sequence[float]]
    ) -> list[float]:
        """The values of a trial for the sampler: its utility, higher is better, and its cost if cost is an objective.

        The utility of a stopped trial is that of its rival, less the rival's lead on the cases that both judged. A
        trial that cannot be chosen gets the lowest utility so far, and the highest cost if its cost is not known.

        Args:
            values: of the trials before.
        """
        records = [*before, record]
        if record.trial.status == "stopped":
            rival = records[record.trial.rival or 0]
            lead = self._utility(rival.interims[len(record.interims) - 1]) - self._utility(record.interims[-1])
            utility = self._utility(rival.interims[-1]) - lead
        elif self._can_be_chosen(record, records):
            utility = self._utility(record.interims[-1])
        else:
            utility = min(values_before[0] for values_before in values)
        if self.cost is None:
            return [utility]
        if not record.interims:
            return [utility, max(values_before[1] for values_before in values)]
        return [utility, self._cost(record.interims[-1], records[0].interims[-1])]

    def pareto_points(self, records: Sequence[TrialRecord]) -> list[ParetoPoint]:
        """The trials that can be chosen; the first is among them."""
        start = records[0].interims[-1]
        return [
            ParetoPoint(
                number=record.trial.number,
                utility=self._utility(record.interims[-1]),
                cost=self._cost(record.interims[-1], start),
                error=record.trial.error or 0.0,
            )
            for record in records
            if self._can_be_chosen(record, records)
        ]

    def is_within(self, per_verdict: Mapping[CostUnit, float], records: Sequence[TrialRecord], number: int) -> bool:
        """Whether a complete trial costs no more than that, in every unit."""
        interim, start = records[number].interims[-1], records[0].interims[-1]
        return all(_cost_in(unit, interim, start) <= most for unit, most in per_verdict.items())

    def _check(self, start: Interim) -> None:
        if start.value is None:
            raise DeclarationError(
                f"structure search: {self.objective.name} is not defined on {start.scored} scored verdicts of "
                f"{start.cases} cases. Give labelled cases, or another objective."
            )
        if self.cost in ("tokens", "seconds") and getattr(start, self.cost) is None:
            raise DeclarationError(
                f"structure search: the cache answered every call, so {self.cost} are not known. Use cost=calls."
            )

    def _run(self, candidate: Judge, interims: list[Interim], before: Sequence[TrialRecord]) -> TrialRecord | None:
        """Judge slice by slice and add an interim result for each; the rival that stopped it, None if none did."""
        if self.fit_head:
            candidate.head = candidate.threshold = None  # a head is fitted to the verdicts without a head
        judged: list[Judged] = []
        for part in self.schedule.slices:
            judged += self._verdicts(candidate, part)
            interims.append(self._interim(candidate, judged))
            rival = self._rival(before, interims)
            if rival is not None and self._loses(interims, rival):
                return rival
        return None

    def _loses(self, interims: Sequence[Interim], rival: TrialRecord) -> bool:
        sides, higher = (interims[-1], rival.interims[len(interims) - 1]), self.objective.greater_is_better
        return is_beaten(*sides, self.schedule, alpha=self.race.alpha, higher=higher, seed=self.seed)

    def _verdicts(self, candidate: Judge, part: Sequence[Case]) -> list[Judged]:
        verdicts = {judged.case_id: judged for judged in self.run_judge(candidate, part)}
        if len(verdicts) < len(part):
            raise KeyboardInterrupt
        return [verdicts[case.id] for case in part]

    def _interim(self, candidate: Judge, judged: Sequence[Judged]) -> Interim:
        cases = [case for part in self.schedule.slices for case in part][: len(judged)]
        run = run_arrays(map(Judged.of, cases, self._fitted(candidate, cases, judged)))
        value = self.objective.value(run) if run.n else math.nan
        costs = run_arrays(judged)
        return Interim(
            cases=len(judged),
            scored=run.n,
            value=known(value),
            units=self.schedule.contributions(run, self.objective.value_as_of(run)),
            calls=cost_per_verdict(costs, "calls"),
            tokens=known(cost_per_verdict(costs, "tokens")),
            seconds=known(cost_per_verdict(costs, "seconds")) if self.timed else None,
        )

    def _fitted(self, candidate: Judge, cases: Sequence[Case], judged: Sequence[Judged]) -> Sequence[Verdict]:
        """The verdicts by a cross-fitted head; none if an early slice has too few labels for a head."""
        if not self.fit_head:
            return judged
        costs = costs_in(self.objective.name)
        if len(cases) == len(self.schedule.units):
            return fit_head(candidate, cases, judged, seed=self.seed, costs=costs).crossfitted
        try:
            return fit_head(candidate, cases, judged, seed=self.seed, folds=EARLY_FOLDS, costs=costs).crossfitted
        except DeclarationError:
            return []

    def _rival(self, before: Sequence[TrialRecord], interims: Sequence[Interim]) -> TrialRecord | None:
        """The best structure that costs no more so far (of all, if cost is no objective); None after the last slice."""
        stage = len(interims) - 1
        if not before or stage == len(self.schedule.slices) - 1:
            return None
        start = before[0].interims[stage]
        most = math.inf if self.cost is None else self._cost(interims[-1], start)
        rivals = [record for record in before if self._can_be_chosen(record, before)]
        rivals = [record for record in rivals if self._cost(record.interims[stage], start) <= most]
        return max(rivals, key=lambda record: self._utility(record.interims[-1]), default=None)

    def _can_be_chosen(self, record: TrialRecord, records: Sequence[TrialRecord]) -> bool:
        """Whether it judged all cases, has a value, and left hardly more cases unscored than the start."""
        if record.trial.status != "complete" or record.interims[-1].value is None:
            return False
        return record.interims[-1].coverage >= records[0].interims[-1].coverage - LOST

    def _utility(self, interim: Interim) -> float:
        assert interim.value is not None  # of a trial that was stopped or can be chosen
        return interim.value if self.objective.greater_is_better else -interim.value

    def _cost(self, interim: Interim, start: Interim) -> float:
        return _cost_in(self.cost or "calls", interim, start)

    def _results(self, interim: Interim) -> dict[str, Any]:
        estimate = self.schedule.estimate(interim)
        return {
            **interim.model_dump(include={"cases", "scored", "value", "calls", "tokens", "seconds"}),
            "error": known(self.schedule.error(interim)),
            "low": known(estimate.low),
            "high": known(estimate.high),
        }


def _cost_in(unit: CostUnit, interim: Interim, start: Interim) -> float:
    """The mean cost of a verdict, of which the start's is known; where the cache gave all answers as the start's, by
    calls."""
    if unit == "calls":
        return interim.calls
    measured: float | None = getattr(interim, unit)
    if measured is not None:
        return measured
    per_verdict: float | None = getattr(start, unit)
    if per_verdict is None:
        return math.inf  # not known to be within any limit; as the second objective it is refused before
    return interim.calls * per_verdict / start.calls if start.calls else interim.calls


def known(value: float) -> float | None:
    """The number; None for NaN and infinity, which JSON cannot hold."""
    return value if math.isfinite(value) else None
