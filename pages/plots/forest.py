"""Forest plots: a row for each estimate with its interval, beside baselines, the human ceiling or a null value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...evaluation.results import Evaluation, Measure, SubgroupTable
from ..formatting import THIN, describe_measure, format_interval, format_measure, readable, unit_of
from ..run_report import LeadMeasure
from .chart import (
    BASE,
    HALF,
    INK,
    JUDGE,
    PAPER,
    PEOPLE,
    ROW,
    SMALL,
    SOFT,
    WHOLE,
    Chart,
    Margins,
    axis_format,
    draw,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_VALUES = 30  # of a field, in a chart; the table has all


@dataclass(frozen=True)
class ForestRow:
    """One estimate; `colour` separates judges from references."""

    name: str
    measure: Measure
    colour: str = JUDGE


def judges_and_references(leads: Sequence[LeadMeasure], highlighted: str = "") -> Chart | None:
    """The lead measure of each run beside the baselines and the human ceiling.

    Args:
        highlighted: the run in the judge's colour; empty: all runs.
    """
    rows = [ForestRow(lead.run, lead.measure, JUDGE if highlighted in ("", lead.run) else INK) for lead in leads]
    rows += _baselines(leads)
    ceiling = next((lead.ceiling for lead in leads if lead.ceiling is not None), None)
    if len(rows) < 2 and ceiling is None:
        return None
    has_baselines = len(rows) > len(leads)
    references = [*(["baselines"] if has_baselines else []), *(["human ceiling"] if ceiling else [])]
    name = readable(leads[0].measure.name).capitalize()
    values = "; ".join(f"{row.name} {describe_measure(row.measure)}" for row in rows)
    notes = [
        "Dots are estimates, lines 95 % intervals.",
        "A judge is worth its cost only to the right of every baseline." if has_baselines else "",
        "Band: the human ceiling, one annotator against the others." if ceiling else "",
    ]
    return Chart(
        f"{name} against {' and '.join(references)}" if references else f"{name} of the runs",
        plot_rows("forest", rows, WHOLE, ceiling=ceiling),
        values + (f". Human ceiling {describe_measure(ceiling)}." if ceiling else "."),
        " ".join(filter(None, notes)),
        plot_rows("forest-narrow", rows, HALF, ceiling=ceiling),
    )


def biases(name: str, measures: Sequence[Measure]) -> list[Chart]:
    """The bias measures around their null value; a chart for each null value and kind of measure."""
    charts = []
    known = [measure for measure in measures if measure.null_value is not None and measure.value is not None]
    keys = {(measure.null_value or 0.0, measure.kind) for measure in known}
    for null_value, kind in sorted(keys, key=lambda key: (key[1], -key[0])):
        same_axis = [measure for measure in known if (measure.null_value, measure.kind) == (null_value, kind)]
        rows = [ForestRow(readable(measure.name).removesuffix(" above people"), measure) for measure in same_axis]
        unbiased = axis_format(unit_of(rows[0].measure))(null_value, None)
        is_difference = null_value == 0 and kind == "proportion"
        values = "; ".join(f"{row.name} {describe_measure(row.measure)}" for row in rows)
        charts.append(
            Chart(
                "Judge minus human annotators, in points" if is_difference else f"Bias: unbiased at {unbiased}",
                plot_rows(f"bias-{name}-{null_value:g}-{kind}", rows, HALF, null_value=null_value),
                f"{values}. An unbiased judge has {unbiased}.",
                f"The line marks an unbiased judge ({unbiased}). A hollow dot: the interval contains it, so no bias is "
                "shown.",
            )
        )
    return charts


def strata(name: str, evaluation: Evaluation) -> Chart | None:
    """The first measure of each difficulty stratum."""
    known = [stratum for stratum in evaluation.strata if stratum.measures and stratum.measures[0].value is not None]
    rows = [ForestRow(stratum.name, stratum.measures[0]) for stratum in known]
    if not rows:
        return None
    return Chart(
        f"{readable(rows[0].measure.name).capitalize()} by difficulty",
        plot_rows(f"strata-{name}", rows, HALF),
        "; ".join(f"{row.name} {describe_measure(row.measure)}" for row in rows) + ".",
        "A pair is harder the closer the human scores of its two texts are.",
    )


def subgroups(name: str, evaluation: Evaluation, table: SubgroupTable) -> Chart | None:
    """The figure of each value of a field, the lowest first, below that of all cases."""
    known = [row for row in table.rows if row.figure.value is not None]
    if not known:
        return None
    figure = known[0].figure.name
    everything = evaluation.measure(figure)
    rows = [ForestRow("all cases", everything, INK)] if everything is not None else []
    rows += [ForestRow(row.value, row.figure) for row in known[:MOST_VALUES]]
    left_out = f" The {MOST_VALUES} lowest of {len(known)} values." if len(known) > MOST_VALUES else ""
    return Chart(
        f"{readable(figure).capitalize()} by {table.field}",
        plot_rows(f"by-{name}-{table.field}", rows, HALF),
        "; ".join(f"{row.name} {describe_measure(row.measure)}" for row in rows) + ".",
        f"Dots are estimates, lines 95 % intervals.{left_out}",
    )


def plot_rows(
    name: str,
    rows: Sequence[ForestRow],
    width: float,
    *,
    ceiling: Measure | None = None,
    null_value: float | None = None,
) -> str:
    """The drawing of rows of one unit.

    Args:
        ceiling: drawn as a band.
        null_value: drawn as a line.
    """
    most = 34 if width > HALF else 19
    longest = max(len(shortened(row.name, most)) for row in rows)
    left, right = 26 + 7.2 * longest, 176.0 if unit_of(rows[0].measure) == "points" else 158.0
    measures = [row.measure for row in rows] + ([ceiling] if ceiling is not None else [])
    ends = [end for measure in measures for end in (measure.value, measure.low, measure.high) if end is not None]
    ends += [] if null_value is None else [null_value]
    pad = 0.06 * (max(ends) - min(ends)) or 0.05
    low, high = min(ends) - pad, max(ends) + pad

    def paint(axes: "Sequence[Axes]") -> None:
        from matplotlib.ticker import MaxNLocator

        (plot,) = axes
        plot.set(xlim=(low, high), ylim=(len(rows) - 0.4, -0.6), yticks=[])
        plot.xaxis.set_major_locator(MaxNLocator(6 if width > HALF else 4, steps=[1, 2, 5, 10]))
        plot.xaxis.set_major_formatter(axis_format(unit_of(rows[0].measure)))
        plot.spines["bottom"].set_visible(False)
        if ceiling is not None:
            _band(plot, ceiling)
        if null_value is not None:
            plot.axvline(null_value, color=SOFT, lw=1.2)
        for place, row in enumerate(rows):
            if row.colour == BASE and row.measure.value is not None:
                plot.axvline(row.measure.value, color=BASE, lw=1.2, ls=(0, (4, 4)), alpha=0.6)
            _dot(plot, place, row, null_value)
            plot.text(low, place, shortened(row.name, most) + "   ", ha="right", va="center")
            value = format_measure(row.measure).removesuffix(f"{THIN}points")
            offset: dict[str, Any] = {"textcoords": "offset points"}
            plot.text(high, place, f"   {value}", ha="left", va="center", weight="bold")
            ends = format_interval(row.measure)
            plot.annotate(ends, (high, place), (70, 0), va="center", color=SOFT, size=SMALL, **offset)

    top = 26.0 if ceiling is not None else 6.0
    return draw(name, (width, ROW * len(rows) + 30 + top), paint, Margins(left, right, top, 30))


def _band(plot: "Axes", ceiling: Measure) -> None:
    """The human ceiling over all rows."""
    if ceiling.value is None:
        return
    if ceiling.low is not None and ceiling.high is not None:
        plot.axvspan(ceiling.low, ceiling.high, color=PEOPLE, alpha=0.14, lw=0)
    plot.axvline(ceiling.value, color=PEOPLE, lw=1.6)
    text, transform = f"human ceiling {format_measure(ceiling)}", plot.get_xaxis_transform()
    plot.text(ceiling.value, 1.02, text, color=PEOPLE, ha="center", va="bottom", transform=transform)


def _dot(plot: "Axes", place: int, row: ForestRow, null_value: float | None) -> None:
    """A dot with its interval; hollow if the interval contains the null value."""
    measure = row.measure
    has_interval = measure.low is not None and measure.high is not None
    if measure.low is not None and measure.high is not None:
        plot.plot([measure.low, measure.high], [place, place], color=row.colour, lw=2.4, alpha=0.55)
    is_hollow = null_value is not None and has_interval and (measure.low or 0) <= null_value <= (measure.high or 0)
    face = PAPER if is_hollow else row.colour
    if measure.value is not None:
        plot.plot([measure.value], [place], "o", ms=9, mfc=face, mec=row.colour if is_hollow else PAPER, mew=1.6)


def _baselines(leads: Sequence[LeadMeasure]) -> list[ForestRow]:
    """The baselines, each once; with the run's name where the runs are of different cases."""
    values: dict[str, set[float | None]] = {}
    for lead in leads:
        for baseline in lead.baselines:
            values.setdefault(baseline.name, set()).add(baseline.value)
    rows: dict[tuple[str, float | None, int], ForestRow] = {}
    for lead in leads:
        for baseline in lead.baselines:
            run = "" if len(values[baseline.name]) == 1 else f" ({lead.run})"
            key = (baseline.name, baseline.value, baseline.n)
            rows.setdefault(key, ForestRow(readable(baseline.name) + run, baseline, BASE))
    return sorted(rows.values(), key=lambda row: -(row.measure.value or 0))
