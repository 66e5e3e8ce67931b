"""What a structure is measured by: cases slice by slice, a cross-fitted head, a rival that may stop it, its cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...data import Case, Judged, Verdict
from ...data.case import digest
from ...errors import DeclarationError, ModelError, RunError
from ...evaluation.run_arrays import run_arrays
from ...judging.judge import Judge
from ..cost_account import cost_per_verdict
from ..evidence import identity
from ..head.fit import fit
from ..objective import Objective
from .pareto import Priced, Trial
from .racing import Course, Look, Race, is_beaten
from .space import Point, Space, with_settings
from .study import Attempt

Cost = Literal["calls", "tokens"]
Measure = Callable[[Judge, Sequence[Case]], Sequence[Judged]]
EARLY_FOLDS = 3  # of a head before the last look: 6 fits of each candidate rather than 15
LOST = 0.02  # of coverage: a structure that leaves more cases unscored than the start does is not chosen for the rest


@dataclass(frozen=True)
class Arena:
    """Makes the trials of one search.

    Attributes:
        judge: as it stands.
        cost: what is weighed against worth; None: nothing.
    """

    judge: Judge
    space: Space
    objective: Objective
    course: Course
    measure: Measure
    race: Race
    fit_head: bool
    cost: Cost | None
    seed: int

    @property
    def identity(self) -> dict[str, Any]:
        """What another search differs in."""
        cases = sorted(case.model_dump_json() for part in self.course.slices for case in part)
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

    def attempt(self, point: Point, before: Sequence[Attempt]) -> Attempt:
        """The trial of one structure: stopped as soon as a rival has beaten it, unusable where it cannot judge.

        Raises:
            DeclarationError: the first trial, the judge as it stands, cannot judge or be measured.
            ModelError: a model that cannot be used.
            KeyboardInterrupt: the measure was told to stop.
        """
        looks: list[Look] = []
        ended: dict[str, Any] = {}
        settings = self.space.settings(point)
        try:
            rival = self._run(with_settings(self.judge, settings), looks, before)
        except (RunError, ModelError):  # they say nothing of the structure
            raise
        except DeclarationError as error:
            if not before:
                raise
            ended = {"status": "unusable", "detail": str(error)}
        else:
            if rival is not None:
                ended = {"status": "stopped", "rival": rival.trial.number}
        if not before:
            self._check(looks[-1])
        trial = Trial(number=len(before), settings=settings, **ended, **(self._figures(looks[-1]) if looks else {}))
        return Attempt(trial=trial, looks=tuple(looks))

    def told(self, attempt: Attempt, before: Sequence[Attempt], told: Sequence[Sequence[float]]) -> list[float]:
        """What the sampler learns: worth, higher is better, and the cost where there is one.

        The worth of a stopped trial is its rival's, changed by how far the rival was ahead on the cases that both
        judged. A trial that cannot be chosen is taken to be as bad as the worst, and as dear as the dearest where its
        cost is not known.
        """
        attempts = [*before, attempt]
        if attempt.trial.status == "stopped":
            rival = attempts[attempt.trial.rival or 0]
            ahead = self._worth(rival.looks[len(attempt.looks) - 1]) - self._worth(attempt.looks[-1])
            worth = self._worth(rival.looks[-1]) - ahead
        elif self._can_be_chosen(attempt, attempts):
            worth = self._worth(attempt.looks[-1])
        else:
            worth = min(values[0] for values in told)
        if self.cost is None:
            return [worth]
        if not attempt.looks:
            return [worth, max(values[1] for values in told)]
        return [worth, self._cost(attempt.looks[-1], attempts[0].looks[-1])]

    def places(self, attempts: Sequence[Attempt]) -> list[Priced]:
        """The trials that can be chosen; the first is among them."""
        start = attempts[0].looks[-1]
        return [
            Priced(
                number=one.trial.number,
                worth=self._worth(one.looks[-1]),
                cost=self._cost(one.looks[-1], start),
                error=one.trial.error or 0.0,
            )
            for one in attempts
            if self._can_be_chosen(one, attempts)
        ]

    def _check(self, start: Look) -> None:
        if start.value is None:
            raise DeclarationError(
                f"structure search: {self.objective.name} is not defined on {start.scored} scored verdicts of "
                f"{start.cases} cases. Give labelled cases, or another objective."
            )
        if self.cost == "tokens" and start.tokens is None:
            raise DeclarationError("structure search: the cache answered all, so tokens are not known. Use cost=calls.")

    def _run(self, candidate: Judge, looks: list[Look], before: Sequence[Attempt]) -> Attempt | None:
        """Judge slice by slice, adding a look at each; the rival that stopped it, None when all cases are judged."""
        if self.fit_head:
            candidate.head = candidate.threshold = None  # a head is fitted to what the judge says without one
        judged: list[Judged] = []
        for part in self.course.slices:
            judged += self._verdicts(candidate, part)
            looks.append(self._look(judged))
            rival = self._rival(before, looks)
            if rival is not None and self._loses(looks, rival):
                return rival
        return None

    def _loses(self, looks: Sequence[Look], rival: Attempt) -> bool:
        sides, higher = (looks[-1], rival.looks[len(looks) - 1]), self.objective.greater_is_better
        return is_beaten(*sides, self.course, alpha=self.race.alpha, higher=higher, seed=self.seed)

    def _verdicts(self, candidate: Judge, part: Sequence[Case]) -> list[Judged]:
        found = {judged.case_id: judged for judged in self.measure(candidate, part)}
        if len(found) < len(part):
            raise KeyboardInterrupt
        return [found[case.id] for case in part]

    def _look(self, judged: Sequence[Judged]) -> Look:
        cases = [case for part in self.course.slices for case in part][: len(judged)]
        run = run_arrays(map(Judged.of, cases, self._fitted(cases, judged)))
        value = self.objective.value(run) if run.n else math.nan
        asked = run_arrays(judged)
        return Look(
            cases=len(judged),
            scored=run.n,
            value=known(value),
            units=self.course.contributions(run, self.objective.value),
            calls=cost_per_verdict(asked, "calls"),
            tokens=known(cost_per_verdict(asked, "tokens")),
        )

    def _fitted(self, cases: Sequence[Case], judged: Sequence[Judged]) -> Sequence[Verdict]:
        """The verdicts, cross-fitted; before the last look as they are where there are too few labels for a head."""
        if not self.fit_head:
            return judged
        if len(cases) == len(self.course.units):
            return fit(cases, judged, seed=self.seed).crossfitted
        try:
            return fit(cases, judged, seed=self.seed, folds=EARLY_FOLDS).crossfitted
        except DeclarationError:
            return []

    def _rival(self, before: Sequence[Attempt], looks: Sequence[Look]) -> Attempt | None:
        """The best of the structures that cost no more so far (any, where cost does not count); None at the end."""
        stage = len(looks) - 1
        if not before or stage == len(self.course.slices) - 1:
            return None
        start = before[0].looks[stage]
        most = math.inf if self.cost is None else self._cost(looks[-1], start)
        able = [one for one in before if self._can_be_chosen(one, before)]
        able = [one for one in able if self._cost(one.looks[stage], start) <= most]
        return max(able, key=lambda one: self._worth(one.looks[-1]), default=None)

    def _can_be_chosen(self, attempt: Attempt, attempts: Sequence[Attempt]) -> bool:
        """Whether it judged all cases, has a figure, and left hardly more cases unscored than the start."""
        if attempt.trial.status != "complete" or attempt.looks[-1].value is None:
            return False
        return attempt.looks[-1].coverage >= attempts[0].looks[-1].coverage - LOST

    def _worth(self, look: Look) -> float:
        assert look.value is not None  # of a trial that was stopped or can be chosen
        return look.value if self.objective.greater_is_better else -look.value

    def _cost(self, look: Look, start: Look) -> float:
        if self.cost != "tokens":
            return look.calls
        if look.tokens is not None:
            return look.tokens
        assert start.tokens is not None  # or the first trial was refused
        return look.calls * start.tokens / start.calls if start.calls else look.calls

    def _figures(self, look: Look) -> dict[str, Any]:
        figure = self.course.estimate(look)
        return {
            **look.model_dump(include={"cases", "scored", "value", "calls", "tokens"}),
            "error": known(self.course.error(look)),
            "low": known(figure.low),
            "high": known(figure.high),
        }


def known(value: float) -> float | None:
    """The number; None for one that JSON cannot hold."""
    return value if math.isfinite(value) else None
