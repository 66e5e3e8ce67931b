"""Numbers as the pages print them: percent, percentage points, plain numbers, intervals and p-values."""

import math
from typing import Literal

from ..data.counting import groups_text
from ..evaluation.results import Measure

Unit = Literal["percent", "points", "number", "change"]
MISSING = "—"
THIN = "\u202f"  # narrow no-break space
MINUS = "\u2212"


def unit_of(measure: Measure) -> Unit:
    """The unit of a measure; a difference (null value 0) is in points, or a number with its sign."""
    if measure.kind == "proportion":
        return "points" if measure.null_value == 0 else "percent"
    return "change" if measure.null_value == 0 else "number"


def format_value(value: float | None, unit: Unit = "number", digits: int | None = None) -> str:
    """The value in its unit; a dash for None and NaN.

    Args:
        value: a proportion in [0, 1] for "percent", a difference of two for "points".
        unit: "points" and "change" have a sign.
        digits: decimals of a number; None chooses them by its size.

    Example:
        >>> format_value(0.7241, "percent"), format_value(-0.0512, "change"), format_value(1234.5)
        ('72.4\u202f%', '\u22120.051', '1,234')
    """
    if value is None or math.isnan(value):
        return MISSING
    is_percentage = unit in ("percent", "points")
    scaled = 100 * value if is_percentage else value
    places = 1 if is_percentage else _digits(value) if digits is None else digits
    text = f"{abs(scaled):,.{places}f}"
    is_zero = not any(digit in text for digit in "123456789")
    sign = "" if is_zero else MINUS if scaled < 0 else "+" if unit in ("points", "change") else ""
    return sign + text + {"percent": f"{THIN}%", "points": f"{THIN}points"}.get(unit, "")


def format_measure(measure: Measure) -> str:
    """The measure's value, with as many decimals as its interval."""
    return format_value(measure.value, unit_of(measure), _places(measure))


def format_interval(measure: Measure, joint: str = "–") -> str:
    """The 95 % interval, its ends without their unit: "68.5–76.0"; empty if there is none."""
    if measure.low is None or measure.high is None:
        return ""
    unit = unit_of(measure)
    low, high = (format_value(end, unit, _places(measure)).split(THIN)[0] for end in (measure.low, measure.high))
    return f"{low}{' to ' if unit in ('points', 'change') or measure.low < 0 else joint}{high}"


def describe_measure(measure: Measure) -> str:
    """Value and interval in words, for the text alternative of a plot."""
    interval = format_interval(measure, " to ")
    return format_measure(measure) + (f" (95{THIN}% interval {interval})" if interval else "")


def format_percent(proportion: float) -> str:
    """A proportion in percent, without decimals."""
    return f"{100 * proportion:.0f}{THIN}%"


def format_p_value(p: float | None) -> str:
    """A p-value to three decimals; never 0."""
    return MISSING if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def readable(name: str) -> str:
    """An identifier as words."""
    return name.replace("_", " ")


def counted(n: float, noun: str) -> str:
    """A number, whole or in halves, with its noun.

    Example:
        >>> counted(1, "case"), counted(1200, "case")
        ('1 case', '1,200 cases')
    """
    return f"{n:,.1f}".removesuffix(".0") + f" {noun}{'' if n == 1 else 's'}"


def count_of(measure: Measure) -> str:
    """The number of cases of a measure, of their independent groups if those are fewer, and of groups of equal size
    that these count for."""
    if not measure.n:
        return MISSING
    groups = measure.groups
    if groups is None or groups >= measure.n:
        return f"{measure.n:,}"
    effective = "" if measure.effective_groups is None else f", effective {measure.effective_groups:.1f}"
    return f"{measure.n:,} in {groups_text(groups)}{effective}"


def _places(measure: Measure) -> int | None:
    """The decimals that a value shares with its interval."""
    ends = [abs(end) for end in (measure.value, measure.low, measure.high) if end is not None]
    return _decimals(max(ends)) if measure.low is not None and ends else None


def _digits(value: float) -> int:
    return 0 if value == int(value) else _decimals(abs(value))


def _decimals(size: float) -> int:
    return 0 if size >= 100 else 1 if size >= 10 else 2 if size > 1 else 3
