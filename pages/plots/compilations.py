"""Plots of a compilation: Pareto front of the structure search, risk of the certificate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...evaluation.results import CurvePoint, Measure
from ...optimizers.certificates.certificate import Certificate, CertificatePoint
from ...optimizers.objective import title_of
from ...optimizers.structure.pareto import StructureTrial
from ...optimizers.structure.search import StructureSearch
from ...stats.resampling import quantile, wilson
from ..formatting import describe_measure, format_percent, format_value, readable, unit_of
from .chart import (
    BASE,
    HALF,
    INK,
    JUDGE,
    PAPER,
    PEOPLE,
    SMALL,
    SOFT,
    WHOLE,
    Chart,
    Margins,
    axis_format,
    draw,
    round_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STABLE = 0.15  # coverage; below, the disagreement rate of few verdicts jumps, and may leave the plot
LOGARITHMIC = 4.0  # ratio of the greatest to the least cost from which on the axis is logarithmic


@dataclass(frozen=True)
class FrontPoint:
    """A trial of the structure search in the plane of cost and objective."""

    trial: StructureTrial
    cost: float
    measure: Measure
    on_front: bool
    is_chosen: bool

    @property
    def value(self) -> float:
        return self.measure.value or 0.0


def pareto_front(search: StructureSearch, measures: Sequence[Measure]) -> Chart | None:
    """The objective of each trial over the cost of a verdict.

    Args:
        measures: of the trials, in their order.
    """
    points = [
        FrontPoint(trial, cost, measure, trial.number in search.front, trial.number == search.chosen)
        for trial, measure in zip(search.trials, measures, strict=True)
        if measure.value is not None and (cost := _cost(trial, search)) is not None
    ]
    if len(points) < 2:
        return None
    name = readable(title_of(search.objective))
    front = sorted((point for point in points if point.on_front), key=lambda point: point.cost)

    def drawing(width: float) -> str:
        def paint(axes: "Sequence[Axes]") -> None:
            (plot,) = axes
            _cost_axis(plot, [point.cost for point in points])
            for point in points:
                _trial(plot, point)
            plot.plot([p.cost for p in front], [p.value for p in front], color=JUDGE, lw=2.2, zorder=3)
            _names(plot, points)
            plot.margins(y=0.12)
            plot.yaxis.set_major_formatter(axis_format(unit_of(points[0].measure)))
            direction = "" if search.higher else ", lower is better"
            plot.set(xlabel=f"{search.cost} per verdict", ylabel=name + direction)

        return draw(f"front-{width:g}", (width, 380), paint, Margins(64, 24, 14, 42))

    values = "; ".join(
        f"trial {point.trial.number}{' (chosen)' if point.is_chosen else ''}: {format_value(point.cost)} "
        f"{search.cost}, {describe_measure(point.measure)}"
        for point in front
    )
    return Chart(
        f"{name.capitalize()} against cost",
        drawing(WHOLE),
        f"Pareto front: {values}.",
        "Blue: the Pareto front, with trial numbers. Grey: dominated trials; faint: stopped early, on the cases judged "
        "until then. Lines are 95 % intervals on the cases of the search.",
        drawing(HALF),
    )


def risk(certificate: Certificate, test: Sequence[CurvePoint]) -> Chart | None:
    """The disagreement rate of the most certain verdicts over coverage.

    Args:
        test: the curve of the test part, on which no threshold was chosen.
    """
    points = [_curve_point(certificate, point) for point in certificate.curve if point.accepted]
    apart = [] if certificate.part == "test" else [point for point in test if point.accuracy.value is not None]
    others = sorted(apart, key=lambda point: point.coverage)
    units = "cases" if certificate.n == certificate.cases else "groups"
    if len(points) < 2:
        return None

    def drawing(width: float) -> str:
        def paint(axes: "Sequence[Axes]") -> None:
            _risks(axes[0], certificate, points, others)

        return draw(f"risk-{width:g}", (width, 340), paint, Margins(62, 76, 14, 42))

    part = certificate.part or "certify"
    values = "; ".join(
        f"certainty {point.threshold:g}: coverage {format_value(point.coverage, 'percent')}, "
        f"disagreement {format_value(_disagreement(point), 'percent')}"
        for point in points
    )
    test_note = " Grey: the test part, on which no threshold was chosen." if others else ""
    return Chart(
        "Disagreement over coverage",
        drawing(WHOLE),
        f"{values}.",
        f"Blue: the {part} part, {certificate.n:,} {units}; band: pointwise 95 % interval.{test_note}",
        drawing(HALF),
    )


def _curve_point(certificate: Certificate, point: CertificatePoint) -> CurvePoint:
    value = 1 - point.errors / point.accepted
    low, high = wilson(value, point.accepted, quantile(0.95))
    accuracy = Measure(name="accuracy", value=value, low=low, high=high, n=point.accepted, kind="proportion")
    coverage = point.accepted / certificate.n if point.coverage is None else point.coverage
    return CurvePoint(threshold=point.threshold, coverage=coverage, accuracy=accuracy)


def _risks(plot: "Axes", certificate: Certificate, points: Sequence[CurvePoint], others: Sequence[CurvePoint]) -> None:
    low = [1 - (point.accuracy.low or 0.0) for point in points]
    high = [1 - (point.accuracy.high or 0.0) for point in points]
    plot.fill_between([point.coverage for point in points], high, low, color=JUDGE, alpha=0.14, lw=0)
    plot.axhline(certificate.risk, color=PEOPLE, lw=1.6, ls=(0, (4, 4)))
    for curve, colour, width in ((others, BASE, 1.6), (points, JUDGE, 2.2)):
        plot.plot([point.coverage for point in curve], list(map(_disagreement, curve)), color=colour, lw=width)
    if certificate.threshold is not None:
        nearest = min(points, key=lambda point: abs(point.coverage - certificate.coverage))
        _certified(plot, nearest, certificate.threshold)
    stable = [_disagreement(point) for point in (*points, *others) if point.coverage >= STABLE]
    plot.set(xlim=(0, 1.0), ylim=(0, min(1.0, 1.3 * max([2 * certificate.risk, *stable]))))
    plot.set(xlabel="coverage, the most certain verdicts first", ylabel="disagreement with human labels")
    plot.xaxis.set_major_formatter(axis_format("percent"))
    plot.yaxis.set_major_formatter(axis_format("percent"))
    text, end = f"risk limit\n{format_percent(certificate.risk)}", (1.0, certificate.risk)
    annotation = plot.annotate(text, end, (8, 0), textcoords="offset points", va="center", color=PEOPLE)
    annotation.set(fontweight="bold", annotation_clip=False)


def _disagreement(point: CurvePoint) -> float:
    return 1 - (point.accuracy.value or 0.0)


def _certified(plot: "Axes", point: CurvePoint, threshold: float) -> None:
    """The certified threshold on the curve."""
    x, y = point.coverage, _disagreement(point)
    plot.plot([x], [y], "o", color=JUDGE, ms=10, mec=PAPER, mew=1.6, zorder=5, clip_on=False)
    side = "right" if x > 0.5 else "left"
    offset: dict[str, Any] = {"textcoords": "offset points", "ha": side, "weight": "bold", "color": INK, "zorder": 6}
    plot.annotate(f"threshold {threshold:g} covers {format_percent(x)}", (x, y), (0, 12), **offset)


def _trial(plot: "Axes", point: FrontPoint) -> None:
    measure, is_complete = point.measure, point.trial.status == "complete"
    colour = JUDGE if point.on_front else BASE
    if is_complete and measure.low is not None and measure.high is not None:
        alpha = 0.4 if point.on_front else 0.22
        plot.plot([point.cost] * 2, [measure.low, measure.high], color=colour, lw=2, alpha=alpha, zorder=1)
    size = 12 if point.is_chosen else 8 if is_complete else 6
    plot.plot(
        [point.cost], [point.value], "o", color=colour, ms=size, mec=PAPER, alpha=1.0 if is_complete else 0.4,
        zorder=5 if point.is_chosen else 4 if point.on_front else 2,
    )  # fmt: skip
    if point.is_chosen:
        plot.plot([point.cost], [point.value], "o", ms=19, mfc="none", mec=JUDGE, mew=1.6, zorder=5)


def _names(plot: "Axes", points: Sequence[FrontPoint]) -> None:
    """Words at the chosen trial and at the uncompiled judge, numbers at the rest of the front."""
    for point in points:
        if not (point.is_chosen or point.on_front or point.trial.number == 0):
            continue
        end = (point.cost, point.value)
        words = "uncompiled" if point.trial.number == 0 else str(point.trial.number)
        offset: dict[str, Any] = {"textcoords": "offset points", "zorder": 6}
        if point.is_chosen:
            plot.annotate(f"{words}, chosen", end, (15, 0), va="center", weight="bold", color=INK, **offset)
        elif point.on_front:
            above = (point.cost, point.measure.high or point.value)
            plot.annotate(words, above, (0, 5), ha="center", color=SOFT, size=SMALL, **offset)
        else:
            plot.annotate(words, end, (9, 0), va="center", color=SOFT, size=SMALL, **offset)


def _cost_axis(plot: "Axes", costs: Sequence[float]) -> None:
    """Logarithmic if the costs differ much; with room for names on the right."""
    least, most = min(costs), max(costs)
    if least > 0 and most / least >= LOGARITHMIC:
        plot.set_xscale("log")
        low, high = least / 1.15, most * (most / least) ** 0.22
        plot.set_xlim(low, high)
        plot.set_xticks(round_ticks(low, high), minor=False)
        plot.minorticks_off()
    else:
        pad = 0.06 * (most - least) or 0.1 * most or 1.0
        plot.set_xlim(max(0.0, least - pad), most + 0.22 * (most - least) + pad)
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _cost(trial: StructureTrial, search: StructureSearch) -> float | None:
    if search.cost == "tokens":
        return trial.tokens
    if search.cost == "seconds":
        return trial.seconds
    return trial.calls if trial.cases else None
