"""Numbers, intervals and plain tables on a terminal."""

from ...evaluation.results import Measure
from .columns import FittingTable


def number(value: float | None, measure: Measure | None = None) -> str:
    """Three decimals, one for values from 100 on; a sign on differences; a dash for no value."""
    if value is None:
        return "-"
    digits = 3 if abs(value) < 100 else 1
    signed = measure is not None and measure.null_value == 0
    return f"{value:{'+' if signed else ''},.{digits}f}"


def interval_text(measure: Measure) -> str:
    """`0.825 [0.750, 0.882]`."""
    value = number(measure.value, measure)
    if measure.low is None or measure.high is None:
        return value
    return f"{value} [{number(measure.low, measure)}, {number(measure.high, measure)}]"


def p_value(p: float | None) -> str:
    """`0.012`, `<0.001`, or a dash."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def column_table(*columns: str) -> FittingTable:
    """An empty table without lines; the column n is aligned to the right."""
    return FittingTable(columns)
