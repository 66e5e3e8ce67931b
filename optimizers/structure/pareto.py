"""The Pareto front of a search, the structures that no other structure beats in both objective and cost; which to take.

best     the structure with the best objective
cheap    the cheapest within one standard error of the best (the rule of Breiman et al. 1984, section 3.4.3)
knee     the structure farthest above the line through the ends of the front, both axes scaled to [0, 1] (Das 1999,
         Structural Optimization 18; knees as a choice: Branke et al. 2004, PPSN VIII)
"""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from ...data.case import Record

Prefer = Literal["best", "cheap", "knee"]
Status = Literal["complete", "stopped", "unusable"]


class StructureTrial(Record):
    """One structure and its results."""

    number: int = Field(description="0 is the judge before the search")
    settings: dict[str, Any] = Field(description="the values of the searched parameters")
    status: Status = Field(
        default="complete", description="whether it judged all cases, was stopped by a rival, or cannot be used"
    )
    cases: int = Field(default=0, description="judged cases")
    scored: int = Field(default=0, description="judged cases with a verdict")
    value: float | None = Field(default=None, description="the objective on the scored cases; None if not defined")
    error: float | None = Field(default=None, description="standard error of the value")
    low: float | None = Field(default=None, description="lower limit of the value at 95 %")
    high: float | None = Field(default=None, description="upper limit of the value at 95 %")
    calls: float = Field(default=0.0, description="mean LM calls of a verdict, including those that the cache answered")
    tokens: float | None = Field(default=None, description="mean tokens of a verdict, estimated for cached answers")
    seconds: float | None = Field(
        default=None, description="mean seconds of a verdict, summed over calls, estimated for cached answers"
    )
    rival: int | None = Field(default=None, description="of a stopped structure: the number of the trial that beat it")
    detail: str = Field(default="", description="why the structure cannot be used")

    def summary(self) -> str:
        """One line for the terminal."""
        settings = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        if self.status == "unusable":
            return f"trial {self.number}: unusable ({self.detail}): {settings}"
        ended = "" if self.status == "complete" else f", stopped after {self.cases} cases by trial {self.rival}"
        value = "no value" if self.value is None else f"{self.value:.3f}"
        return f"trial {self.number}: {value}, {self.calls:.1f} calls{ended}: {settings}"


class ParetoPoint(Record):
    """A complete trial as a point of the plane of utility and cost."""

    number: int = Field(description="of the trial")
    utility: float = Field(description="the objective, turned so that higher is better")
    cost: float = Field(description="of a verdict; lower is better")
    error: float = Field(default=0.0, description="standard error of the utility")


def pareto_front(points: Sequence[ParetoPoint]) -> tuple[ParetoPoint, ...]:
    """The points that no other point beats, the cheapest first; of equal points the first tried."""
    front: list[ParetoPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -point.utility, point.number)):
        if not front or point.utility > front[-1].utility:
            front.append(point)
    return tuple(front)


def choose(front: Sequence[ParetoPoint], prefer: Prefer) -> ParetoPoint:
    """The point to take from a front in the order of `pareto_front`; a front of one or two points has no knee: best.

    Raises:
        ValueError: an empty front.
    """
    best = max(front, key=lambda point: point.utility)
    if prefer == "cheap":
        return next(point for point in front if point.utility >= best.utility - best.error)
    if prefer == "knee" and len(front) > 2:
        return max(front, key=lambda point: (_above_the_line(point, front[0], front[-1]), point.utility))
    return best


def _above_the_line(point: ParetoPoint, cheapest: ParetoPoint, best: ParetoPoint) -> float:
    """The distance to the line through the ends, times the square root of 2; below the line it is negative."""
    utility = (point.utility - cheapest.utility) / (best.utility - cheapest.utility)
    return utility - (point.cost - cheapest.cost) / (best.cost - cheapest.cost)
