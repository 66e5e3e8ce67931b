"""Plots of experiments: a measure over an axis with the printed curves, or printed figures beside ours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...evaluation.results import Measure
from ...experiments.results import ExperimentResult, ResultLine
from ...experiments.spec import Unit
from ..formatting import describe_measure
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
    THIRD,
    WHOLE,
    Chart,
    Margins,
    draw,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (JUDGE, PEOPLE, THIRD, INK)
DASHED = (0, (4, 3))
MOST_ROWS = 40  # of a plot; the table has all
LONGEST = 38  # characters of a name in a plot


@dataclass(frozen=True)
class Curve:
    """Points of one line: (place on the axis, value, low, high), without ends for printed figures."""

    name: str
    points: tuple[tuple[int, float, float | None, float | None], ...]
    printed: bool


def charts_of(result: ExperimentResult) -> list[Chart]:
    """A chart for each measure: over the axis that the experiment names, else printed figures beside ours."""
    several, figure = len(result.models) > 1, result.figure
    measures = list(dict.fromkeys(line.measure for line in result.lines))
    charts = []
    for measure in measures:
        lines = [line for line in result.lines if line.measure == measure]
        if figure is not None and (not figure.measures or measure in figure.measures):
            charts.append(_sweep(measure, figure.over, lines, several))
        elif figure is None:
            charts.append(_beside(measure, lines, several))
    return [chart for chart in charts if chart is not None]


def _sweep(measure: str, axis: str, lines: Sequence[ResultLine], several: bool) -> Chart | None:
    swept = [line for line in lines if axis in line.axes]
    values = list(dict.fromkeys(line.axes[axis] for line in swept))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        values.sort(key=lambda value: float(value))
    curves = list(_curves(axis, values, swept, several))
    if len(values) < 2 or not curves:
        return None
    unit = swept[0].unit
    scale = 100 if unit == "percent" else 1

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        names = list(dict.fromkeys(curve.name for curve in curves if not curve.printed))
        for number, curve in enumerate(curves):
            colour = COLOURS[number % len(COLOURS)] if curve.name in names and not curve.printed else BASE
            x = [place for place, *_ in curve.points]
            y = [scale * value for _, value, *_ in curve.points]
            low = [scale * (end if end is not None else value) for _, value, end, _ in curve.points]
            high = [scale * (end if end is not None else value) for _, value, _, end in curve.points]
            plot.fill_between(x, low, high, color=colour, alpha=0.11, lw=0)
            plot.plot(x, y, color=colour, lw=2.0, ls=DASHED if curve.printed else "-")
            plot.plot(x, y, "D" if curve.printed else "o", color=colour, ms=6, mec=PAPER, clip_on=False)
            text = f"{shortened(curve.name, LONGEST)}{', printed' if curve.printed else ''}"
            plot.annotate(text, (x[-1], y[-1]), (10, 0), textcoords="offset points", va="center", color=colour)
        plot.set_xticks(range(len(values)), [shortened(str(value), 12) for value in values])
        plot.set_xlim(-0.3, len(values) - 0.7)
        plot.set_xlabel(axis)
        plot.grid(False, axis="x")

    words = "; ".join(
        f"{curve.name}{' (printed)' if curve.printed else ''}: "
        + ", ".join(f"{values[place]} {scale * value:.3g}" for place, value, *_ in curve.points)
        for curve in curves
    )
    note = f"Bands are 95 % intervals{'; dashed: printed figures' if any(curve.printed for curve in curves) else ''}."
    title = f"{measure} over {axis}" + (", percent" if unit == "percent" else "")
    drawing = draw(f"sweep-{measure}-{axis}", (WHOLE, 360), paint, Margins(left=52, right=260))
    narrow = draw(f"sweep-narrow-{measure}-{axis}", (HALF, 320), paint, Margins(left=52, right=150))
    return Chart(title, drawing, f"{words}.", note, narrow)


def _curves(axis: str, values: Sequence[object], lines: Sequence[ResultLine], several: bool) -> Iterator[Curve]:
    """Ours, then the printed ones: a curve for each run, set, and combination of the other axes."""
    ours: dict[str, list[tuple[int, float, float | None, float | None]]] = {}
    printed: dict[str, dict[int, float]] = {}
    for line in lines:
        others = [str(value) for name, value in line.axes.items() if name != axis]
        name = ", ".join([line.run, *others, *([line.model] if several and line.model else [])])
        place = values.index(line.axes[axis])
        if line.ours is not None and line.ours.value is not None:
            ours.setdefault(name, []).append((place, line.ours.value, line.ours.low, line.ours.high))
        for figure in line.printed:
            whole = ", ".join([figure.system, line.run, *others])
            printed.setdefault(whole, {})[place] = float(figure.value) / (100 if line.unit == "percent" else 1)
    for name, points in ours.items():
        yield Curve(name, tuple(sorted(points)), printed=False)
    for name, known in printed.items():
        yield Curve(name, tuple((place, value, None, None) for place, value in sorted(known.items())), printed=True)


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
        "Dots are ours with 95 % intervals, diamonds are printed figures, each of another system.",
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
                shown = float(figure.value)
                plot.plot([shown], [place], "D", ms=7, mfc=PAPER, mec=BASE, mew=1.6)
                if width > HALF:
                    offset: dict[str, Any] = {"textcoords": "offset points", "ha": "center"}
                    plot.annotate(
                        shortened(figure.system, 18), (shown, place), (0, 9), color=SOFT, size=SMALL, **offset
                    )

    left = 26 + 7.2 * max(map(len, names))
    return draw(name, (width, (ROW + 10) * len(lines) + 50), paint, Margins(left, 24, 14, 34))


def _interval(plot: "Axes", place: int, measure: Measure, scale: float) -> None:
    if measure.low is not None and measure.high is not None:
        plot.plot([scale * measure.low, scale * measure.high], [place, place], color=JUDGE, lw=2.4, alpha=0.55)
    if measure.value is not None:
        plot.plot([scale * measure.value], [place], "o", ms=9, mfc=JUDGE, mec=PAPER, mew=1.6)


def _in_words(line: ResultLine) -> str:
    printed = ", ".join(f"{figure.system} {figure.value:f}" for figure in line.printed)
    ours = describe_measure(line.ours) if line.ours is not None else ""
    return f"{line.cell}: ours {ours}" + (f"; printed {printed}" if printed else "")
