"""The plots of a compilation: weights of a head, the front of a search, what a certificate keeps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..evaluation.results import CurvePoint
from .compilation import Attempt, Guarantee, Search
from .drawing import BASE, INK, JUDGE, PAPER, PEOPLE, SMALL, SOFT, Margins, drawn, shortened
from .forest_plots import HALF, ROW, WHOLE, Chart, axis_format, percent
from .formatting import MINUS, named, spoken, told, unit_of
from .run_plots import round_costs
from .tables import weights_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WEIGHTS = 24
SETTLED = 0.15  # share of the verdicts; the disagreement of fewer leaps about, and may leave the plot
WIDE = 4.0  # times the least cost; from there on costs stand on a logarithmic axis


def weights(name: str, title: str, given: Mapping[str, float], note: str) -> Chart | None:
    """A bar for each piece of evidence, the heaviest first."""
    shown = weights_rows(given)[:MOST_WEIGHTS]
    if not shown:
        return None
    reach = max(abs(weight) for _, weight in shown) or 1.0
    longest = max(len(shortened(label, 26)) for label, _ in shown)

    def paint(axes: "Sequence[Axes]") -> None:
        (plot,) = axes
        plot.grid(False)
        low = -1.04 * reach if any(weight < 0 for _, weight in shown) else 0.0
        plot.set(xlim=(low, 1.04 * reach), ylim=(len(shown) - 0.4, -0.6), xticks=[], yticks=[])
        plot.spines["bottom"].set_visible(False)
        for place, (label, weight) in enumerate(shown):
            plot.barh([place], [weight], 0.56, color=JUDGE if weight >= 0 else PEOPLE, alpha=0.75, lw=0)
            far: dict[str, Any] = {"textcoords": "offset points", "va": "center"}
            plot.annotate(shortened(label, 26), (low, place), (-12, 0), ha="right", **far)
            plot.annotate(_signed(weight), (1.04 * reach, place), (12, 0), ha="left", weight="bold", **far)
        plot.axvline(0, color=SOFT, lw=1.2)

    size = (HALF, ROW * len(shown) + 16)
    return Chart(
        title,
        drawn(f"weights-{name}", size, paint, Margins(26 + 7.2 * longest, 84, 6, 10)),
        "; ".join(f"{label} {_signed(weight)}" for label, weight in shown) + ".",
        note,
    )


def front(search: Search) -> Chart | None:
    """Every trial's figure over what a verdict costs; the front is joined, the chosen one named."""
    placed = [each for each in search.attempts if each.figure.value is not None and _cost(each, search) is not None]
    if len(placed) < 2:
        return None
    name = named(placed[0].figure.name)
    kept = sorted((each for each in placed if each.front), key=lambda each: _cost(each, search) or 0.0)

    def painted(width: float) -> str:
        def paint(axes: "Sequence[Axes]") -> None:
            (plot,) = axes
            _cost_axis(plot, [_cost(each, search) or 0.0 for each in placed])
            for each in placed:
                _trial(plot, each, _cost(each, search) or 0.0)
            x, y = [_cost(each, search) or 0.0 for each in kept], [each.figure.value or 0.0 for each in kept]
            plot.plot(x, y, color=JUDGE, lw=2.2, zorder=3)
            _names(plot, placed, search)
            plot.margins(y=0.12)
            plot.yaxis.set_major_formatter(axis_format(unit_of(placed[0].figure)))
            plot.set(xlabel=f"{search.cost} a verdict", ylabel=name + ("" if search.higher else ", lower is better"))

        return drawn(f"front-{width:g}", (width, 380), paint, Margins(64, 24, 14, 42))

    note = (
        "Blue: the front, which no other structure beats in both, with the numbers of the trials. Grey: beaten; faint: "
        "stopped early, on the cases judged by then. Lines are 95 % intervals, on the cases that chose."
    )
    told_front = "; ".join(
        f"trial {each.number}{' (chosen)' if each.chosen else ''}: {told(_cost(each, search))} {search.cost}, "
        f"{spoken(each.figure)}"
        for each in kept
    )
    title = f"{name.capitalize()} against cost"
    return Chart(title, painted(WHOLE), f"The front: {told_front}.", note, painted(HALF))


def risk(guarantee: Guarantee, tested: Sequence[CurvePoint]) -> Chart | None:
    """How often the surest verdicts disagree with people, over how many are kept.

    Args:
        tested: the same of the test part, which no threshold was chosen on.
    """
    points, others = (
        [each for each in curve if each.accuracy.value is not None] for curve in (guarantee.curve, tested)
    )
    if len(points) < 2:
        return None

    def painted(width: float) -> str:
        def paint(axes: "Sequence[Axes]") -> None:
            _risks(axes[0], guarantee, points, others)

        return drawn(f"risk-{width:g}", (width, 340), paint, Margins(62, 76, 14, 42))

    told_curve = "; ".join(
        f"certainty {each.threshold:g}: {told(each.coverage, 'percent')} kept, "
        f"{told(_disagreements([each])[0], 'percent')} disagree"
        for each in points
    )
    beside = " Grey: the test part, which no threshold was chosen on." if others else ""
    return Chart(
        "Disagreement among the verdicts that are kept",
        painted(WHOLE),
        f"{told_curve}.",
        f"Blue: the certify part, {guarantee.n:,} cases; band: 95 % interval at each point.{beside}",
        painted(HALF),
    )


def _risks(plot: "Axes", guarantee: Guarantee, points: Sequence[CurvePoint], others: Sequence[CurvePoint]) -> None:
    low, high = ([_disagree(end) for end in ends] for ends in zip(*map(_ends, points), strict=True))
    plot.fill_between([each.coverage for each in points], high, low, color=JUDGE, alpha=0.14, lw=0)
    plot.axhline(guarantee.risk, color=PEOPLE, lw=1.6, ls=(0, (4, 4)))
    ordered = sorted(others, key=lambda each: each.coverage)
    plot.plot([each.coverage for each in ordered], _disagreements(ordered), color=BASE, lw=1.6)
    plot.plot([each.coverage for each in points], _disagreements(points), color=JUDGE, lw=2.2)
    if guarantee.threshold is not None:
        _certified(plot, min(points, key=lambda each: abs(each.coverage - guarantee.kept)), guarantee.threshold)
    settled = [_disagreements([each])[0] for each in (*points, *others) if each.coverage >= SETTLED]
    plot.set(xlim=(0, 1.0), ylim=(0, min(1.0, 1.3 * max([2 * guarantee.risk, *settled]))))
    plot.set(xlabel="share of the verdicts kept, surest first", ylabel="disagree with people")
    plot.xaxis.set_major_formatter(axis_format("percent"))
    plot.yaxis.set_major_formatter(axis_format("percent"))
    text, at = f"allowed\n{percent(guarantee.risk)}", (1.0, guarantee.risk)
    said = plot.annotate(text, at, (8, 0), textcoords="offset points", va="center", color=PEOPLE)
    said.set(fontweight="bold", annotation_clip=False)


def _ends(point: CurvePoint) -> tuple[float | None, float | None]:
    return point.accuracy.low, point.accuracy.high


def _disagree(accuracy: float | None) -> float:
    return 1 - (accuracy or 0.0)


def _disagreements(points: Sequence[CurvePoint]) -> list[float]:
    return [_disagree(each.accuracy.value) for each in points]


def _certified(plot: "Axes", point: CurvePoint, threshold: float) -> None:
    """The point that the threshold keeps, named by it."""
    where = (point.coverage, _disagree(point.accuracy.value))
    plot.plot([where[0]], [where[1]], "o", color=JUDGE, ms=10, mec=PAPER, mew=1.6, zorder=5, clip_on=False)
    text, side = f"certainty {threshold:g} keeps {percent(point.coverage)}", "right" if where[0] > 0.5 else "left"
    far: dict[str, Any] = {"textcoords": "offset points", "ha": side, "weight": "bold", "color": INK, "zorder": 6}
    plot.annotate(text, where, (0, 12), **far)


def _trial(plot: "Axes", each: Attempt, cost: float) -> None:
    one = each.figure
    done = each.status == "complete"
    colour = JUDGE if each.front else BASE
    if done and one.low is not None and one.high is not None:
        plot.plot([cost] * 2, [one.low, one.high], color=colour, lw=2, alpha=0.4 if each.front else 0.22, zorder=1)
    size = 12 if each.chosen else 8 if done else 6
    plot.plot(
        [cost], [one.value or 0.0], "o", color=colour, ms=size, mec=PAPER, alpha=1.0 if done else 0.4,
        zorder=5 if each.chosen else 4 if each.front else 2,
    )  # fmt: skip
    if each.chosen:
        plot.plot([cost], [one.value or 0.0], "o", ms=19, mfc="none", mec=JUDGE, mew=1.6, zorder=5)


def _names(plot: "Axes", placed: Sequence[Attempt], search: Search) -> None:
    """Words at the chosen structure and at the start, numbers at the rest of the front."""
    for each in placed:
        if not (each.chosen or each.front or each.number == 0):
            continue
        cost, value = _cost(each, search) or 0.0, each.figure.value or 0.0
        words = "as it stood" if each.number == 0 else str(each.number)
        far: dict[str, Any] = {"textcoords": "offset points", "zorder": 6}
        if each.chosen:
            plot.annotate(f"{words}, chosen", (cost, value), (15, 0), va="center", weight="bold", color=INK, **far)
        elif each.front:
            plot.annotate(words, (cost, each.figure.high or value), (0, 5), ha="center", color=SOFT, size=SMALL, **far)
        else:
            plot.annotate(words, (cost, value), (9, 0), va="center", color=SOFT, size=SMALL, **far)


def _cost_axis(plot: "Axes", costs: Sequence[float]) -> None:
    """Logarithmic where costs are far apart, with room for names on the right."""
    least, most = min(costs), max(costs)
    if least > 0 and most / least >= WIDE:
        plot.set_xscale("log")
        low, high = least / 1.15, most * (most / least) ** 0.22
        plot.set_xlim(low, high)
        plot.set_xticks(round_costs(low, high), minor=False)
        plot.minorticks_off()
    else:
        pad = 0.06 * (most - least) or 0.1 * most or 1.0
        plot.set_xlim(max(0.0, least - pad), most + 0.22 * (most - least) + pad)
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _cost(each: Attempt, search: Search) -> float | None:
    return each.tokens if search.cost == "tokens" else each.calls


def _signed(weight: float) -> str:
    return f"{weight:+.3g}".replace("-", MINUS)
