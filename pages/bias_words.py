"""Biases in sentences: what the judge does, and how much more often than a fair one, or than people."""

from collections.abc import Iterable

from ..evaluation.results import Measure
from .formatting import format_interval, format_measure, format_value, readable, unit_of

# Name of the measure: (above its null value, below it, what the figure is of).
SENTENCES = {
    "first position": ("Prefers the text shown first", "Prefers the text shown second", "of its choices"),
    "longer above people": ("Prefers longer texts", "Prefers shorter texts", "than people"),
    "length errors": ("Errs towards longer texts", "Errs towards shorter texts", "of its errors"),
    "ties above people": ("Says tie too often", "Says tie too rarely", "than people"),
    "self-preference above people": ("Prefers its own texts", "Prefers texts of others", "than people"),
    "leniency": ("Scores too high", "Scores too low", "than people"),
}


def is_biased(measure: Measure) -> bool:
    """Whether the whole interval lies on one side of the null value."""
    if measure.null_value is None or measure.low is None or measure.high is None:
        return False
    return not measure.low <= measure.null_value <= measure.high


def worst_first(measures: Iterable[Measure]) -> list[Measure]:
    """Biases by their size: the distance from the null value, of proportions before numbers on other scales.

    Errors by length come last: they are a proportion of the errors, and the others are of all verdicts.
    """
    return sorted(measures, key=lambda m: (m.kind != "proportion", m.name == "length errors", -_distance(m)))


def bias_sentence(measure: Measure) -> tuple[str, str]:
    """The bias in a few words, and its size with the interval.

    Example:
        >>> bias_sentence(Measure(name="first position", value=0.79, null_value=0.5, kind="proportion"))
        ('Prefers the text shown first', '79.0\u202f% of its choices; a fair judge 50.0\u202f%')
    """
    name, _, aspect = measure.name.partition(" (")
    interval = format_interval(measure)
    ends = f" ({interval})" if interval else ""
    is_above = _signed(measure) > 0
    if name not in SENTENCES:
        null_value = format_value(measure.null_value, unit_of(measure))
        return f"{readable(measure.name)} {format_measure(measure)}", f"{interval}; a fair judge {null_value}".lstrip(
            "; "
        )
    above, below, of = SENTENCES[name]
    words = (above if is_above else below) + (f" ({aspect}" if aspect else "")
    if measure.null_value:
        return (
            words,
            f"{format_measure(measure)} {of}{ends}; a fair judge {format_value(measure.null_value, 'percent')}",
        )
    more = "more" if is_above else "less"
    value = format_measure(measure).lstrip("+\u2212")
    if name == "length errors":
        return words, f"{value} {'more' if is_above else 'fewer'} {of}{ends}"
    if name == "leniency":
        return words, f"{value} {'higher' if is_above else 'lower'} {of}{ends}"
    return words, f"{value} {more} often {of}{ends}"


def _signed(measure: Measure) -> float:
    return (measure.value or 0.0) - (measure.null_value or 0.0)


def _distance(measure: Measure) -> float:
    return abs(_signed(measure))
