"""The records of an evaluation, as JSON: measures with intervals by section, and the rows of its tables and plots."""

from typing import Literal

from pydantic import Field

from ..data import Usage
from ..data.case import Record
from ..data.html import html_table
from .renamed_measures import current_name


class Measure(Record):
    """One metric's value on a run, with its 95 % interval."""

    name: str = Field(description="of the metric, unique in its section")
    value: float | None = Field(default=None, description="None: not defined on these cases; `note` says why")
    low: float | None = Field(default=None, description="lower end of the interval; None: no interval")
    high: float | None = Field(default=None, description="upper end of the interval")
    n: int = Field(default=0, description="cases that the value is computed on")
    groups: int | None = Field(default=None, description="independent groups (prompts, persons), when fewer than n")
    effective_n: float | None = Field(
        default=None, description="of a proportion: independent cases that would give the same variance"
    )
    effective_groups: float | None = Field(
        default=None, description="groups of equal size that groups of unequal size count for; None: all have one size"
    )
    design_effect: float | None = Field(
        default=None, description="of a proportion in groups: its variance by that of as many independent cases"
    )
    description: str = Field(default="", description="the meaning of the value in words")
    note: str = Field(default="", description="what a reader must know of this value")
    warning: str = Field(default="", description="why the run may be worth little, and what to do; empty: nothing")
    kind: Literal["proportion", "number"] = Field(
        default="number", description="a proportion, or a difference of two, is shown in percent"
    )
    null_value: float | None = Field(
        default=None, description="the value of a judge without this bias, or without a difference"
    )

    @property
    def freedom(self) -> float:
        """Student's degrees of freedom of the interval: one less than there are effective groups, or cases."""
        groups = self.n if self.groups is None else self.groups
        return (groups if self.effective_groups is None else self.effective_groups) - 1


class PairedTest(Record):
    """One test of a difference between two runs on the same cases."""

    name: str = Field(description="what is compared, such as accuracy")
    difference: Measure = Field(description="first run less second")
    discordant: tuple[int, int] | None = Field(
        default=None, description="of proportions: cases that only the first run has right, and only the second"
    )
    p: float | None = Field(default=None, description="two-sided p-value; None: not tested")
    p_holm: float | None = Field(default=None, description="adjusted for all tests of the table (Holm 1979)")
    p_looks: float | None = Field(
        default=None, description="`p` adjusted for earlier tests of the same cases; None: they are not counted"
    )
    note: str = Field(default="", description="the test, and what limits it")


class ConfusionTable(Record):
    """How often the judge says the column's label where people say the row's."""

    labels: tuple[str, ...] = Field(description="a, b, tie; for choices the indices; or the categories")
    counts: tuple[tuple[int | float, ...], ...] = Field(
        description="(labels, labels), rows people, columns the judge; halves where each order counts by one half"
    )


class LabelRow(Record):
    """One label against the others; None where nothing was predicted, or nothing is of the label."""

    label: str = Field(description="a, b, tie, an index or a category")
    precision: float | None = Field(description="correct verdicts of those that name the label")
    recall: float | None = Field(description="correct verdicts of the cases of the label")
    f1: float | None = Field(description="harmonic mean of precision and recall")
    support: int | float = Field(description="cases that people give the label")
    predicted: int | float = Field(description="cases that the judge gives the label")


class Bin(Record):
    """Verdicts of about the same certainty."""

    low: float = Field(description="certainty, exclusive but for 0")
    high: float = Field(description="certainty, inclusive")
    certainty: float = Field(description="mean in the bin")
    accuracy: Measure = Field(description="of the verdicts in the bin")


class CurvePoint(Record):
    """The verdicts at or above a certainty."""

    threshold: float = Field(description="lowest certainty of the verdicts, inclusive")
    coverage: float = Field(description="proportion of the labelled verdicts at or above the threshold")
    accuracy: Measure = Field(description="of the verdicts at or above the threshold")


class PassPoint(Record):
    """The texts whose positive category has at least a probability."""

    threshold: float = Field(description="probability of the positive category, inclusive")
    precision: float = Field(description="of the texts at or above the threshold, those that people call positive")
    recall: float = Field(description="of the texts that people call positive, those at or above the threshold")
    passed: int = Field(description="texts at or above the threshold")


class Histogram(Record):
    """How often scores fall between the edges, on the judge's or on people's scale."""

    whose: str = Field(description="judge or people")
    edges: tuple[float, ...] = Field(description="of the bins, ascending; one more than there are bins")
    counts: tuple[int, ...] = Field(description="scores in each bin")


class SystemRow(Record):
    """One system by its mean score, or by its strength in pairs (Bradley-Terry, log-odds)."""

    system: str = Field(description="name")
    judge: Measure = Field(description="mean score or strength by the judge")
    people: Measure | None = Field(default=None, description="the same by people; None: no labels")


class Stratum(Record):
    """Pairs of one difficulty, by how far human scores lie apart."""

    name: str = Field(description="hard, medium or easy")
    low: float = Field(description="distance of the two human scores, exclusive")
    high: float = Field(description="distance of the two human scores, inclusive")
    measures: tuple[Measure, ...] = Field(description="of the pairs of this difficulty")


class Subgroup(Record):
    """The cases with one value of a field, against all other cases."""

    value: str = Field(description='the value; "(none)" for cases without one')
    cases: int = Field(description="cases with the value, scored or not")
    figure: Measure = Field(description="accuracy of verdicts, or Spearman's correlation of scores, on these cases")
    difference: Measure | None = Field(default=None, description="less the same figure on all other cases")
    p: float | None = Field(default=None, description="two-sided p-value of the difference; None: not tested")
    p_holm: float | None = Field(default=None, description="adjusted for all values of all fields (Holm 1979)")
    note: str = Field(default="", description="why it is not tested")


class SubgroupTable(Record):
    """A run by one field."""

    field: str = Field(description="name of the field, such as subset")
    rows: tuple[Subgroup, ...] = Field(description="one for each value, the lowest figure first")
    test: str = Field(default="", description="the test of the differences; empty: there is none")


class Subgroups(Record):
    """A run by fields of its cases."""

    tables: tuple[SubgroupTable, ...] = Field(description="one for each field")
    summary: str = Field(description="where the judge is worst, or that no value is shown to be below the others")


class Branch(Record):
    """What the first n criteria would have given by themselves."""

    n: int = Field(description="criteria")
    full: int = Field(description="cases that have n criteria; the others have all of theirs")
    measures: tuple[Measure, ...] = Field(description="of the verdicts from these criteria")


class Evaluation(Record):
    """All measures of one run."""

    format: int = Field(default=1, description="version of this record")
    signature: str = Field(description="judge|structure|model|n|data|seed|version: what reproduces the measures")
    judge: str = Field(description="name of the judge")
    cases: int = Field(description="cases of the run, unscored cases included")
    scored: int = Field(description="cases with a verdict")
    labelled: int = Field(description="with a human label, and scored or counted as wrong")
    groups: int = Field(description="independent groups (prompts, persons) of the scored cases")
    unscored: dict[str, int] = Field(default_factory=dict, description="reason: how many")
    noted: int = Field(default=0, description="verdicts with a note")
    note: str = Field(default="", description="one of the notes")
    repeated: int = Field(default=0, description="lines left out because another line is of the same case")
    unequal_sample: bool = Field(
        default=False, description="the cases have unequal inclusion probabilities, as a sample of dicast agreement has"
    )
    notices: tuple[str, ...] = Field(default=(), description="how the verdicts were read, where they do not say it")
    sections: dict[str, tuple[Measure, ...]] = Field(
        default_factory=dict, description="measures by section, in reading order; without sections that do not apply"
    )
    titles: dict[str, str] = Field(default_factory=dict, description="the title of each section")
    confusion: ConfusionTable | None = Field(default=None, description="None: no labelled verdict")
    labels: tuple[LabelRow, ...] = Field(default=(), description="precision, recall and F1 of each label")
    reliability: tuple[Bin, ...] = Field(default=(), description="accuracy by bins of certainty")
    curve: tuple[CurvePoint, ...] = Field(default=(), description="accuracy over coverage")
    positive: str = Field(default="", description="the positive of two categories; empty: there are not two")
    precision_recall: tuple[PassPoint, ...] = Field(
        default=(), description="precision over recall of the positive category, the highest threshold first"
    )
    histograms: tuple[Histogram, ...] = Field(default=(), description="of the judge's and the human scores")
    systems: tuple[SystemRow, ...] = Field(default=(), description="the best by the judge first")
    strata: tuple[Stratum, ...] = Field(default=(), description="pairs by difficulty, the hardest first")
    branches: tuple[Branch, ...] = Field(default=(), description="by number of criteria, from 1 on")
    subgroups: Subgroups | None = Field(default=None, description="by fields of the cases; None: not asked for")
    usage: Usage = Field(default=Usage(), description="of all cases")

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of all measures, equal texts once, that lines do not count, and that a sample is unequal."""
        measured = [measure.warning for section in self.sections.values() for measure in section if measure.warning]
        texts = [*dict.fromkeys(measured)]
        lines = f"{self.repeated:,} {'line does' if self.repeated == 1 else 'lines do'}"
        if self.repeated:
            texts.append(f"{lines} not count, as an equal or a later line is of the same case")
        if self.unequal_sample:
            texts.append(
                "the cases are a sample of unequal probabilities (field inclusion_probability), so the figures are not "
                "of the cases that it was drawn from. Give the labels to dicast agreement --labels"
            )
        return tuple(texts)

    def measure(self, name: str) -> Measure | None:
        """The first measure of this name in any section; an earlier name of a measure is read as its name now."""
        by_name = {measure.name: measure for section in [*self.sections.values()][::-1] for measure in section[::-1]}
        return by_name.get(name) or by_name.get(current_name(name))

    def _repr_html_(self) -> str:
        """The measures as a table, for notebooks; all texts are escaped."""
        rows = [
            (
                self.titles.get(section, section),
                measure.name,
                "-" if measure.value is None else f"{measure.value:.3f}",
                "" if measure.low is None or measure.high is None else f"[{measure.low:.3f}, {measure.high:.3f}]",
                measure.n,
                measure.description,
            )
            for section, measures in self.sections.items()
            for measure in measures
        ]
        return html_table(self.signature, ("section", "measure", "value", "95 % CI", "n", "description"), rows)


class RunComparison(Record):
    """Two runs on the cases that both have a verdict for."""

    first: str = Field(description="name of the first run")
    second: str = Field(description="name of the second run")
    cases: int = Field(description="labelled cases that both scored")
    only_first: int = Field(description="cases that only the first run scored")
    only_second: int = Field(description="cases that only the second run scored")
    only_first_ids: tuple[str, ...] = Field(default=(), description="the first ten of them, in the order of ids")
    only_second_ids: tuple[str, ...] = Field(default=(), description="the first ten of those of the second run")
    tests: tuple[PairedTest, ...] = Field(default=(), description="first run against second")
    subgroups: tuple[PairedTest, ...] = Field(
        default=(), description="the same on the cases of each value of a field; adjusted apart from the other tests"
    )


def unshared_lines(comparison: RunComparison) -> list[str]:
    """The cases that only one of two runs scored, a sentence for each run that has any."""
    sides = (
        (comparison.first, comparison.only_first, comparison.only_first_ids),
        (comparison.second, comparison.only_second, comparison.only_second_ids),
    )
    return [
        f"Only {name} scored {count:,} {'case' if count == 1 else 'cases'}: {', '.join(ids)}"
        f"{', ...' if len(ids) < count else ''}."
        if ids
        else f"Only {name} scored {count:,} {'case' if count == 1 else 'cases'}."
        for name, count, ids in sides
        if count
    ]
