"""The content of an experiment file (docs/experiments.md): sets, runs, measures, printed figures, differences."""

from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ..data.case import NonEmpty, Record, Text

Value = str | bool | int | float  # of an axis or a setting; a quoted value is a text
Unit = Literal["number", "percent"]
MOST_SAMPLES = 100


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


Names = Annotated[tuple[NonEmpty, ...], BeforeValidator(_as_tuple)]


class ExperimentSet(Record):
    """Cases that runs judge."""

    cases: Text = Field(
        default="", description="a set of `dicast data list`, or a file; empty: the name that the set has here"
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="how the cases are read and chosen: scale, aspect, fields, no_ties, ..."
    )
    prepare: Text = Field(default="", description="preparations that come first, as `dicast prepare --with` names them")
    settings: dict[str, Any] = Field(default_factory=dict, description="parameters of the preparations")
    seed: int = Field(default=0, ge=0, description="of what a preparation of a whole set draws")
    corrected: Text = Field(
        default="",
        description="in place of `cases`: a run of the experiment, whose rewritten texts are judged with the originals",
    )
    fetch: Text = Field(default="", description="where a user gets the file, if the catalogue does not have it")


class Measuring(Record):
    """Options of `dicast evaluate`; None leaves an option as it is by default."""

    threshold: float | None = Field(default=None, ge=0, le=1, description="certainty from which a verdict is sure")
    judge_systems: Names = Field(default=(), description="systems that are the judge itself")
    texts: Text | None = Field(default=None, description="generated against written texts, as in bleu,rouge")
    by: Names = Field(default=(), description="fields of the cases whose values have a figure each")
    merge: Literal["tie", "sum", "half"] | None = Field(default=None, description="how two orders make a verdict")
    unreadable: Literal["out", "wrong"] | None = Field(default=None, description="verdicts without an answer")


class ExperimentRun(Record):
    """A judge over one set or several, with the values that are varied."""

    judge: NonEmpty = Field(description="a name of `dicast list`, or a file")
    sets: Names = Field(min_length=1, description="names of the sets that it judges")
    settings: dict[str, Any] = Field(default_factory=dict, description="parameters of the judge")
    over: dict[NonEmpty, tuple[Value, ...]] = Field(
        default_factory=dict,
        description="axis: its values; a parameter of the judge, an option of the set or of measuring, judge, samples, "
        "or pool. Every combination is a cell",
    )
    repeat: dict[NonEmpty, tuple[Value, ...]] = Field(
        default_factory=dict, description="as `over`, but all the runs are one cell, with their mean and spread"
    )
    samples: int = Field(default=1, ge=1, le=MOST_SAMPLES, description="how often each case is judged")
    pool: Literal["mean", "median", "majority", "probability"] = Field(
        default="majority", description="how samples are combined"
    )
    model: NonEmpty = Field(
        default="judge", description="the role of --lm that answers all the stages; `judge`: every stage its own role"
    )
    options: dict[str, Any] = Field(default_factory=dict, description="as of the sets, for this run alone")
    measuring: Measuring = Field(default=Measuring(), description="options of `dicast evaluate`, for this run alone")
    measures: "tuple[MeasureSpec, ...] | None" = Field(default=None, description="in place of those of the experiment")

    @model_validator(mode="after")
    def _axes_have_values(self) -> Self:
        for where in ("over", "repeat"):
            for axis, values in getattr(self, where).items():
                if not values or len(set(map(repr, values))) < len(values):
                    raise ValueError(f"{where}: {axis} needs values, each once")
        if len(set(self.sets)) < len(self.sets):
            raise ValueError("sets needs names, each once")
        if both := set(self.over) & set(self.repeat):
            raise ValueError(f"{sorted(both)[0]} is in `over` and in `repeat`; keep one")
        if named := {"set", "run", "model"} & {*self.over, *self.repeat}:
            raise ValueError(f"{sorted(named)[0]} is no axis; list several `sets`, runs or --lm")
        return self


class MeasureSpec(Record):
    """A figure of an evaluation."""

    name: NonEmpty = Field(description="its address: accuracy, accuracy[subset=hard], or a path as in usage.calls")
    title: Text = Field(default="", description="what it is called in the table; empty: its name")
    unit: Unit = Field(default="number", description="how printed figures and ours are shown")

    @property
    def shown(self) -> str:
        return self.title or self.name


Measures = tuple[Annotated[MeasureSpec, BeforeValidator(_named)], ...]
ExperimentRun.model_rebuild(_types_namespace={"MeasureSpec": Annotated[MeasureSpec, BeforeValidator(_named)]})


class PrintedFigures(Record):
    """Figures as the paper prints them, for the cells that have these values."""

    at: dict[NonEmpty, Value] = Field(description="`run`, `set` and axes: the values of the cell")
    values: dict[NonEmpty, dict[NonEmpty, Decimal]] = Field(
        min_length=1, description="measure: system that printed it: figure, in the unit of the measure"
    )
    place: Text = Field(default="", description="where, if not at the place of the experiment")


class SweepFigure(Record):
    """A plot of the measures over an axis."""

    over: NonEmpty = Field(description="the axis")
    measures: Names = Field(default=(), description="which measures; empty: all")


class ExperimentFile(Record):
    """The content of an experiment file."""

    title: NonEmpty = Field(description="what is measured")
    paper: Text = Field(default="", description='as in "arXiv 2405.12163"; empty for an experiment of yours')
    place: Text = Field(default="", description='as in "Table 3"')
    source: Text = Field(default="", description="where the printed figures were read")
    sets: dict[NonEmpty, ExperimentSet] = Field(default_factory=dict, description="name: cases")
    runs: dict[NonEmpty, ExperimentRun] = Field(min_length=1, description="name: judge, sets and values")
    measures: Measures = Field(default=(), description="of every run without `measures`")
    unit: Unit = Field(default="number", description="of measures that are only named")
    measuring: Measuring = Field(default=Measuring(), description="options of `dicast evaluate` for every run")
    printed: tuple[PrintedFigures, ...] = Field(default=(), description="the figures of the paper")
    not_at_hand: Text = Field(default="", description="printed figures that are missing here, and why")
    differs: Names = Field(default=(), description="sentences: what differs from the paper in data or setting")
    figure: SweepFigure | None = Field(default=None, description="a plot over an axis")

    @model_validator(mode="before")
    @classmethod
    def _sets_without_content(cls, value: Any) -> Any:
        """`sets` may be a list of names, and a set without content is the catalogue's of that name."""
        if not isinstance(value, dict):
            return value
        sets = value.get("sets", {})
        if isinstance(sets, list):
            sets = {name: {} for name in sets if isinstance(name, str)}
        if isinstance(sets, dict):
            sets = {name: {} if content is None else content for name, content in sets.items()}
        return value | {"sets": sets}
