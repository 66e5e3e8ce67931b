"""What an evaluation says, as JSON: figures with intervals by section, and the rows of its tables and plots."""

from typing import Literal

from pydantic import Field

from ..data import Usage
from ..data.case import Record


class Measure(Record):
    """One figure with its 95 % interval."""

    name: str
    value: float | None = Field(default=None, description="None: not defined on these cases; `note` says why")
    low: float | None = None
    high: float | None = None
    n: int = Field(default=0, description="cases that it is of")
    groups: int | None = Field(default=None, description="independent groups (prompts, persons), when fewer than n")
    what: str = Field(default="", description="its meaning in words")
    note: str = ""
    kind: Literal["share", "number"] = Field(default="number", description="a share in [0, 1] is told in percent")
    neutral: float | None = Field(default=None, description="the value of a judge that is not biased, or no better")


class PairedTest(Record):
    """One test of a difference between two runs on the same cases.

    Attributes:
        alone: of shares, cases that are right by the first run alone, and by the second alone.
    """

    name: str
    difference: Measure
    alone: tuple[int, int] | None = None
    p: float | None = None
    p_holm: float | None = Field(default=None, description="adjusted for all tests of the table (Holm 1979)")
    note: str = ""


class ConfusionTable(Record):
    """How often the judge says the column's label where people say the row's."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class LabelRow(Record):
    """One label against the others; None where nothing was predicted, or nothing is of the label."""

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int = Field(description="cases that people give the label")
    predicted: int


class Bin(Record):
    """Verdicts of about the same certainty."""

    low: float
    high: float
    certainty: float = Field(description="mean in the bin")
    accuracy: Measure


class CurvePoint(Record):
    """The verdicts at or above a certainty."""

    threshold: float
    coverage: float = Field(description="share of the labelled verdicts that is kept")
    accuracy: Measure


class Histogram(Record):
    """How often scores fall between the edges, on the judge's and on people's scale."""

    whose: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]


class SystemRow(Record):
    """One system by its mean score, or by its strength in pairs (Bradley-Terry, log-odds)."""

    system: str
    judge: Measure
    people: Measure | None = None


class Stratum(Record):
    """Pairs of one difficulty, by how far people's scores lie apart."""

    name: str
    low: float
    high: float
    measures: tuple[Measure, ...]


class Branch(Record):
    """What the first n criteria alone would have said."""

    n: int
    full: int = Field(description="cases that have n criteria; the others have all of theirs")
    measures: tuple[Measure, ...]


class Evaluation(Record):
    """Everything that is said of one run.

    `sections` holds the figures by the question that they answer, in reading order; a section that does not apply is
    left out.
    """

    format: int = 1
    signature: str = Field(description="judge|structure|model|n|data|seed|version: what reproduces the figures")
    judge: str
    cases: int
    scored: int
    labelled: int = Field(description="scored and with a human label")
    groups: int
    unscored: dict[str, int] = Field(default_factory=dict, description="reason: how many")
    sections: dict[str, tuple[Measure, ...]] = Field(default_factory=dict)
    confusion: ConfusionTable | None = None
    labels: tuple[LabelRow, ...] = ()
    reliability: tuple[Bin, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    histograms: tuple[Histogram, ...] = ()
    systems: tuple[SystemRow, ...] = ()
    strata: tuple[Stratum, ...] = ()
    branches: tuple[Branch, ...] = ()
    usage: Usage = Usage()

    def measure(self, name: str) -> Measure | None:
        """The first figure of this name in any section."""
        return next((one for section in self.sections.values() for one in section if one.name == name), None)


class Comparison(Record):
    """Two runs on the cases that both have a verdict for."""

    first: str
    second: str
    cases: int = Field(description="labelled cases that both scored")
    only_first: int
    only_second: int
    tests: tuple[PairedTest, ...] = ()
