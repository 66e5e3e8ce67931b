"""How figures are told: in percent, points or plain numbers; which one leads a run, and what it is held against."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from ..evaluation.results import Evaluation, Measure
from .run_report import RunReport

Unit = Literal["percent", "points", "number", "change"]
FEW = 30  # labelled cases or groups; below, the interval of a share is some 30 points wide
_LEADS = (
    ("agreement", "accuracy"),
    ("correlation", "spearman"),
    ("correlation", "pearson"),
    ("correlation", "kendall"),
    ("choice", "ndcg"),
)
MISSING = "—"
THIN = "\u202f"  # narrow no-break space
MINUS = "\u2212"


@dataclass(frozen=True)
class Lead:
    """The figure that a run is told by, and what it has to be held against.

    `ceiling` is one person against the others; `above_people` how far the judge, on the same terms, is above that.
    """

    run: str
    measure: Measure
    baselines: tuple[Measure, ...]
    margins: dict[str, Measure]  # baseline: how far the judge is above it, case by case
    ceiling: Measure | None
    above_people: Measure | None

    @property
    def value(self) -> float:
        return self.measure.value if self.measure.value is not None else math.nan

    @property
    def few(self) -> bool:
        """Whether there are too few independent labelled cases to say anything."""
        return (self.measure.groups or self.measure.n) < FEW

    def beside(self, other: "Lead") -> "Lead":
        """The same without baselines, which then stand with the other alone; the other itself as it is."""
        return self if self is other else replace(self, baselines=(), margins={})

    def like(self, other: "Lead") -> bool:
        """Whether both are of the same figure, so that they can stand on one axis."""
        return self.measure.name == other.measure.name and self.measure.kind == other.measure.kind


def unit_of(measure: Measure) -> Unit:
    """What a figure is told in; a difference has 0 as its neutral value, and is told with its sign."""
    if measure.kind == "proportion":
        return "points" if measure.null_value == 0 else "percent"
    return "change" if measure.null_value == 0 else "number"


def lead_of(run: RunReport) -> Lead | None:
    """The figure that a run is told by: accuracy, else a correlation, else nDCG; None when nothing is known."""
    measure = _first(run.evaluation)
    if measure is None:
        return None
    sections = run.evaluation.sections
    told_baselines = [one for one in sections.get("baselines", ()) if one.value is not None]
    people = {one.name: one for one in sections.get("people", ()) if one.value is not None}
    ceiling = people.get("human ceiling")
    alike = ceiling is not None and ceiling.kind == measure.kind
    return Lead(
        run.name,
        measure,
        tuple(one for one in told_baselines if one.null_value is None and one.kind == measure.kind),
        {one.name.removeprefix("above "): one for one in told_baselines if one.null_value == 0},
        ceiling if alike else None,
        people.get("judge above ceiling") if alike else None,
    )


def told(value: float | None, unit: Unit = "number", digits: int | None = None) -> str:
    """A value as readers see it; shares in percent, their differences in percentage points.

    Example:
        >>> told(0.7241, "percent"), told(-0.0512, "change"), told(1234.5)
        ('72.4\u202f%', '\u22120.051', '1,234')
    """
    if value is None or math.isnan(value):
        return MISSING
    of_hundred = unit in ("percent", "points")
    scaled = 100 * value if of_hundred else value
    places = 1 if of_hundred else _digits(value) if digits is None else digits
    text = f"{abs(scaled):,.{places}f}"
    zero = not any(digit in text for digit in "123456789")
    sign = "" if zero else MINUS if scaled < 0 else "+" if unit in ("points", "change") else ""
    return sign + text + {"percent": f"{THIN}%", "points": f"{THIN}points"}.get(unit, "")


def figure(measure: Measure) -> str:
    """A measure's value as readers see it."""
    return told(measure.value, unit_of(measure), _places(measure))


def interval(measure: Measure, joint: str = "–") -> str:
    """The 95 % interval, its ends without their unit: "68.5–76.0"; empty when there is none."""
    if measure.low is None or measure.high is None:
        return ""
    unit = unit_of(measure)
    low, high = (told(end, unit, _places(measure)).split(THIN)[0] for end in (measure.low, measure.high))
    return f"{low}{' to ' if unit in ('points', 'change') or measure.low < 0 else joint}{high}"


def spoken(measure: Measure) -> str:
    """Value and interval as one says them."""
    ends = interval(measure, " to ")
    return figure(measure) + (f" (95{THIN}% interval {ends})" if ends else "")


def named(name: str) -> str:
    """A name in words."""
    return name.replace("_", " ")


def p_value(p: float | None) -> str:
    """A p-value to three digits, never told as zero."""
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def _places(measure: Measure) -> int | None:
    """Decimals that a value has in common with its interval."""
    ends = [abs(end) for end in (measure.value, measure.low, measure.high) if end is not None]
    return _decimals(max(ends)) if measure.low is not None and ends else None


def _digits(value: float) -> int:
    return 0 if value == int(value) else _decimals(abs(value))


def _decimals(size: float) -> int:
    return 0 if size >= 100 else 1 if size >= 10 else 2 if size > 1 else 3


def _first(evaluation: Evaluation) -> Measure | None:
    for section, start in _LEADS:
        for measure in evaluation.sections.get(section, ()):
            if measure.name.lower().startswith(start) and measure.value is not None:
                return measure
    return None
