"""The Pareto front of a search: the structures that no other one beats in both agreement and cost, and which to take.

best     the one of the highest agreement
cheap    the cheapest within one standard error of the best (the rule of Breiman et al. 1984, section 3.4.3)
knee     the one farthest above the line through the ends of the front, both axes scaled to [0, 1] (Das 1999,
         Structural Optimization 18; knees as a choice: Branke et al. 2004, PPSN VIII)
"""

from collections.abc import Sequence
from typing import Any, Literal

from ...data.case import Record

Prefer = Literal["best", "cheap", "knee"]
Status = Literal["complete", "stopped", "unusable"]


class Trial(Record):
    """One structure that was tried.

    Attributes:
        number: 0 is the judge as it stood.
        status: whether it judged all cases, was stopped by a rival, or cannot be used (`detail` says why).
        cases: judged; `scored` of them have a verdict.
        value: the objective on the scored ones, with its standard error and 95 % interval; None where not defined.
        calls: LM calls a verdict, those that the cache answered included.
        tokens: a verdict, alike; an estimate where the cache answered.
        rival: of a stopped one: the number of the structure that beat it.
    """

    number: int
    settings: dict[str, Any]
    status: Status = "complete"
    cases: int = 0
    scored: int = 0
    value: float | None = None
    error: float | None = None
    low: float | None = None
    high: float | None = None
    calls: float = 0.0
    tokens: float | None = None
    rival: int | None = None
    detail: str = ""

    def told(self) -> str:
        """One line about it."""
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        if self.status == "unusable":
            return f"trial {self.number}: unusable ({self.detail}): {settings}"
        ended = "" if self.status == "complete" else f", stopped after {self.cases} cases by trial {self.rival}"
        value = "no figure" if self.value is None else f"{self.value:.3f}"
        return f"trial {self.number}: {value}, {self.calls:.1f} calls{ended}: {settings}"


class Priced(Record):
    """A complete trial as a place in the plane: a higher worth and a lower cost are better."""

    number: int
    worth: float
    cost: float
    error: float = 0.0


def front(trials: Sequence[Priced]) -> tuple[Priced, ...]:
    """The trials that no other one beats, the cheapest first; of equal ones the first tried."""
    kept: list[Priced] = []
    for trial in sorted(trials, key=lambda one: (one.cost, -one.worth, one.number)):
        if not kept or trial.worth > kept[-1].worth:
            kept.append(trial)
    return tuple(kept)


def choose(among: Sequence[Priced], prefer: Prefer) -> Priced:
    """The trial to take of a front, the cheapest first as `front` gives it; a front of one or two has no knee: best.

    Raises:
        ValueError: an empty front.
    """
    best = max(among, key=lambda one: one.worth)
    if prefer == "cheap":
        return next(one for one in among if one.worth >= best.worth - best.error)
    if prefer == "knee" and len(among) > 2:
        return max(among, key=lambda one: (_above_the_line(one, among[0], among[-1]), one.worth))
    return best


def _above_the_line(trial: Priced, cheapest: Priced, best: Priced) -> float:
    """The distance to the line through the ends, times the square root of 2; below the line it is negative."""
    worth = (trial.worth - cheapest.worth) / (best.worth - cheapest.worth)
    return worth - (trial.cost - cheapest.cost) / (best.cost - cheapest.cost)
