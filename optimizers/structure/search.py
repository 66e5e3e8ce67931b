"""Structure search: which structure of a judge agrees best with people, and at what cost.

The judge before the search is trial 0. Every trial judges the cases slice by slice, gets a cross-fitted head, and is
stopped when a rival that costs no more is significantly better (`trial_runner`, `racing`). Proposals come from `study`,
whose journal lets an interrupted search continue to the result of an uninterrupted one. The cache answers calls that
trials share; they count in the cost of a structure all the same.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ...data import Case
from ...data.case import Record
from ...engines.jsonl import only_writer
from ...errors import BudgetSpent, DeclarationError
from ...judging.judge import Judge
from ..cost_account import CostUnit
from ..objective import OBJECTIVES, title_of
from .pareto import Prefer, StructureTrial, choose, pareto_front
from .racing import RacingTest, racing_schedule
from .space import Space, Values
from .study import Study, TrialRecord
from .trial_runner import RunJudge, TrialRunner, known

Ended = Literal["trials", "exhausted", "budget", "interrupted"]
JOURNAL, LOCK = "structure.jsonl", "structure.lock"
RACE = RacingTest()


def _always(trial: StructureTrial) -> bool:
    return True


class Gain(Record):
    """A difference of the objective on the select cases."""

    value: float = Field(description="the difference")
    low: float | None = Field(description="lower limit at 95 %; None if the error is not known")
    high: float | None = Field(description="upper limit at 95 %; None if the error is not known")


class StructureSearch(Record):
    """The result of a structure search."""

    objective: str = Field(description="name of the objective")
    higher: bool = Field(description="whether a higher value of the objective is better")
    cost: CostUnit = Field(description="the cost that the front weighs against the objective")
    prefer: Prefer = Field(description="which structure of the front to take")
    per_verdict: dict[CostUnit, float] = Field(
        default={}, description="the most that a verdict of the structure to take may cost, by unit"
    )
    over_limit: bool = Field(
        default=False, description="whether every structure costs more, so that the cheapest was taken"
    )
    trials: tuple[StructureTrial, ...] = Field(description="all trials in their order")
    front: tuple[int, ...] = Field(description="numbers of the trials that no other trial beats, the cheapest first")
    chosen: int = Field(description="number of the trial that `prefer` takes")
    gain: Gain = Field(
        description="the chosen trial's objective less that of trial 0 on the cases that chose it; an optimistic "
        "estimate, unlike that of the test part"
    )
    ended: Ended = Field(description="after all trials, after all structures, by the budget, or by the user")

    @property
    def best(self) -> StructureTrial:
        return self.trials[self.chosen]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the chosen structure, for `space.with_settings`."""
        return self.best.settings

    @property
    def is_worse(self) -> bool:
        """Whether the chosen structure does worse on the select cases than the judge before the search."""
        return self.gain.value < 0 if self.higher else self.gain.value > 0

    def summary(self) -> list[tuple[str, str]]:
        """Lines for the terminal, as (title, text)."""
        start, best, cases = self.trials[0], self.best, sum(trial.cases for trial in self.trials)
        counts = [sum(trial.status == status for trial in self.trials) for status in ("stopped", "unusable")]
        changed = [f"{name}={value}" for name, value in best.settings.items() if start.settings[name] != value]
        interval = "" if self.gain.low is None else f" [{self.gain.low:+.3f}, {self.gain.high:+.3f}]"
        how = "worse than the start" if self.is_worse else "better than the start" if self.gain.value else "no change"
        return [
            ("tried", f"{len(self.trials)} structures on {cases:,} cases; {counts[0]} stopped, {counts[1]} unusable"),
            ("ended", self.ended),
            ("chosen", f"trial {best.number} ({self.prefer}): {', '.join(changed) or 'unchanged'}"),
            (title_of(self.objective), f"{best.value:.3f}, at the start {start.value:.3f}"),
            ("difference", f"{self.gain.value:+.3f}{interval}, {how}; on the cases that chose it"),
            ("calls", f"{best.calls:.1f} a verdict, at the start {start.calls:.1f}"),
            *([("per verdict", self._limits())] if self.per_verdict else []),
        ]

    def _limits(self) -> str:
        limits = ", ".join(f"{most:g} {unit}" for unit, most in self.per_verdict.items())
        outcome = "no structure costs less; the cheapest was taken" if self.over_limit else "kept"
        return f"at most {limits}: {outcome}"


def search(
    judge: Judge,
    cases: Sequence[Case],
    *,
    space: Values,
    objective: str,
    folder: Path,
    run_judge: RunJudge,
    trials: int = 8,
    seed: int = 0,
    fit_head: bool = True,
    prefer: Prefer = "best",
    cost: CostUnit | None = "calls",
    race: RacingTest = RACE,
    per_verdict: Mapping[CostUnit, float] | None = None,
    affords: Callable[[StructureTrial], bool] = _always,
    on_trial: Callable[[StructureTrial], None] | None = None,
) -> StructureSearch:
    """The trials of a search, their Pareto front, and the structure to take.

    A second call with the same folder continues the search, and ends as if it had not been interrupted.

    Args:
        judge: before the search; it is not changed.
        cases: labelled, to compare structures on.
        space: name -> values (see `space`).
        objective: a name of `OBJECTIVES`.
        folder: holds the journal.
        run_judge: gives the verdicts of a judge on cases, with usage; fewer than cases if it was stopped.
        trials: the most structures, including those of an earlier call, without those that cannot judge.
        fit_head: whether a structure is measured by the cross-fitted verdicts of a head fitted to it.
        cost: of a verdict, the second objective; None: there is none, and the front is over calls. Tokens and seconds
            are an estimate: cached answers are taken to be as long as the others.
        per_verdict: unit -> the most that a verdict of the structure to take may cost; where every structure costs
            more, the cheapest is taken.
        race: when losing structures are stopped.
        affords: whether the budget allows to take a structure; the judge before the search may always be taken.
        on_trial: called with each finished trial.

    Raises:
        DeclarationError: no trial, no case, an unknown objective or name of the space, a judge that cannot be measured.
        RunError: the folder holds another search, or another process writes there.
        BudgetSpent, KeyboardInterrupt: before the first trial was done; later they end the search.
    """
    if trials < 1:
        raise DeclarationError(f"structure search: {trials} trials. Give 1 at least, or leave the search out.")
    schedule = racing_schedule(cases, race, seed=seed)
    runner = TrialRunner(
        judge, Space.of(judge, space), OBJECTIVES.find(objective), schedule, run_judge, race, fit_head, cost, seed,
        timed="seconds" in (cost, *(per_verdict or ())),
    )  # fmt: skip
    with only_writer(folder / LOCK, folder):
        study = Study(folder / JOURNAL, runner.space, runner.identity, two=cost is not None, seed=seed)
        ended = _run(runner, study, trials, on_trial)
    return _result(runner, _first(study.records, trials), prefer, dict(per_verdict or {}), affords, ended)


def _run(runner: TrialRunner, study: Study, trials: int, on_trial: Callable[[StructureTrial], None] | None) -> Ended:
    try:
        while _usable(study.records) < trials:
            proposal = study.propose()
            if proposal is None:
                return "exhausted"
            record = runner.run(proposal.point, study.records)
            study.add(proposal, record, runner.sampler_values(record, study.records, study.values))
            if on_trial is not None:
                on_trial(record.trial)
    except (BudgetSpent, KeyboardInterrupt) as error:
        if not study.records:
            raise
        return "budget" if isinstance(error, BudgetSpent) else "interrupted"
    return "trials"


def _usable(records: Sequence[TrialRecord]) -> int:
    """The number of trials that count; a structure that cannot judge costs next to nothing and does not."""
    return sum(record.trial.status != "unusable" for record in records)


def _first(records: Sequence[TrialRecord], trials: int) -> Sequence[TrialRecord]:
    """The first records, with at most so many usable trials."""
    return [record for number, record in enumerate(records, start=1) if _usable(records[:number]) <= trials]


def _result(
    runner: TrialRunner,
    records: Sequence[TrialRecord],
    prefer: Prefer,
    per_verdict: Mapping[CostUnit, float],
    affords: Callable[[StructureTrial], bool],
    ended: Ended,
) -> StructureSearch:
    points = [
        point for point in runner.pareto_points(records) if not point.number or affords(records[point.number].trial)
    ]
    allowed = [point for point in points if runner.is_within(per_verdict, records, point.number)]
    front = pareto_front(allowed or [min(points, key=lambda point: (point.cost, point.number))])
    chosen = choose(front, prefer).number
    gain = runner.schedule.difference(records[chosen].interims[-1], records[0].interims[-1])
    return StructureSearch(
        objective=runner.objective.name,
        higher=runner.objective.greater_is_better,
        cost=runner.cost or "calls",
        prefer=prefer,
        per_verdict=dict(per_verdict),
        over_limit=not allowed,
        trials=tuple(record.trial for record in records),
        front=tuple(point.number for point in front),
        chosen=chosen,
        gain=Gain(value=gain.value, low=known(gain.low), high=known(gain.high)),
        ended=ended,
    )
