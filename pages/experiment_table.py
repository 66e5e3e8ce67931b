"""The table of an experiment: a line for each cell and measure, the same on the terminal, the page and in Markdown."""

from collections.abc import Sequence
from decimal import Decimal

from ..evaluation.results import Measure
from ..experiments.results import Printed, ResultLine
from ..experiments.spec import Unit

HEADS = ["cell", "measure", "printed (by system)", "ours [95 % CI]", "n"]
DIGITS = {"number": 3, "percent": 1}


def rows_of(lines: Sequence[ResultLine], *, several_models: bool) -> list[list[str]]:
    """The cells of the table as texts.

    Args:
        several_models: whether a line says its model.
    """
    return [
        [
            f"{line.cell} ({line.model})" if several_models and line.model else line.cell,
            line.measure,
            printed_text(line.printed, line.unit),
            ours_text(line),
            f"{line.ours.n:,}" if line.ours is not None and line.ours.n else "-",
        ]
        for line in lines
    ]


def printed_text(printed: Sequence[Printed], unit: Unit) -> str:
    """The printed figures with their systems; a dash for none."""
    sign = " %" if unit == "percent" else ""
    figures = (
        f"{_decimal(figure.value)}{sign} {figure.system}" + (f" ({figure.place})" if figure.place else "")
        for figure in printed
    )
    return "; ".join(figures) or "-"


def ours_text(line: ResultLine) -> str:
    """The figure with its interval, the spread of repeated runs, and the note; a dash where there is no figure."""
    if line.ours is None:
        return f"- ({line.note})"
    text = measure_text(line.ours, line.unit)
    if spread := spread_text(line):
        text += f", {spread}"
    notes = [note for note in (line.note, line.ours.note if line.ours.value is None else "") if note]
    return f"{text} ({'; '.join(notes)})" if notes else text


def spread_text(line: ResultLine) -> str:
    """The standard deviation of repeated runs; empty where there is none."""
    return "" if line.spread is None else f"sd {_number(line.spread, line.unit)} of {len(line.repeated)} runs"


def measure_text(measure: Measure, unit: Unit) -> str:
    """`0.825 [0.750, 0.882]`, or in percent `82.5 % [75.0, 88.2]`; a dash for no value."""
    if measure.value is None:
        return "-"
    has_interval = measure.low is not None and measure.high is not None
    if measure.value == int(measure.value) and unit == "number" and not has_interval:
        return f"{measure.value:,.0f}"  # a count
    text = _number(measure.value, unit) + (" %" if unit == "percent" else "")
    if measure.low is None or measure.high is None:
        return text
    return f"{text} [{_number(measure.low, unit)}, {_number(measure.high, unit)}]"


def _number(value: float, unit: Unit) -> str:
    scaled = 100 * value if unit == "percent" else value
    return f"{scaled:,.{1 if abs(scaled) >= 100 else DIGITS[unit]}f}"


def _decimal(value: Decimal) -> str:
    return f"{value:f}"
