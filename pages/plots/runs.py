"""Plots of runs: confusion matrix, ranking of systems, agreement against cost."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...evaluation.results import ConfusionTable, SystemRow
from ..formatting import describe_measure, format_measure, format_percent, format_value, readable, unit_of
from ..run_report import LeadMeasure
from . import forest
from .chart import (
    BASE,
    HALF,
    JUDGE,
    PAPER,
    SMALL,
    SOFT,
    TEXT,
    Chart,
    Margins,
    axis_format,
    draw,
    round_ticks,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 8  # with more, the numbers do not fit into the cells
MOST_SYSTEMS = 16  # with more, the names overlap


def confusion(name: str, table: ConfusionTable) -> Chart | None:
    """The confusion matrix: rows are human labels, columns the judge's; percentages and shades are of a row."""
    k, total = len(table.labels), sum(map(sum, table.counts))
    if not total or k > MOST_LABELS:
        return None
    labels = [shortened(label, 10) for label in table.labels]
    cell = min(84.0, 330.0 / k)

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.grid(False)
        plot.set(xlim=(0, k), ylim=(k, 0), xticks=[], yticks=[])
        plot.spines[:].set_visible(False)
        for place, (label, counts) in enumerate(zip(labels, table.counts, strict=True)):
            plot.text(-0.12, place + 0.5, label, ha="right", va="center", weight="bold")
            plot.text(place + 0.5, -0.1, label, ha="center", va="bottom", weight="bold")
            _shades(plot, place, counts)
        plot.text(k / 2, -0.1 - 26 / cell, "judge", ha="center", va="bottom", color=SOFT, size=SMALL)
        plot.text(
            -0.12 - 66 / cell, k / 2, "human label", ha="center", va="center", color=SOFT, size=SMALL, rotation=90
        )

    size = (k * cell + 116, k * cell + 62)
    correct = sum(table.counts[index][index] for index in range(k))
    cells = "; ".join(
        f"human label {label}: "
        + ", ".join(f"judge {other} {n}" for other, n in zip(table.labels, counts, strict=True))
        for label, counts in zip(table.labels, table.counts, strict=True)
    )
    return Chart(
        "Confusion matrix",
        draw(f"confusion-{name}", size, paint, Margins(left=100, right=16, top=52, bottom=10)),
        f"{correct} of {total} on the diagonal. {cells}.",
        "Each row adds up to 100 %. Disagreements lie off the diagonal.",
    )


def _shades(plot: "Axes", row: int, counts: Sequence[float]) -> None:
    from matplotlib.patches import Rectangle

    for column, count in enumerate(counts):
        proportion = count / sum(counts) if sum(counts) else 0.0
        box = Rectangle((column + 0.02, row + 0.02), 0.96, 0.96, lw=0)
        box.set(facecolor=JUDGE, alpha=0.05 + 0.4 * proportion)  # light enough for text in ink
        plot.add_patch(box)
        plot.text(column + 0.5, row + 0.46, format_percent(proportion), ha="center", va="center", size=TEXT + 1.5)
        plot.text(column + 0.5, row + 0.74, f"{count:,}", ha="center", va="center", size=SMALL - 1)


def systems(name: str, rows: Sequence[SystemRow]) -> Chart | None:
    """Systems ranked by human annotators and by the judge; without human labels by the judge only."""
    shown = [row for row in rows if row.judge.value is not None][:MOST_SYSTEMS]
    if len(shown) < 2:
        return None
    if not all(row.people is not None and row.people.value is not None for row in shown):
        estimates = [forest.ForestRow(row.system, row.judge) for row in shown]
        values = "; ".join(f"{row.system} {describe_measure(row.judge)}" for row in shown)
        return Chart("Systems by the judge's score", forest.plot_rows(f"systems-{name}", estimates, HALF), f"{values}.")
    judge = sorted(shown, key=lambda row: (-(row.judge.value or 0), row.system))
    people = sorted(shown, key=lambda row: (-_human_score(row), row.system))

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.grid(False)
        plot.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -1.1), xticks=[], yticks=[])
        plot.spines[:].set_visible(False)
        for at, side, title in ((-0.1, "right", "human annotators"), (1.1, "left", "judge")):
            plot.text(at, -0.9, title, ha=side, va="center", color=SOFT, size=SMALL, clip_on=False)
        for left, row in enumerate(people):
            right = judge.index(row)
            moved = left != right
            colour = JUDGE if moved else BASE
            plot.plot([0, 1], [left, right], color=colour, lw=2 if moved else 1.4, clip_on=False)
            plot.plot([0, 1], [left, right], "o", color=colour, ms=7, mec=PAPER, clip_on=False)
            label = shortened(row.system, 18)
            plot.text(-0.1, left, f"{label}\u2002{format_measure(row.people or row.judge)}", ha="right", va="center")
            plot.text(1.1, right, f"{format_measure(row.judge)}\u2002{label}", ha="left", va="center")

    moved = [row.system for place, row in enumerate(people) if judge[place] is not row]
    order = f"Human ranking: {', '.join(row.system for row in people)}. "
    order += f"Judge's ranking: {', '.join(row.system for row in judge)}."
    note = "Both rankings are equal."
    if moved:
        note = f"{len(moved)} of {len(shown)} systems have a different rank (in colour)."
    return Chart(
        "System ranking: human annotators and judge",
        draw(f"systems-{name}", (HALF, 44 + 27 * len(shown)), paint, Margins(190, 190, 14, 10)),
        order,
        note,
    )


def costs(leads: Sequence[LeadMeasure], spent: Sequence[float], unit: str) -> Chart | None:
    """The lead measure of each run over the cost of a case, in `unit`."""
    points = [(cost, lead) for cost, lead in zip(spent, leads, strict=True) if cost > 0]
    if len(points) < 2:
        return None

    points.sort(key=lambda point: point[0])
    least, most = points[0][0], points[-1][0]

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.set_xscale("log")
        for place, (cost, lead) in enumerate(points):
            measure = lead.measure
            if measure.low is not None and measure.high is not None:
                plot.plot([cost, cost], [measure.low, measure.high], color=JUDGE, lw=2, alpha=0.45)
            plot.plot([cost], [lead.value], "o", color=JUDGE, ms=8, mec=PAPER)
            side, offset = ("right", -9) if place < len(points) / 2 else ("left", 9)
            place_of_name: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "center"}
            plot.annotate(shortened(lead.run, 20), (cost, lead.value), (offset, 0), **place_of_name)
        reach = max(2.0, (most / least) ** 0.6)  # room for the names
        plot.set_xlim(least / reach, most * reach)
        plot.set_xticks(round_ticks(least / reach, most * reach), minor=False)
        plot.minorticks_off()
        plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        plot.yaxis.set_major_formatter(axis_format(unit_of(leads[0].measure)))
        plot.set_xlabel(f"{unit} per case")

    return Chart(
        f"{readable(leads[0].measure.name).capitalize()} against cost",
        draw("costs", (HALF, 300), paint, Margins(left=56, right=16)),
        "; ".join(
            f"{lead.run}: {format_value(cost)} {unit} per case, {describe_measure(lead.measure)}"
            for cost, lead in points
        ),
        "Up and to the left is better.",
    )


def _human_score(row: SystemRow) -> float:
    return row.people.value if row.people is not None and row.people.value is not None else 0.0
