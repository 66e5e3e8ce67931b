"""An evaluation on a terminal: a table a section, confusion, strata, branches, systems; comparisons."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from ..evaluation.results import Comparison, Evaluation, Measure

MOST_SYSTEMS = 20  # rows of the ranking; --json has all
TITLES = {
    "agreement": "agreement with people",
    "people": "people among themselves",
    "baselines": "what reads nothing",
    "correlation": "scores",
    "choice": "choices",
    "calibration": "is it as right as it is sure",
    "selective": "keeping the sure ones",
    "bias": "bias",
    "systems": "systems",
    "powered": "systems, as people would see them: few labels, many verdicts",
    "findings": "what it wrote",
    "explanations": "generated against written texts",
    "cost": "cost",
}


def number(value: float | None, measure: Measure | None = None) -> str:
    """Three decimals, more for small figures; a sign on differences; a dash for none."""
    if value is None:
        return "-"
    digits = 3 if abs(value) < 100 else 1
    signed = measure is not None and measure.neutral == 0
    return f"{value:{'+' if signed else ''},.{digits}f}"


def figure(measure: Measure) -> str:
    """`0.825 [0.750, 0.882]`."""
    told = number(measure.value, measure)
    if measure.low is None or measure.high is None:
        return told
    return f"{told} [{number(measure.low, measure)}, {number(measure.high, measure)}]"


def evaluation(found: Evaluation) -> Iterator[Any]:
    """What to print, in order."""
    yield Text(found.signature, style="dim")
    yield Text(_counts(found))
    for name, measures in found.sections.items():
        yield Text(f"\n{TITLES.get(name, name)}", style="bold")
        yield measures_table(measures)
    if found.confusion:
        yield Text("\nverdicts by label", style="bold")
        yield _confusion(found)
    if found.strata:
        yield Text("\npairs by how far people's scores lie apart", style="bold")
        yield _by_name((f"{one.name} ({one.low:g}..{one.high:g}]", one.measures) for one in found.strata)
    if found.branches:
        yield Text("\nby the number of criteria", style="bold")
        yield _by_name((f"first {one.n}", one.measures) for one in found.branches)
    if found.systems:
        yield Text("\nsystems, the best by the judge first", style="bold")
        yield _systems(found)


def _counts(found: Evaluation) -> str:
    told = f"{found.cases:,} cases, {found.scored:,} scored, {found.labelled:,} of these labelled"
    if found.groups < found.scored:
        told += f", in {found.groups:,} groups (intervals take whole groups)"
    return told + "".join(f"; {n:,} {reason}" for reason, n in found.unscored.items())


def measures_table(measures: Iterable[Measure]) -> Table:
    table = _table("", "value [95 % CI]", "n", "what")
    for one in measures:
        told = one.what + (f" ({one.note})" if one.note else "")
        table.add_row(Text(one.name), Text(figure(one)), Text(f"{one.n:,}"), Text(told))
    return table


def _confusion(found: Evaluation) -> Table:
    assert found.confusion
    rows = {row.label: row for row in found.labels}
    labels = found.confusion.labels
    table = _table("people say", *(f"judge {label}" for label in labels), "recall", "precision", "F1")
    for label, counts in zip(labels, found.confusion.counts, strict=True):
        row = rows[label]
        shares = (number(value) for value in (row.recall, row.precision, row.f1))
        table.add_row(label, *(f"{count:,}" for count in counts), *shares)
    return table


def _by_name(rows: Iterable[tuple[str, tuple[Measure, ...]]]) -> Table:
    told = list(rows)
    names = list(dict.fromkeys(one.name for _, measures in told for one in measures))
    table = _table("", "n", *names)
    for name, measures in told:
        by_name = {one.name: figure(one) for one in measures}
        n = max((one.n for one in measures), default=0)
        table.add_row(Text(name), f"{n:,}", *(by_name.get(one, "-") for one in names))
    return table


def _systems(found: Evaluation) -> Table:
    table = _table("", "judge", "people", "n")
    for row in found.systems[:MOST_SYSTEMS]:
        people = figure(row.people) if row.people else "-"
        table.add_row(Text(row.system), figure(row.judge), people, f"{row.judge.n:,}")
    return table


def comparison(found: Comparison) -> Iterator[Any]:
    """What to print of two runs."""
    yield Text(f"\n{found.first} against {found.second}, on the {found.cases:,} labelled cases of both", style="bold")
    table = _table("", "difference [95 % CI]", "n", "p", "p (Holm)", "what")
    for test in found.tests:
        one = test.difference
        told = one.what + (f"; {test.note}" if test.note else "")
        table.add_row(test.name, figure(one), f"{one.n:,}", p_value(test.p), p_value(test.p_holm), Text(told))
    yield table


def p_value(p: float | None) -> str:
    return "-" if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right" if column == "n" else "left")
    return table
