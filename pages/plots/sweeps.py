"""A measure of an experiment over an axis: ours with intervals, printed curves, and runs without the axis."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ...experiments.results import ResultLine
from .chart import BASE, HALF, INK, JUDGE, PAPER, PEOPLE, SMALL, THIRD, WHOLE, Chart, Margins, draw, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (JUDGE, PEOPLE, THIRD, INK)
DASHES = {"ours": (0, ()), "printed": (0, (4, 3)), "level": (0, (1, 2))}
LEAST_GAP = 0.055  # between two names, by the height of the plot
LONGEST = 34  # characters of a name

Point = tuple[int, float, float | None, float | None]  # place on the axis, value, low, high


@dataclass(frozen=True)
class Curve:
    """One line. `level`: a run that does not have the axis, with the same value everywhere."""

    name: str
    points: tuple[Point, ...]
    kind: Literal["ours", "printed", "level"] = "ours"

    @property
    def shown(self) -> str:
        return shortened(self.name, LONGEST) + (" (printed)" if self.kind == "printed" else "")


def sweep(measure: str, axis: str, lines: Sequence[ResultLine], several_models: bool) -> Chart | None:
    """The lines of one measure over an axis; None where it has fewer than two values.

    Args:
        several_models: whether names say the model.
    """
    values = list(dict.fromkeys(line.axes[axis] for line in lines if axis in line.axes))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        values.sort(key=float)
    scale = 100 if lines and lines[0].unit == "percent" else 1
    curves = list(_curves(axis, values, lines, several_models, scale))
    if len(values) < 2 or not curves:
        return None
    words = "; ".join(
        f"{curve.shown}: " + ", ".join(f"{values[place]} {value:.3g}" for place, value, *_ in curve.points)
        for curve in curves
    )
    notes = ["Bands are 95 % intervals."]
    notes += ["Dashed: printed figures."] if any(curve.kind == "printed" for curve in curves) else []
    notes += [f"Dotted: runs without {axis}."] if any(curve.kind == "level" for curve in curves) else []
    room = 20 + 6.6 * max(len(curve.shown) for curve in curves)

    def drawing(name: str, width: float) -> str:
        return draw(name, (width, 360), lambda axes: _paint(axes[0], axis, values, curves), Margins(52, room))

    return Chart(
        f"{measure} over {axis}" + (", percent" if scale == 100 else ""),
        drawing(f"sweep-{measure}-{axis}", WHOLE),
        f"{words}.",
        " ".join(notes),
        drawing(f"sweep-narrow-{measure}-{axis}", HALF),
    )


def _curves(
    axis: str, values: Sequence[object], lines: Sequence[ResultLine], several_models: bool, scale: int
) -> Iterator[Curve]:
    """Ours, then the printed curves, then the runs without the axis."""
    ours: dict[str, list[Point]] = {}
    printed: dict[str, dict[int, float]] = {}
    levels: list[Curve] = []
    for line in lines:
        others = [str(value) for name, value in line.axes.items() if name != axis]
        name = ", ".join([line.run, *others, *([line.model] if several_models and line.model else [])])
        known = line.ours if line.ours is not None and line.ours.value is not None else None
        if axis not in line.axes:
            if known is not None and known.value is not None:
                value = scale * known.value
                levels.append(Curve(name, tuple((place, value, None, None) for place in range(len(values))), "level"))
            continue
        place = values.index(line.axes[axis])
        if known is not None and known.value is not None:
            low, high = (None if end is None else scale * end for end in (known.low, known.high))
            ours.setdefault(name, []).append((place, scale * known.value, low, high))
        for figure in line.printed:
            whole = ", ".join([figure.system, *([line.run, *others] if len(lines) > len(values) else [])])
            printed.setdefault(whole, {})[place] = float(figure.value)
    yield from (Curve(name, tuple(sorted(points))) for name, points in ours.items())
    for name, by_place in printed.items():
        yield Curve(name, tuple((place, value, None, None) for place, value in sorted(by_place.items())), "printed")
    yield from levels


def _paint(plot: "Axes", axis: str, values: Sequence[object], curves: Sequence[Curve]) -> None:
    number = 0
    colours = []
    for curve in curves:
        colours.append(COLOURS[number % len(COLOURS)] if curve.kind == "ours" else BASE)
        number += curve.kind == "ours"
        x, y = [place for place, *_ in curve.points], [value for _, value, *_ in curve.points]
        low = [value if end is None else end for _, value, end, _ in curve.points]
        high = [value if end is None else end for _, value, _, end in curve.points]
        plot.fill_between(x, low, high, color=colours[-1], alpha=0.11, lw=0)
        plot.plot(x, y, color=colours[-1], lw=2.0, ls=DASHES[curve.kind])
        if curve.kind != "level":
            plot.plot(x, y, "D" if curve.kind == "printed" else "o", color=colours[-1], ms=6, mec=PAPER, clip_on=False)
    plot.set_xticks(range(len(values)), [shortened(str(value), 12) for value in values])
    plot.set_xlim(-0.2, len(values) - 0.8)
    plot.set_xlabel(axis)
    plot.grid(False, axis="x")
    bottom, top = plot.get_ylim()
    heights = _apart([curve.points[-1][1] for curve in curves], LEAST_GAP * (top - bottom))
    for curve, colour, height in zip(curves, colours, heights, strict=True):
        place = (len(values) - 0.8, height)
        plot.annotate(
            curve.shown, place, (8, 0), textcoords="offset points", va="center", color=colour, size=SMALL,
            annotation_clip=False,
        )  # fmt: skip


def _apart(values: Sequence[float], distance: float) -> list[float]:
    """Heights for names at these values, moved up so that none overlap."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    placed = list(values)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + distance)
    return placed
