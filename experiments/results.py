"""What an experiment gave: for every cell and measure the printed figures and ours, as JSON."""

from decimal import Decimal
from typing import Literal

from pydantic import Field

from ..data import Usage
from ..data.case import Record
from ..evaluation.results import Measure
from .spec import SweepFigure, Unit, Value

Status = Literal["complete", "stopped", "budget", "dry run"]


class Printed(Record):
    """A figure of the paper."""

    system: str = Field(description="the system or model that it is of")
    value: Decimal = Field(description="with all printed decimals, in the unit of the line")
    place: str = Field(default="", description="where it is printed, if not at the place of the experiment")


class CostEstimate(Record):
    """What is expected of runs before they start, without a call."""

    runs: int = Field(default=0, description="runs of judges, equal ones once")
    cases: int | None = Field(default=0, description="cases in all runs; None: one of them was not counted")
    done: int = Field(default=0, description="of these, judged before")
    calls: int | None = Field(default=0, description="LM calls that are left; None: not known")
    prompt_tokens: int | None = Field(default=0, description="of these calls")
    completion_tokens: int | None = Field(default=0, description="of these calls, if answers have a usual length")
    cost: float | None = Field(default=None, description="US dollars; None: a price is not known")
    notes: tuple[str, ...] = Field(default=(), description="what limits the estimate")

    @property
    def words(self) -> str:
        """The estimate in one line."""
        left = (
            "an unknown number of cases"
            if self.cases is None
            else f"{self.cases - self.done:,} of {self.cases:,} cases"
        )
        tokens = f"{_about(self.prompt_tokens)} prompt and {_about(self.completion_tokens)} generated tokens"
        cost = "price unknown" if self.cost is None else _dollars(self.cost)
        runs = "1 run" if self.runs == 1 else f"{self.runs:,} runs"
        return f"{runs}, {left} left: {_about(self.calls)} calls, {tokens}, {cost}"


def _dollars(cost: float) -> str:
    return f"about ${cost:,.2f}" if cost >= 0.1 or not cost else f"about ${cost:.1g}"


def _about(count: int | None) -> str:
    return "an unknown number of" if count is None else f"about {count:,}" if count else "0"


class MissingSet(Record):
    """A set that is not on this machine."""

    name: str = Field(description="as the experiment calls it")
    why: str = Field(description="what was looked for")
    get: str = Field(description="where a user gets it")


class ResultLine(Record):
    """One measure of one cell."""

    cell: str = Field(description="run and values, in words")
    run: str = Field(description="name of the run in the file")
    set: str = Field(description="name of the set")
    axes: dict[str, Value] = Field(default_factory=dict, description="values of the axes that have several")
    model: str = Field(default="", description="model string; empty: the judge asks none")
    measure: str = Field(description="its title, or its name")
    address: str = Field(description="of the figure in the evaluation")
    unit: Unit = Field(default="number", description="in which printed figures and ours are shown")
    printed: tuple[Printed, ...] = Field(default=(), description="of the paper, by system")
    ours: Measure | None = Field(default=None, description="None: not run, or not defined on these cases")
    spread: float | None = Field(default=None, description="standard deviation over repeated runs")
    repeated: tuple[float, ...] = Field(default=(), description="the value of each repeated run")
    note: str = Field(default="", description="why there is no figure, or what limits it")
    folders: tuple[str, ...] = Field(default=(), description="run folders that it was computed from")


class ExperimentResult(Record):
    """All lines of an experiment."""

    format: int = Field(default=1, description="version of this record")
    name: str = Field(description="of the experiment")
    file: str = Field(default="", description="of a user's experiment, as it was given")
    title: str = Field(description="what is measured")
    place: str = Field(default="", description="paper and table or figure; empty: an experiment of a user's")
    source: str = Field(default="", description="where the printed figures were read")
    status: Status = Field(default="complete", description="how it ended")
    message: str = Field(default="", description="why it ended, if not complete")
    models: tuple[str, ...] = Field(default=(), description="model strings")
    limit: int | None = Field(default=None, description="cases of each set at most")
    limit_groups: int | None = Field(default=None, description="whole inputs or persons of each set at most")
    seed: int | None = Field(default=None, description="of the sample of the cases")
    cases: dict[str, str] = Field(default_factory=dict, description="set: the user's cases in its place")
    only: tuple[str, ...] = Field(default=(), description="sets that were asked for; empty: all")
    lines: tuple[ResultLine, ...] = Field(default=(), description="in the order of the file")
    missing: tuple[MissingSet, ...] = Field(default=(), description="sets that are not on this machine")
    differs: tuple[str, ...] = Field(default=(), description="what differs from the paper in data or setting")
    not_at_hand: str = Field(default="", description="printed figures that are missing, and why")
    figure: SweepFigure | None = Field(default=None, description="the plot")
    usage: Usage = Field(default=Usage(), description="of this call")
    estimate: CostEstimate = Field(default=CostEstimate(), description="before this call")
