"""Rows of dots with their intervals: judges beside baselines and people, biases around a fair value, difficulties."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..evaluation.results import Evaluation, Measure
from .drawing import BASE, INK, JUDGE, PAPER, PEOPLE, SMALL, SOFT, Margins, drawn, shortened
from .formatting import MINUS, THIN, Lead, Unit, figure, interval, named, spoken, told, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HALF = 480.0  # px, a chart beside another one
WHOLE = 1000.0
ROW = 30.0


@dataclass(frozen=True)
class Chart:
    """A drawing with its title, what it shows in words, and how to read it.

    `narrow` is the same drawing for small screens, where the wide one would be too small to read.
    """

    title: str
    svg: str
    alt: str
    note: str = ""
    narrow: str = ""


@dataclass(frozen=True)
class Dot:
    """One row of a dot plot; `colour` tells judges from what they are compared with."""

    name: str
    measure: Measure
    colour: str = JUDGE


def forest(leads: Sequence[Lead], led: str = "") -> Chart | None:
    """Every run's leading figure against the baselines and what people agree among themselves.

    Args:
        led: the run that the others are only shown beside; empty: all are alike.
    """
    rows = [Dot(lead.run, lead.measure, JUDGE if led in ("", lead.run) else INK) for lead in leads] + _baselines(leads)
    ceiling = next((lead.ceiling for lead in leads if lead.ceiling is not None), None)
    if len(rows) < 2 and ceiling is None:
        return None
    told_rows = "; ".join(f"{row.name} {spoken(row.measure)}" for row in rows)
    held = [text for text, there in (("baselines", len(rows) > len(leads)), ("people", ceiling is not None)) if there]
    of = named(leads[0].measure.name).capitalize()
    notes = [
        "Dots are estimates, lines 95 % intervals.",
        "A judge earns its cost right of every baseline." if "baselines" in held else "",
        "The band is one person against the others." if ceiling else "",
    ]
    return Chart(
        f"{of} beside {' and '.join(held)}" if held else f"{of} of the runs",
        dot_plot("forest", rows, WHOLE, reference=ceiling),
        told_rows + (f". One person against the others {spoken(ceiling)}." if ceiling else "."),
        " ".join(filter(None, notes)),
        dot_plot("forest-narrow", rows, HALF, reference=ceiling),
    )


def biases(name: str, measures: Sequence[Measure]) -> list[Chart]:
    """Biases around the value of an unbiased judge, one chart for each such value and kind."""
    charts = []
    known = [one for one in measures if one.null_value is not None and one.value is not None]
    for neutral, kind in sorted(
        {(one.null_value or 0.0, one.kind) for one in known}, key=lambda key: (key[1], -key[0])
    ):
        alike = [one for one in known if (one.null_value, one.kind) == (neutral, kind)]
        rows = [Dot(named(one.name).removesuffix(" above people"), one) for one in alike]
        at = axis_format(unit_of(rows[0].measure))(neutral, None)
        of_people = neutral == 0 and kind == "proportion"
        title = "Judge less people, in points" if of_people else f"Around a fair {at}"
        charts.append(
            Chart(
                title,
                dot_plot(f"bias-{name}-{neutral:g}-{kind}", rows, HALF, neutral=neutral),
                "; ".join(f"{row.name} {spoken(row.measure)}" for row in rows) + f". Without bias: {at}.",
                f"Without bias a judge stands on the line at {at}. A hollow dot's interval holds it: no bias is shown.",
            )
        )
    return charts


def strata(name: str, evaluation: Evaluation) -> Chart | None:
    """The first figure of every difficulty."""
    known = [one for one in evaluation.strata if one.measures and one.measures[0].value is not None]
    rows = [Dot(one.name, one.measures[0]) for one in known]
    if not rows:
        return None
    return Chart(
        f"{named(rows[0].measure.name).capitalize()} by difficulty",
        dot_plot(f"strata-{name}", rows, HALF),
        "; ".join(f"{row.name} {spoken(row.measure)}" for row in rows) + ".",
        "Pairs are harder the closer people's scores of the two texts are.",
    )


def axis_format(unit: Unit) -> Callable[[float, float | None], str]:
    """How the ticks of an axis are told: short, and a difference with its sign."""
    if unit == "percent":
        return lambda value, _: percent(value)
    if unit == "points":
        return lambda value, _: told(value, "points").split(THIN)[0].removesuffix(".0")
    return lambda value, _: f"{round(value, 6):g}".replace("-", MINUS)


def percent(share: float) -> str:
    """A share without decimals."""
    return f"{100 * share:.0f}{THIN}%"


def dot_plot(
    name: str, rows: Sequence[Dot], width: float, *, reference: Measure | None = None, neutral: float | None = None
) -> str:
    """The drawing of rows of one kind, with a band for the reference or a line at the neutral value."""
    most = 34 if width > HALF else 19
    longest = max(len(shortened(row.name, most)) for row in rows)
    left, right = 26 + 7.2 * longest, 176.0 if unit_of(rows[0].measure) == "points" else 158.0
    told_of = [row.measure for row in rows] + ([reference] if reference is not None else [])
    ends = [end for one in told_of for end in (one.value, one.low, one.high) if end is not None]
    ends += [] if neutral is None else [neutral]
    pad = 0.06 * (max(ends) - min(ends)) or 0.05
    low, high = min(ends) - pad, max(ends) + pad

    def paint(axes: "Sequence[Axes]") -> None:
        from matplotlib.ticker import MaxNLocator

        (plot,) = axes
        plot.set(xlim=(low, high), ylim=(len(rows) - 0.4, -0.6), yticks=[])
        plot.xaxis.set_major_locator(MaxNLocator(6 if width > HALF else 4, steps=[1, 2, 5, 10]))
        plot.xaxis.set_major_formatter(axis_format(unit_of(rows[0].measure)))
        plot.spines["bottom"].set_visible(False)
        if reference is not None:
            _band(plot, reference)
        if neutral is not None:
            plot.axvline(neutral, color=SOFT, lw=1.2)
        for place, row in enumerate(rows):
            if row.colour == BASE and row.measure.value is not None:
                plot.axvline(row.measure.value, color=BASE, lw=1.2, ls=(0, (4, 4)), alpha=0.6)
            _dot(plot, place, row, neutral)
            plot.text(low, place, shortened(row.name, most) + "   ", ha="right", va="center")
            said = figure(row.measure).removesuffix(f"{THIN}points")
            far: dict[str, Any] = {"textcoords": "offset points"}
            plot.text(high, place, f"   {said}", ha="left", va="center", weight="bold")
            plot.annotate(interval(row.measure), (high, place), (70, 0), va="center", color=SOFT, size=SMALL, **far)

    top = 26.0 if reference is not None else 6.0
    return drawn(name, (width, ROW * len(rows) + 30 + top), paint, Margins(left, right, top, 30))


def _band(plot: "Axes", reference: Measure) -> None:
    """What people reach, over all rows."""
    if reference.value is None:
        return
    if reference.low is not None and reference.high is not None:
        plot.axvspan(reference.low, reference.high, color=PEOPLE, alpha=0.14, lw=0)
    plot.axvline(reference.value, color=PEOPLE, lw=1.6)
    text, across = f"one person {figure(reference)}", plot.get_xaxis_transform()
    plot.text(reference.value, 1.02, text, color=PEOPLE, ha="center", va="bottom", transform=across)


def _dot(plot: "Axes", place: int, row: Dot, neutral: float | None) -> None:
    """Where there is a neutral value, a dot is hollow while its interval holds it."""
    one = row.measure
    if one.low is not None and one.high is not None:
        plot.plot([one.low, one.high], [place, place], color=row.colour, lw=2.4, alpha=0.55)
    holds = neutral is not None and one.low is not None and one.high is not None and one.low <= neutral <= one.high
    face = PAPER if holds else row.colour
    if one.value is not None:
        plot.plot([one.value], [place], "o", ms=9, mfc=face, mec=row.colour if holds else PAPER, mew=1.6)


def _baselines(leads: Sequence[Lead]) -> list[Dot]:
    """The runs' baselines, each once; where runs are of other cases, with the run's name."""
    rows: dict[tuple[str, float | None, int], Dot] = {}
    told_apart: dict[str, set[float | None]] = {}
    for lead in leads:
        for one in lead.baselines:
            told_apart.setdefault(one.name, set()).add(one.value)
    for lead in leads:
        for one in lead.baselines:
            name = named(one.name) if len(told_apart[one.name]) == 1 else f"{named(one.name)} ({lead.run})"
            rows.setdefault((one.name, one.value, one.n), Dot(name, one, BASE))
    return sorted(rows.values(), key=lambda row: -(row.measure.value or 0))
