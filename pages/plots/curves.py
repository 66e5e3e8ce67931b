"""Calibration, selective prediction, score distributions, and agreement by the number of criteria."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ...evaluation.results import Bin, Branch, CurvePoint, Histogram, Measure, PassPoint
from ..formatting import format_measure, format_value, readable, unit_of
from .chart import BASE, HALF, INK, JUDGE, PAPER, PEOPLE, SMALL, SOFT, THIRD, Chart, Margins, axis_format, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(name: str, bins: Sequence[Bin], error: Measure | None, beside: Sequence[Bin] = ()) -> Chart | None:
    """The reliability diagram: accuracy over certainty, and the number of verdicts in each bin.

    Args:
        error: the expected calibration error, printed in the plot.
        beside: the bins of another plot, which gets the same axes.
    """
    shown = [bin_ for bin_ in bins if bin_.accuracy.value is not None and bin_.accuracy.n]
    if not shown:
        return None

    def paint(axes: "Sequence[Axes]") -> None:
        plot, counts = axes
        _diagonal(plot, shown, [*shown, *beside])
        _bin_counts(counts, shown)
        if error is not None:
            plot.text(0.03, 0.97, f"ECE {format_measure(error)}", weight="bold", va="top", transform=plot.transAxes)
        for panel in axes:
            panel.set_xlim(min(0.5, *(bin_.low for bin_ in (*shown, *beside))), 1.0)
            panel.xaxis.set_major_formatter(axis_format("percent"))
        plot.tick_params(labelbottom=False)

    points = "; ".join(
        f"certainty {format_value(bin_.certainty, 'percent')}: accuracy {format_measure(bin_.accuracy)}, "
        f"{bin_.accuracy.n} verdicts"
        for bin_ in shown
    )
    return Chart(
        "Reliability diagram",
        draw(f"reliability-{name}", (HALF, 340), paint, Margins(left=62, right=18), rows=(3.2, 1), spacing=0.08),
        f"{points}.",
        "A calibrated judge lies on the dashed line. Bars: number of verdicts.",
    )


def _diagonal(plot: "Axes", shown: Sequence[Bin], fitting: Sequence[Bin]) -> None:
    """The points and their intervals; the axes leave room for all bins of `fitting`."""
    plot.plot([0, 1], [0, 1], color=BASE, lw=1.2, ls=(0, (4, 4)))
    for bin_ in shown:
        if bin_.accuracy.low is not None and bin_.accuracy.high is not None:
            ends = [bin_.accuracy.low, bin_.accuracy.high]
            plot.plot([bin_.certainty] * 2, ends, color=JUDGE, lw=2, alpha=0.45)
    x, y = [bin_.certainty for bin_ in shown], [bin_.accuracy.value or 0 for bin_ in shown]
    plot.plot(x, y, color=JUDGE, lw=1.6)
    plot.plot(x, y, "o", color=JUDGE, ms=8, mec=PAPER)
    ends = [end for bin_ in fitting for end in (bin_.low, bin_.accuracy.value, bin_.accuracy.low) if end is not None]
    plot.set(ylim=(max(0.0, min(ends) - 0.06), 1.04), ylabel="accuracy")
    plot.yaxis.set_major_formatter(axis_format("percent"))
    transform = plot.transAxes
    plot.text(0.985, 0.02, "below the line: overconfident", ha="right", size=SMALL, color=SOFT, transform=transform)


def _bin_counts(plot: "Axes", shown: Sequence[Bin]) -> None:
    most = max(bin_.accuracy.n for bin_ in shown)
    for bin_ in shown:
        width, n = bin_.high - bin_.low, bin_.accuracy.n
        plot.bar([bin_.low], [n], [0.94 * width], color=JUDGE, alpha=0.3, align="edge", lw=0)
        middle = bin_.low + 0.47 * width
        plot.text(middle, n + 0.05 * most, f"{n:,}", ha="center", va="bottom", size=SMALL - 1.5, color=SOFT)
    plot.grid(False)
    plot.set(ylim=(0, 1.45 * most), yticks=[], xlabel="certainty")


def coverage(name: str, curve: Sequence[CurvePoint]) -> Chart | None:
    """Accuracy of the most certain verdicts over coverage."""
    points = sorted((point for point in curve if point.accuracy.value is not None), key=lambda point: point.coverage)
    if len(points) < 2:
        return None
    values = [point.accuracy.value or 0 for point in points]
    half = min(points, key=lambda point: (abs(point.coverage - 0.5), point.coverage))

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        x = [point.coverage for point in points]
        band = [point for point in points if point.accuracy.low is not None and point.accuracy.high is not None]
        lows, highs = [b.accuracy.low or 0 for b in band], [b.accuracy.high or 0 for b in band]
        plot.fill_between([point.coverage for point in band], lows, highs, color=JUDGE, alpha=0.14, lw=0)
        plot.axhline(values[-1], color=BASE, lw=1.2, ls=(0, (4, 4)))
        plot.plot(x, values, color=JUDGE, lw=2.2)
        floor = min([*lows, *values])
        plot.set(xlim=(0, 1.0), ylim=(max(0.0, floor - 0.04), 1.02))
        plot.set_xlabel("coverage, the most certain verdicts first")
        _mark(plot, points[-1], "all:", "right", -18)
        if half is not points[-1]:
            _mark(plot, half, f"most certain {100 * half.coverage:.0f} %:", "left", 10)
        plot.xaxis.set_major_formatter(axis_format("percent"))
        plot.yaxis.set_major_formatter(axis_format("percent"))

    last = points[-1]
    return Chart(
        "Selective prediction",
        draw(f"coverage-{name}", (HALF, 340), paint, Margins(left=56, right=18)),
        f"Accuracy of the most certain {format_value(half.coverage, 'percent')}: "
        f"{format_value(half.accuracy.value, 'percent')}; of all: {format_value(last.accuracy.value, 'percent')}.",
        "Accuracy over coverage if the judge abstains below a certainty; band: 95 % interval.",
    )


def precision_recall(name: str, points: Sequence[PassPoint], positive: str) -> Chart | None:
    """Precision over recall of the positive of two categories, over all thresholds of its probability."""
    if len(points) < 2:
        return None
    all_passed = points[-1].precision  # of a judge that passes every text
    middle = min(points, key=lambda point: abs(point.threshold - 0.5))

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.axhline(all_passed, color=BASE, lw=1.2, ls=(0, (4, 4)))
        plot.step([p.recall for p in points], [p.precision for p in points], where="post", color=JUDGE, lw=2.2)
        plot.plot([middle.recall], [middle.precision], "o", color=JUDGE, ms=8, mec=PAPER, clip_on=False, zorder=5)
        plot.set(xlim=(0, 1), ylim=(0, 1.04), xlabel=f"recall: {positive} found", ylabel=f"precision: {positive} right")
        for axis in (plot.xaxis, plot.yaxis):
            axis.set_major_formatter(axis_format("percent"))

    return Chart(
        "Precision and recall",
        draw(f"precision-recall-{name}", (HALF, 340), paint, Margins(left=62, right=18)),
        f"At a probability of {middle.threshold:.2f} {format_value(middle.precision, 'percent')} of what it calls "
        f"{positive} is so by people, and {format_value(middle.recall, 'percent')} of that is found.",
        "Every threshold of the probability; the point is the one nearest to 50 %. Dashed: all texts passed.",
    )


def _mark(plot: "Axes", point: CurvePoint, text: str, side: Literal["left", "right"], offset: float) -> None:
    """A labelled point; the label is `offset` px above it."""
    x, y = point.coverage, point.accuracy.value or 0
    plot.plot([x], [y], "o", color=JUDGE, ms=8, mec=PAPER, clip_on=False, zorder=5)
    label = f"{text} {format_measure(point.accuracy)}"
    plot.annotate(label, (x, y), (0, offset), textcoords="offset points", ha=side, weight="bold", color=INK)


def histograms(name: str, scores: Sequence[Histogram]) -> Chart | None:
    """The distribution of the judge's and of the human scores, each on its scale."""
    shown = [histogram for histogram in scores if sum(histogram.counts)]
    if not shown:
        return None

    def paint(axes: "Sequence[Axes]") -> None:
        for index, (plot, histogram) in enumerate(zip(axes, shown, strict=True)):
            colour = PEOPLE if histogram.whose.lower().startswith(("people", "human")) else JUDGE
            total, edges = sum(histogram.counts), histogram.edges
            widths = [0.94 * (right - left) for left, right in pairwise(edges)]
            proportions = [n / total for n in histogram.counts]
            plot.bar(edges[:-1], proportions, widths, align="edge", color=colour, alpha=0.75, lw=0)
            plot.text(0.0, 1.03, histogram.whose, color=colour, weight="bold", transform=plot.transAxes)
            plot.text(1.0, 1.03, f"n = {total:,}", color=SOFT, size=SMALL, ha="right", transform=plot.transAxes)
            plot.grid(False, axis="x")
            plot.set_xlim(edges[0], edges[-1])
            plot.yaxis.set_major_formatter(axis_format("percent"))
            plot.locator_params(axis="y", nbins=3)
            plot.locator_params(axis="x", nbins=6)
            plot.xaxis.set_major_formatter(axis_format("number"))
            if index == len(shown) - 1:
                plot.set_xlabel("score")

    size = (HALF, 60.0 + 140.0 * len(shown))
    values = "; ".join(f"{histogram.whose}: {_in_words(histogram)}" for histogram in shown)
    return Chart(
        "Distribution of scores",
        draw(f"scores-{name}", size, paint, Margins(left=52, top=26), rows=(1,) * len(shown), spacing=0.55),
        f"{values}.",
        "A judge that gives every text the same score cannot rank texts.",
    )


def _in_words(histogram: Histogram) -> str:
    bins = zip(pairwise(histogram.edges), histogram.counts, strict=False)
    return ", ".join(f"{low:g} to {high:g} {n}" for (low, high), n in bins)


def branches(name: str, sweep: Sequence[Branch]) -> Chart | None:
    """Three measures at most over the number of criteria used."""
    if len(sweep) < 2:
        return None
    names = list(dict.fromkeys(measure.name for branch in sweep for measure in branch.measures))[:3]
    lines = {
        label: [(b.n, measure) for b in sweep for measure in b.measures if measure.name == label and _is_known(measure)]
        for label in names
    }
    lines = {label: points for label, points in lines.items() if len(points) > 1}
    if not lines:
        return None

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        ends = _apart([points[-1][1].value or 0 for points in lines.values()])
        for (label, points), colour, end in zip(lines.items(), (JUDGE, PEOPLE, THIRD), ends, strict=False):
            _line(plot, points, colour)
            last = points[-1]
            text, units = f"{readable(label)} {format_measure(last[1])}", "offset points"
            annotation = plot.annotate(text, (last[0], end), (12, 0), textcoords=units, va="center", color=colour)
            annotation.set(fontweight="bold", annotation_clip=False)
        plot.set_xticks([branch.n for branch in sweep])
        plot.set_xlabel("criteria")
        plot.grid(False, axis="x")
        plot.yaxis.set_major_formatter(axis_format(unit_of(next(iter(lines.values()))[0][1])))

    values = "; ".join(
        f"{label}: " + ", ".join(f"{n} criteria {format_measure(measure)}" for n, measure in points)
        for label, points in lines.items()
    )
    return Chart(
        "Agreement by number of criteria",
        draw(f"branches-{name}", (HALF, 320), paint, Margins(left=52, right=138)),
        f"{values}.",
        "The verdicts of the first criteria only; every further criterion costs its calls." + _incomplete(sweep),
    )


def _is_known(measure: Measure) -> bool:
    return measure.value is not None


def _line(plot: "Axes", points: Sequence[tuple[int, Measure]], colour: str) -> None:
    x, y = [n for n, _ in points], [measure.value or 0 for _, measure in points]
    low = [measure.low if measure.low is not None else measure.value or 0 for _, measure in points]
    high = [measure.high if measure.high is not None else measure.value or 0 for _, measure in points]
    plot.fill_between(x, low, high, color=colour, alpha=0.11, lw=0)
    plot.plot(x, y, color=colour, lw=2.2)
    plot.plot(x, y, "o", color=colour, ms=7, mec=PAPER, clip_on=False)


def _incomplete(sweep: Sequence[Branch]) -> str:
    most, last = max(branch.full for branch in sweep), sweep[-1]
    if last.full == most:
        return ""
    return f" {last.full:,} of {most:,} cases have {last.n} criteria; the other cases use all of theirs."


def _apart(values: Sequence[float]) -> list[float]:
    """Heights for labels at these values, moved up so that none overlap: at least 0.022 apart."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    placed = list(values)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + 0.022)
    return placed
