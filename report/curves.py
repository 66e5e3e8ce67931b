"""Curves and bins: is the certainty true, what does keeping the surest verdicts give, do more criteria help."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ..evaluation.results import Bin, Branch, CurvePoint, Histogram, Measure
from .drawing import BASE, INK, JUDGE, PAPER, PEOPLE, SMALL, SOFT, THIRD, Margins, drawn
from .forest_plots import HALF, Chart, axis_format
from .formatting import figure, named, told, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def reliability(name: str, bins: Sequence[Bin], error: Measure | None, beside: Sequence[Bin] = ()) -> Chart | None:
    """Accuracy over certainty, with how many verdicts stand in each bin.

    Args:
        error: the expected calibration error, named in the plot.
        beside: the bins of another plot, with which this one shares its axes.
    """
    shown = [one for one in bins if one.accuracy.value is not None and one.accuracy.n]
    if not shown:
        return None

    def paint(axes: "Sequence[Axes]") -> None:
        plot, counts = axes
        _diagonal(plot, shown, [*shown, *beside])
        _counts(counts, shown)
        if error is not None:
            plot.text(0.03, 0.97, f"ECE {figure(error)}", weight="bold", va="top", transform=plot.transAxes)
        for each in axes:
            each.set_xlim(min(0.5, *(one.low for one in (*shown, *beside))), 1.0)
            each.xaxis.set_major_formatter(axis_format("percent"))
        plot.tick_params(labelbottom=False)

    points = "; ".join(
        f"certainty {told(one.certainty, 'percent')}: right {figure(one.accuracy)}, {one.accuracy.n} verdicts"
        for one in shown
    )
    return Chart(
        "Does its certainty hold?",
        drawn(f"reliability-{name}", (HALF, 340), paint, Margins(left=62, right=18), rows=(3.2, 1), gap=0.08),
        f"{points}.",
        "A calibrated judge stands on the dashed line. Bars count the verdicts.",
    )


def _diagonal(plot: "Axes", shown: Sequence[Bin], within: Sequence[Bin]) -> None:
    """The points and their intervals; the axes leave room for all `within`."""
    plot.plot([0, 1], [0, 1], color=BASE, lw=1.2, ls=(0, (4, 4)))
    for one in shown:
        if one.accuracy.low is not None and one.accuracy.high is not None:
            ends = [one.accuracy.low, one.accuracy.high]
            plot.plot([one.certainty] * 2, ends, color=JUDGE, lw=2, alpha=0.45)
    x, y = [one.certainty for one in shown], [one.accuracy.value or 0 for one in shown]
    plot.plot(x, y, color=JUDGE, lw=1.6)
    plot.plot(x, y, "o", color=JUDGE, ms=8, mec=PAPER)
    ends = [end for one in within for end in (one.low, one.accuracy.value, one.accuracy.low) if end is not None]
    plot.set(ylim=(max(0.0, min(ends) - 0.06), 1.04), ylabel="right, as people see it")
    plot.yaxis.set_major_formatter(axis_format("percent"))
    where = plot.transAxes
    plot.text(0.985, 0.02, "below the dashes: too sure", ha="right", size=SMALL, color=SOFT, transform=where)


def _counts(plot: "Axes", shown: Sequence[Bin]) -> None:
    most = max(one.accuracy.n for one in shown)
    for one in shown:
        width, n = one.high - one.low, one.accuracy.n
        plot.bar([one.low], [n], [0.94 * width], color=JUDGE, alpha=0.3, align="edge", lw=0)
        middle = one.low + 0.47 * width
        plot.text(middle, n + 0.05 * most, f"{n:,}", ha="center", va="bottom", size=SMALL - 1.5, color=SOFT)
    plot.grid(False)
    plot.set(ylim=(0, 1.45 * most), yticks=[], xlabel="the judge's certainty")


def coverage(name: str, curve: Sequence[CurvePoint]) -> Chart | None:
    """Accuracy of the surest verdicts over how many of them are kept."""
    points = sorted((one for one in curve if one.accuracy.value is not None), key=lambda one: one.coverage)
    if len(points) < 2:
        return None
    values = [one.accuracy.value or 0 for one in points]
    half = min(points, key=lambda one: (abs(one.coverage - 0.5), one.coverage))

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        x = [one.coverage for one in points]
        band = [one for one in points if one.accuracy.low is not None and one.accuracy.high is not None]
        lows, highs = [b.accuracy.low or 0 for b in band], [b.accuracy.high or 0 for b in band]
        plot.fill_between([one.coverage for one in band], lows, highs, color=JUDGE, alpha=0.14, lw=0)
        plot.axhline(values[-1], color=BASE, lw=1.2, ls=(0, (4, 4)))
        plot.plot(x, values, color=JUDGE, lw=2.2)
        floor = min([*lows, *values])
        plot.set(xlim=(0, 1.0), ylim=(max(0.0, floor - 0.04), 1.02))
        plot.set_xlabel("share of the verdicts kept, surest first")
        _mark(plot, points[-1], "all:", "right", -18)
        if half is not points[-1]:
            _mark(plot, half, f"surest {100 * half.coverage:.0f} %:", "left", 10)
        plot.xaxis.set_major_formatter(axis_format("percent"))
        plot.yaxis.set_major_formatter(axis_format("percent"))

    last = points[-1]
    return Chart(
        "What abstaining would give",
        drawn(f"coverage-{name}", (HALF, 340), paint, Margins(left=56, right=18)),
        f"The surest {told(half.coverage, 'percent')} are right on {told(half.accuracy.value, 'percent')}; "
        f"all verdicts on {told(last.accuracy.value, 'percent')}.",
        "Accuracy of the verdicts that are kept when the judge stays silent below a certainty; band: 95 % interval.",
    )


def _mark(plot: "Axes", point: CurvePoint, text: str, side: Literal["left", "right"], away: float) -> None:
    """A point named, so many px above it."""
    where = (point.coverage, point.accuracy.value or 0)
    plot.plot([where[0]], [where[1]], "o", color=JUDGE, ms=8, mec=PAPER, clip_on=False, zorder=5)
    told_of = f"{text} {figure(point.accuracy)}"
    plot.annotate(told_of, where, (0, away), textcoords="offset points", ha=side, weight="bold", color=INK)


def histograms(name: str, found: Sequence[Histogram]) -> Chart | None:
    """The judge's and people's scores, each on its own scale."""
    shown = [one for one in found if sum(one.counts)]
    if not shown:
        return None

    def paint(axes: "Sequence[Axes]") -> None:
        for index, (plot, one) in enumerate(zip(axes, shown, strict=True)):
            colour = PEOPLE if one.whose.lower().startswith(("people", "human")) else JUDGE
            total = sum(one.counts)
            widths = [right - left for left, right in pairwise(one.edges)]
            shares = [n / total for n in one.counts]
            plot.bar(one.edges[:-1], shares, [0.94 * w for w in widths], align="edge", color=colour, alpha=0.75, lw=0)
            plot.text(0.0, 1.03, one.whose, color=colour, weight="bold", transform=plot.transAxes)
            plot.text(1.0, 1.03, f"n = {total:,}", color=SOFT, size=SMALL, ha="right", transform=plot.transAxes)
            plot.grid(False, axis="x")
            plot.set_xlim(one.edges[0], one.edges[-1])
            plot.yaxis.set_major_formatter(axis_format("percent"))
            plot.locator_params(axis="y", nbins=3)
            plot.locator_params(axis="x", nbins=6)
            plot.xaxis.set_major_formatter(axis_format("number"))
            if index == len(shown) - 1:
                plot.set_xlabel("score")

    size = (HALF, 60.0 + 140.0 * len(shown))
    spoken = "; ".join(
        f"{one.whose}: "
        + ", ".join(f"{low:g} to {high:g} {n}" for (low, high), n in zip(pairwise(one.edges), one.counts, strict=False))
        for one in shown
    )
    return Chart(
        "How scores are spread",
        drawn(f"scores-{name}", size, paint, Margins(left=52, top=26), rows=(1,) * len(shown), gap=0.55),
        f"{spoken}.",
        "A judge that gives everything the same score cannot tell texts apart.",
    )


def branches(name: str, found: Sequence[Branch]) -> Chart | None:
    """Each figure over the number of criteria that count."""
    if len(found) < 2:
        return None
    names = list(dict.fromkeys(one.name for branch in found for one in branch.measures))[:3]
    lines = {
        label: [(b.n, one) for b in found for one in b.measures if one.name == label and one.value is not None]
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
            text, beside = f"{named(label)} {figure(last[1])}", "offset points"
            said = plot.annotate(text, (last[0], end), (12, 0), textcoords=beside, va="center", color=colour)
            said.set(fontweight="bold", annotation_clip=False)
        plot.set_xticks([branch.n for branch in found])
        plot.set_xlabel("criteria")
        plot.grid(False, axis="x")
        plot.yaxis.set_major_formatter(axis_format(unit_of(next(iter(lines.values()))[0][1])))

    spoken = "; ".join(
        f"{label}: " + ", ".join(f"{n} criteria {figure(one)}" for n, one in points) for label, points in lines.items()
    )
    return Chart(
        "Does another criterion pay?",
        drawn(f"branches-{name}", (HALF, 320), paint, Margins(left=52, right=138)),
        f"{spoken}.",
        "What the first criteria alone would have said; each more costs its calls." + _short(found),
    )


def _line(plot: "Axes", points: Sequence[tuple[int, Measure]], colour: str) -> None:
    x, y = [n for n, _ in points], [one.value or 0 for _, one in points]
    low = [one.low if one.low is not None else one.value or 0 for _, one in points]
    high = [one.high if one.high is not None else one.value or 0 for _, one in points]
    plot.fill_between(x, low, high, color=colour, alpha=0.11, lw=0)
    plot.plot(x, y, color=colour, lw=2.2)
    plot.plot(x, y, "o", color=colour, ms=7, mec=PAPER, clip_on=False)


def _short(found: Sequence[Branch]) -> str:
    most, last = max(branch.full for branch in found), found[-1]
    if last.full == most:
        return ""
    return f" {last.full:,} of {most:,} cases have {last.n} criteria; the others count with all they have."


def _apart(values: Sequence[float]) -> list[float]:
    """Where labels at these heights can stand without running into each other: at least 7 % of the spread apart."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    placed = list(values)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + 0.022)
    return placed
