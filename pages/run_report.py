"""The content of a run page: the runs, their evaluations, and the verdicts that differ from the human labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ..data import Case, Judged
from ..data.reason import Reason
from ..evaluation.results import Evaluation, Measure
from ..evaluation.themes import Theme

FEW = 30  # labelled cases or groups; with fewer, the interval of a proportion is about 30 points wide
# Section and start of the name, in order of preference.
LEADS = (
    ("agreement", "accuracy"),
    ("correlation", "spearman"),
    ("correlation", "pearson"),
    ("correlation", "kendall"),
    ("choice", "ndcg"),
)
OF_ORDERS = "mean of orders above "


ThemesOf = Literal["requests", "reasons"]


@dataclass(frozen=True)
class Disagreement:
    """A verdict that differs from the human label.

    Attributes:
        case: None if the texts could not be read again.
        reason: that was written for the verdict after it.
    """

    judged: Judged
    case: Case | None
    reason: Reason | None = None


@dataclass(frozen=True)
class RunSubject:
    """What a run is of, in the user's words; empty where it is not known.

    Attributes:
        judge: its name, or the stem of its file.
        model: the names of its models, without their providers.
        data: the name of the set, or of the file without its folder.
    """

    judge: str
    model: str = ""
    data: str = ""


@dataclass(frozen=True)
class RunReport:
    """One run.

    Attributes:
        name: on the page, different from that of every other run.
        disagreements: the strongest first.
        subject: what the run is of; None: only its name is known.
        themes: of what the labelled cases ask, and of the reasons for their verdicts.
    """

    name: str
    evaluation: Evaluation
    disagreements: Sequence[Disagreement] = ()
    subject: RunSubject | None = None
    themes: Mapping[ThemesOf, tuple[Theme, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class LeadMeasure:
    """The measure that summarises a run, with everything to compare it with.

    Attributes:
        run: name of the run.
        baselines: the same measure of the baselines without a model.
        margins: the judge less a baseline, case by case, by the baseline's name.
        ceiling: the human ceiling, one annotator against the others; None if it cannot be computed.
        margin_over_person: the judge less that annotator, on the same cases; None if it cannot be computed.
    """

    run: str
    measure: Measure
    baselines: tuple[Measure, ...]
    margins: dict[str, Measure]
    ceiling: Measure | None
    margin_over_person: Measure | None

    @property
    def value(self) -> float:
        return self.measure.value if self.measure.value is not None else math.nan

    @property
    def is_small(self) -> bool:
        """Whether there are fewer than 30 independent labelled cases."""
        return (self.measure.groups or self.measure.n) < FEW

    @property
    def strongest_baseline(self) -> Measure | None:
        return max(self.baselines, key=lambda baseline: baseline.value or 0.0, default=None)

    def without_baselines(self) -> "LeadMeasure":
        return replace(self, baselines=(), margins={})

    def is_comparable(self, other: "LeadMeasure") -> bool:
        """Whether both have the same measure, so that they can share an axis."""
        return self.measure.name == other.measure.name and self.measure.kind == other.measure.kind


def lead_measure(run: RunReport) -> LeadMeasure | None:
    """Accuracy, else a correlation, else nDCG; None if the run has none of them.

    The mean of both orders takes the place of accuracy where the merged verdicts have ties and people's labels none;
    the evaluation has its lead over the baselines there.
    """
    measure = _first(run.evaluation)
    if measure is None:
        return None
    sections = run.evaluation.sections
    baselines = [baseline for baseline in sections.get("baselines", ()) if baseline.value is not None]
    above = OF_ORDERS if measure.name == "mean of orders" else "above "
    people = {person.name: person for person in sections.get("people", ()) if person.value is not None}
    ceiling = people.get("human ceiling")
    if ceiling is not None and ceiling.kind != measure.kind:
        ceiling = None
    return LeadMeasure(
        run=run.name,
        measure=measure,
        baselines=tuple(b for b in baselines if b.null_value is None and b.kind == measure.kind),
        margins={b.name.removeprefix(above): b for b in baselines if b.name.startswith(above)},
        ceiling=ceiling,
        margin_over_person=people.get("judge above ceiling") if ceiling else None,
    )


def calibration_error(evaluation: Evaluation) -> Measure | None:
    """The expected calibration error."""
    return measure_named(evaluation, "calibration", "ECE")


def measure_named(evaluation: Evaluation, section: str, name: str) -> Measure | None:
    """The measure of this name in the section; None if it is missing or undefined."""
    measures = evaluation.sections.get(section, ())
    return next((measure for measure in measures if measure.name == name and measure.value is not None), None)


def _first(evaluation: Evaluation) -> Measure | None:
    if any(measure.name.startswith(OF_ORDERS) for measure in evaluation.sections.get("baselines", ())):
        return measure_named(evaluation, "agreement", "mean of orders")
    for section, start in LEADS:
        for measure in evaluation.sections.get(section, ()):
            if measure.name.lower().startswith(start) and measure.value is not None:
                return measure
    return None
