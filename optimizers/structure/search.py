"""Structure search: which of a judge's structures agrees best with people, and what each costs.

The judge as it stands is trial 0. Every trial judges the cases slice by slice, has a head fitted and cross-fitted, and
is stopped when a rival that costs no more is significantly better (`trials`, `racing`). Proposals come from `study`,
whose journal makes an interrupted search go on to the answer of an undisturbed one. Evidence that trials share costs
nothing: equal calls are answered by the cache, but count for the cost of a structure as if they were not.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from ...data import Case
from ...data.case import Record
from ...engines.jsonl import only_writer
from ...errors import BudgetSpent, DeclarationError
from ...judging.judge import Judge
from ..objective import OBJECTIVES
from .pareto import Prefer, Trial, choose, front
from .racing import Race, course
from .space import Space, Values
from .study import Attempt, Study
from .trial_runner import Arena, Cost, Measure, known

Ended = Literal["trials", "exhausted", "budget", "interrupted"]
JOURNAL, LOCK = "structure.jsonl", "structure.lock"
RACE = Race()


def _any(trial: Trial) -> bool:
    return True


class Gain(Record):
    """A difference on the select cases, with its 95 % interval; None where nothing is known of the error."""

    value: float
    low: float | None
    high: float | None


class Searched(Record):
    """What a search found.

    Attributes:
        higher: a higher figure of the objective is better.
        cost: what the front weighs against the objective.
        front: the numbers of the trials that no other one beats, the cheapest first.
        chosen: the number of the one that `prefer` takes.
        gain: the chosen one's figure less that of trial 0, on the same cases. They chose it, so this flatters; the
            test part says what it is worth.
        ended: all trials were made, every structure was tried, the budget was spent, or somebody stopped it.
    """

    objective: str
    higher: bool
    cost: Cost
    prefer: Prefer
    trials: tuple[Trial, ...]
    front: tuple[int, ...]
    chosen: int
    gain: Gain
    ended: Ended

    @property
    def best(self) -> Trial:
        return self.trials[self.chosen]

    @property
    def settings(self) -> dict[str, Any]:
        """What `space.with_settings` makes the chosen judge of."""
        return self.best.settings

    @property
    def is_worse(self) -> bool:
        """Whether the chosen one does worse on the select cases than the judge did as it stood."""
        return self.gain.value < 0 if self.higher else self.gain.value > 0

    def told(self) -> list[tuple[str, str]]:
        """The search in words, as (what, words)."""
        start, best, cases = self.trials[0], self.best, sum(trial.cases for trial in self.trials)
        counts = [sum(trial.status == status for trial in self.trials) for status in ("stopped", "unusable")]
        changed = [f"{name}={value}" for name, value in best.settings.items() if start.settings[name] != value]
        interval = "" if self.gain.low is None else f" [{self.gain.low:+.3f}, {self.gain.high:+.3f}]"
        how = "worse than the start" if self.is_worse else "better than the start" if self.gain.value else "no change"
        return [
            ("tried", f"{len(self.trials)} structures on {cases:,} cases; {counts[0]} stopped, {counts[1]} unusable"),
            ("ended", self.ended),
            ("chosen", f"trial {best.number} ({self.prefer}): {', '.join(changed) or 'the judge as it stood'}"),
            (self.objective, f"{best.value:.3f}, at the start {start.value:.3f}"),
            ("difference", f"{self.gain.value:+.3f}{interval}, {how}; on the cases that chose it"),
            ("calls", f"{best.calls:.1f} a verdict, at the start {start.calls:.1f}"),
        ]

    def plot(self) -> dict[str, list[Any]]:
        """The complete trials as columns: number, calls, tokens, value, low, high, and whether on the front, chosen."""
        shown = [trial for trial in self.trials if trial.status == "complete"]
        names = ("number", "calls", "tokens", "value", "low", "high")
        drawn: dict[str, list[Any]] = {name: [getattr(trial, name) for trial in shown] for name in names}
        drawn["front"] = [trial.number in self.front for trial in shown]
        drawn["chosen"] = [trial.number == self.chosen for trial in shown]
        return drawn


def search(
    judge: Judge,
    cases: Sequence[Case],
    *,
    space: Values,
    objective: str,
    folder: Path,
    measure: Measure,
    trials: int = 8,
    seed: int = 0,
    fit_head: bool = True,
    prefer: Prefer = "best",
    cost: Cost | None = "calls",
    race: Race = RACE,
    affords: Callable[[Trial], bool] = _any,
    on_trial: Callable[[Trial], None] | None = None,
) -> Searched:
    """The structures tried, their front, and the one to take.

    Called again with the same folder it goes on where it stopped, and ends as if it had never been stopped.

    Args:
        judge: as it stands; it is not changed.
        cases: labelled, to select by.
        space: name -> values (see `space`).
        objective: a name of `objective.OBJECTIVES`.
        folder: holds the journal.
        measure: the verdicts of a judge on cases, usage included; fewer than there are cases mean that it was stopped.
        trials: structures at most, those of an earlier call included, and those that cannot judge left out.
        fit_head: measure each structure by the cross-fitted verdicts of a head fitted to it.
        cost: of a verdict, the second objective; None searches for the first alone, and the front is over calls.
            Tokens are an estimate: what the cache answered carries no count and is taken to be as long as the rest.
        race: when losers are stopped.
        affords: whether a structure may be taken, for what it costs to use; the start always may.
        on_trial: called with each trial as it ends.

    Raises:
        DeclarationError: no trial, no case, a space or an objective that is not there, a start that cannot be measured.
        RunError: the folder holds another search, or another process writes there.
        BudgetSpent, KeyboardInterrupt: before the first trial was done; later they end the search.
    """
    if trials < 1:
        raise DeclarationError(f"structure search: {trials} trials. Give 1 at least, or leave the search out.")
    along = course(cases, race, seed=seed)
    arena = Arena(judge, Space.of(judge, space), OBJECTIVES.find(objective), along, measure, race, fit_head, cost, seed)
    with only_writer(folder / LOCK, folder):
        study = Study(folder / JOURNAL, arena.space, arena.identity, two=cost is not None, seed=seed)
        ended = _run(arena, study, trials, on_trial)
    return _searched(arena, _within(study.attempts, trials), prefer, affords, ended)


def _run(arena: Arena, study: Study, trials: int, on_trial: Callable[[Trial], None] | None) -> Ended:
    try:
        while _usable(study.attempts) < trials:
            proposal = study.propose()
            if proposal is None:
                return "exhausted"
            attempt = arena.attempt(proposal.point, study.attempts)
            study.add(proposal, attempt, arena.told(attempt, study.attempts, study.told))
            if on_trial is not None:
                on_trial(attempt.trial)
    except (BudgetSpent, KeyboardInterrupt) as error:
        if not study.attempts:
            raise
        return "budget" if isinstance(error, BudgetSpent) else "interrupted"
    return "trials"


def _usable(attempts: Sequence[Attempt]) -> int:
    """What cannot judge costs next to nothing and does not count."""
    return sum(one.trial.status != "unusable" for one in attempts)


def _within(attempts: Sequence[Attempt], trials: int) -> Sequence[Attempt]:
    """The first ones, with at most so many usable among them."""
    return [one for number, one in enumerate(attempts, start=1) if _usable(attempts[:number]) <= trials]


def _searched(
    arena: Arena, attempts: Sequence[Attempt], prefer: Prefer, affords: Callable[[Trial], bool], ended: Ended
) -> Searched:
    places = [one for one in arena.places(attempts) if not one.number or affords(attempts[one.number].trial)]
    kept = front(places)
    chosen = choose(kept, prefer).number
    first, last = attempts[0], attempts[chosen]
    gap = arena.course.gap(last.looks[-1], first.looks[-1])
    return Searched(
        objective=arena.objective.name,
        higher=arena.objective.greater_is_better,
        cost=arena.cost or "calls",
        prefer=prefer,
        trials=tuple(one.trial for one in attempts),
        front=tuple(one.number for one in kept),
        chosen=chosen,
        gain=Gain(value=gap.value, low=known(gap.low), high=known(gap.high)),
        ended=ended,
    )
