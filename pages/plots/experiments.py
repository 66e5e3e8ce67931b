"""Plots of experiments: printed figures beside ours, or where the experiment says so a measure over an axis."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...evaluation.results import Measure
from ...experiments.results import ExperimentResult, ResultLine
from ...experiments.spec import Unit
from ..formatting import describe_measure
from .chart import HALF, INK, JUDGE, PAPER, ROW, SMALL, SOFT, WHOLE, Chart, Margins, draw, shortened
from .sweeps import sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 40  # of a plot; the table has all
LONGEST = 38  # characters of a name in a plot
ABOVE, BELOW = 9.0, -19.0  # px from a printed figure to its system's name
CHARACTER = 0.58 * SMALL  # px


def charts_of(result: ExperimentResult) -> list[Chart]:
    """A chart for each measure: over the axis that the experiment names, else printed figures beside ours."""
    several, figure = len(result.models) > 1, result.figure
    measures = list(dict.fromkeys(line.measure for line in result.lines))
    charts = []
    for measure in measures:
        lines = [line for line in result.lines if line.measure == measure]
        if figure is not None and (not figure.measures or measure in figure.measures):
            charts.append(sweep(measure, figure.over, lines, several))
        elif figure is None:
            charts.append(_beside(measure, lines, several))
    return [chart for chart in charts if chart is not None]


def _beside(measure: str, lines: Sequence[ResultLine], several: bool) -> Chart | None:
    """A row for each cell: our dot with its interval, and the printed figures as diamonds."""
    known = [line for line in lines if line.ours is not None and line.ours.value is not None][:MOST_ROWS]
    if not known or not any(line.printed for line in known):
        return None
    unit = known[0].unit
    return Chart(
        f"{measure}, printed and ours" + (", percent" if unit == "percent" else ""),
        _rows(f"beside-{measure}", known, several, WHOLE, unit),
        "; ".join(_in_words(line) for line in known) + ".",
        "Dots are ours with 95 % intervals, diamonds are printed figures, each of another system; the table names all.",
        _rows(f"beside-narrow-{measure}", known, several, HALF, unit),
    )


def _rows(name: str, lines: Sequence[ResultLine], several: bool, width: float, unit: Unit) -> str:
    scale = 100 if unit == "percent" else 1
    most = LONGEST if width > HALF else 20
    names = [shortened(f"{line.cell} ({line.model})" if several and line.model else line.cell, most) for line in lines]
    measures = [line.ours for line in lines if line.ours is not None]

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.set(ylim=(len(lines) - 0.4, -0.6))
        plot.set_yticks(range(len(lines)), names)
        plot.grid(False, axis="y")
        for place, (line, measure) in enumerate(zip(lines, measures, strict=True)):
            _interval(plot, place, measure, scale)
            for figure in line.printed:
                plot.plot([float(figure.value)], [place], "D", ms=8, mfc="none", mec=INK, mew=1.4)
        if width > HALF:
            for place, line in enumerate(lines):
                _name_systems(plot, place, line)

    left = 26 + 7.2 * max(map(len, names))
    return draw(name, (width, (ROW + 22) * len(lines) + 50), paint, Margins(left, 24, 14, 34))


def _name_systems(plot: "Axes", place: int, line: ResultLine) -> None:
    """Names at the printed figures of a row, when everything that decides the axis is drawn."""
    named = sorted((float(figure.value), shortened(figure.system, 30)) for figure in line.printed)
    centres = [float(plot.transData.transform((value, place))[0]) for value, _ in named]
    style: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": SOFT, "size": SMALL}
    for (value, name), height in zip(
        named, label_heights(centres, [CHARACTER * len(name) for _, name in named]), strict=True
    ):
        if height is not None:
            plot.annotate(name, (value, place), (0, height), **style)


def label_heights(centres: Sequence[float], widths: Sequence[float]) -> list[float | None]:
    """Where labels do not overlap: above, else below; None where neither has room.

    Args:
        centres: of the labels, in px, ascending.
        widths: of the labels, in px.
    """
    ends, heights = {ABOVE: float("-inf"), BELOW: float("-inf")}, list[float | None]()
    for centre, width in zip(centres, widths, strict=True):
        height = next((height for height, end in ends.items() if centre - width / 2 > end), None)
        if height is not None:
            ends[height] = centre + width / 2
        heights.append(height)
    return heights


def _interval(plot: "Axes", place: int, measure: Measure, scale: float) -> None:
    if measure.low is not None and measure.high is not None:
        plot.plot([scale * measure.low, scale * measure.high], [place, place], color=JUDGE, lw=2.4, alpha=0.55)
    if measure.value is not None:
        plot.plot([scale * measure.value], [place], "o", ms=9, mfc=JUDGE, mec=PAPER, mew=1.6)


def _in_words(line: ResultLine) -> str:
    printed = ", ".join(f"{figure.system} {figure.value:f}" for figure in line.printed)
    ours = describe_measure(line.ours) if line.ours is not None else ""
    return f"{line.cell}: ours {ours}" + (f"; printed {printed}" if printed else "")
