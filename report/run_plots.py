"""Tables in shades, rankings, and agreement against cost: the plots of the report that compare two sides."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..evaluation.results import ConfusionTable, SystemRow
from .drawing import BASE, JUDGE, PAPER, SMALL, SOFT, TEXT, Margins, drawn, shortened
from .forest_plots import HALF, Chart, Dot, axis_format, dot_plot, percent
from .formatting import Lead, figure, named, spoken, told, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 8  # more cells cannot hold their figures
MOST_SYSTEMS = 16  # more names would run into each other


def confusion(name: str, table: ConfusionTable) -> Chart | None:
    """Rows are people's labels, columns the judge's; shades and shares are of a row."""
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
        plot.text(k / 2, -0.1 - 26 / cell, "judge says", ha="center", va="bottom", color=SOFT, size=SMALL)
        plot.text(-0.12 - 66 / cell, k / 2, "people say", ha="center", va="center", color=SOFT, size=SMALL, rotation=90)

    size = (k * cell + 116, k * cell + 62)
    right = sum(table.counts[index][index] for index in range(k))
    cells = "; ".join(
        f"people {label}: " + ", ".join(f"judge {said} {n}" for said, n in zip(table.labels, counts, strict=True))
        for label, counts in zip(table.labels, table.counts, strict=True)
    )
    return Chart(
        "What the judge says where people say …",
        drawn(f"confusion-{name}", size, paint, Margins(left=100, right=16, top=52, bottom=10)),
        f"{right} of {total} on the diagonal. {cells}.",
        "Each row adds up to 100 %. Off the diagonal are the mistakes.",
    )


def _shades(plot: "Axes", row: int, counts: Sequence[int]) -> None:
    from matplotlib.patches import Rectangle

    for column, count in enumerate(counts):
        share = count / sum(counts) if sum(counts) else 0.0
        box = Rectangle((column + 0.02, row + 0.02), 0.96, 0.96, lw=0)
        box.set(facecolor=JUDGE, alpha=0.05 + 0.4 * share)  # so that ink stands out on all of them
        plot.add_patch(box)
        plot.text(column + 0.5, row + 0.46, percent(share), ha="center", va="center", size=TEXT + 1.5)
        plot.text(column + 0.5, row + 0.74, f"{count:,}", ha="center", va="center", size=SMALL - 1)


def systems(name: str, rows: Sequence[SystemRow]) -> Chart | None:
    """Systems in people's order and in the judge's, or by the judge's scores alone."""
    shown = [row for row in rows if row.judge.value is not None][:MOST_SYSTEMS]
    if len(shown) < 2:
        return None
    if not all(row.people is not None and row.people.value is not None for row in shown):
        dots = [Dot(row.system, row.judge) for row in shown]
        told_rows = "; ".join(f"{row.system} {spoken(row.judge)}" for row in shown)
        return Chart("Systems by the judge's score", dot_plot(f"systems-{name}", dots, HALF), f"{told_rows}.")
    judge = sorted(shown, key=lambda row: (-(row.judge.value or 0), row.system))
    people = sorted(shown, key=lambda row: (-_people(row), row.system))

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.grid(False)
        plot.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -1.1), xticks=[], yticks=[])
        plot.spines[:].set_visible(False)
        for at, side, title in ((-0.1, "right", "people"), (1.1, "left", "judge")):
            plot.text(at, -0.9, title, ha=side, va="center", color=SOFT, size=SMALL, clip_on=False)
        for left, row in enumerate(people):
            right = judge.index(row)
            moved = left != right
            colour = JUDGE if moved else BASE
            plot.plot([0, 1], [left, right], color=colour, lw=2 if moved else 1.4, clip_on=False)
            plot.plot([0, 1], [left, right], "o", color=colour, ms=7, mec=PAPER, clip_on=False)
            label = shortened(row.system, 18)
            plot.text(-0.1, left, f"{label}\u2002{figure(row.people or row.judge)}", ha="right", va="center")
            plot.text(1.1, right, f"{figure(row.judge)}\u2002{label}", ha="left", va="center")

    moved = [row.system for place, row in enumerate(people) if judge[place] is not row]
    order = f"People's order: {', '.join(row.system for row in people)}. "
    order += f"Judge's order: {', '.join(row.system for row in judge)}."
    told_of = "Both orders are the same." if not moved else f"{len(moved)} of {len(shown)} stand elsewhere (in colour)."
    return Chart(
        "Systems in people's order and in the judge's",
        drawn(f"systems-{name}", (HALF, 44 + 27 * len(shown)), paint, Margins(190, 190, 14, 10)),
        order,
        told_of,
    )


def costs(leads: Sequence[Lead], spent: Sequence[float], unit: str) -> Chart | None:
    """Every run's leading figure over what a verdict costs in `unit`."""
    points = [(cost, lead) for cost, lead in zip(spent, leads, strict=True) if cost > 0]
    if len(points) < 2:
        return None

    points.sort(key=lambda point: point[0])
    least, most = points[0][0], points[-1][0]

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.set_xscale("log")
        for place, (cost, lead) in enumerate(points):
            one = lead.measure
            if one.low is not None and one.high is not None:
                plot.plot([cost, cost], [one.low, one.high], color=JUDGE, lw=2, alpha=0.45)
            plot.plot([cost], [lead.value], "o", color=JUDGE, ms=8, mec=PAPER)
            side, away = ("right", -9) if place < len(points) / 2 else ("left", 9)
            where = (cost, lead.value)
            plot.annotate(shortened(lead.run, 20), where, (away, 0), textcoords="offset points", ha=side, va="center")
        reach = max(2.0, (most / least) ** 0.6)  # room for the names
        plot.set_xlim(least / reach, most * reach)
        plot.set_xticks(round_costs(least / reach, most * reach), minor=False)
        plot.minorticks_off()
        plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        plot.yaxis.set_major_formatter(axis_format(unit_of(leads[0].measure)))
        plot.set_xlabel(f"{unit} a case")

    return Chart(
        f"{named(leads[0].measure.name).capitalize()} against cost",
        drawn("costs", (HALF, 300), paint, Margins(left=56, right=16)),
        "; ".join(f"{lead.run}: {told(cost)} {unit} a case, {spoken(lead.measure)}" for cost, lead in points),
        "Up and to the left is better.",
    )


def round_costs(least: float, most: float) -> list[float]:
    """1, 2 and 5 times the powers of ten in between; the powers alone when those would be many."""
    powers = [10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]
    steps = (1,) if len(powers) > 4 else (1, 2, 5)
    return [step * power for power in powers for step in steps if least <= step * power <= most]


def _people(row: SystemRow) -> float:
    return row.people.value if row.people is not None and row.people.value is not None else 0.0
