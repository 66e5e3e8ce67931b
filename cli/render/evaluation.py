"""An evaluation on a terminal: a table per section, confusion, strata, branches, systems; comparisons."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.text import Text

from ...data.counting import cases_text, groups_text
from ...evaluation.results import Evaluation, Measure, PairedTest, RunComparison, unshared_lines
from ...evaluation.sections import section_title
from .columns import FittingTable
from .measures import column_table, interval_text, number, p_value
from .subgroups import subgroup_tables
from .unscored import unscored_text, warning_lines

MOST_SYSTEMS = 20  # rows of the ranking; --json has all


def counted_proportion(proportion: Mapping[str, Any]) -> str:
    """`0.800 [0.711, 0.867], 80 of 100 in 34 groups`, of a proportion as `evaluation.drift.estimate_as_dict` has it."""
    low, high, n, groups = (proportion[name] for name in ("low", "high", "n", "groups"))
    interval = "" if low is None else f" [{low:.3f}, {high:.3f}]"
    in_groups = f" in {groups:,} groups" if groups < n else ""
    return f"{proportion['value']:.3f}{interval}, {proportion['hits']:,} of {n:,}{in_groups}"


def evaluation(result: Evaluation, *, of_run: bool = True) -> Iterator[Any]:
    """What to print of an evaluation, in order; `of_run` as of `unscored_text`."""
    yield Text(result.signature, style="dim")
    yield Text(counts(result, of_run))
    yield from warning_lines(result)
    for name, measures in result.sections.items():
        yield Text(f"\n{section_title(name)}", style="bold")
        yield measures_table(measures)
    if result.confusion:
        yield Text("\nVerdicts by label", style="bold")
        yield _confusion(result)
    if result.subgroups:
        yield from subgroup_tables(result.subgroups)
    if result.strata:
        yield Text("\nPairs by distance of the human scores", style="bold")
        yield _by_name((f"{part.name} ({part.low:g}..{part.high:g}]", part.measures) for part in result.strata)
    if result.branches:
        yield Text("\nBy number of criteria", style="bold")
        yield _by_name((f"first {branch.n}", branch.measures) for branch in result.branches)
    if result.systems:
        yield Text("\nSystems, the best by the judge first", style="bold")
        yield _systems(result)


def comparison(result: RunComparison) -> Iterator[Any]:
    """What to print of two runs."""
    yield Text(
        f"\n{result.first} against {result.second}, on the {result.cases:,} labelled cases of both", style="bold"
    )
    for line in unshared_lines(result):
        yield Text(line)
    yield _tests(result.tests)
    if result.subgroups:
        yield Text("\nBy field")
        yield _tests(result.subgroups)


def _tests(tests: Iterable[PairedTest]) -> FittingTable:
    table = column_table("", "difference [95 % CI]", "n", "p", "p (Holm)", "description")
    for test in tests:
        measure = test.difference
        undefined = f" ({measure.note})" if measure.note else ""
        description = Text(measure.description + undefined + (f"; {test.note}" if test.note else ""))
        p_values = p_value(test.p), p_value(test.p_holm)
        table.add_row(Text(test.name), interval_text(measure), f"{measure.n:,}", *p_values, description)
    return table


def measures_table(measures: Iterable[Measure]) -> FittingTable:
    """A line per measure: value, interval, n and description."""
    table = column_table("", "value [95 % CI]", "n", "description")
    for measure in measures:
        description = measure.description + (f" ({measure.note})" if measure.note else "")
        table.add_row(Text(measure.name), Text(interval_text(measure)), Text(f"{measure.n:,}"), Text(description))
    return table


def counts(result: Evaluation, of_run: bool) -> str:
    """How many cases are scored and labelled, and why others are not."""
    of_these = " of these" if result.labelled <= result.scored else ""  # unscored verdicts may count as wrong ones
    text = f"{cases_text(result.cases)}, {result.scored:,} scored, {result.labelled:,}{of_these} labelled"
    if result.groups < max(result.scored, result.labelled):
        text += f", in {groups_text(result.groups)} (intervals take whole groups{_effective_groups(result)})"
    unscored = unscored_text(result, of_run=of_run)
    return f"{text}; {unscored}" if unscored else text


def _effective_groups(result: Evaluation) -> str:
    measures = (result.measure(name) for name in ("accuracy", "spearman"))
    counts = [measure.effective_groups for measure in measures if measure and measure.effective_groups is not None]
    return f"; of unequal size, they count for {counts[0]:.1f} of equal size" if counts else ""


def _confusion(result: Evaluation) -> FittingTable:
    assert result.confusion
    rows = {row.label: row for row in result.labels}
    labels = result.confusion.labels
    table = column_table("people say", *(f"judge {label}" for label in labels), "recall", "precision", "F1")
    for label, counts in zip(labels, result.confusion.counts, strict=True):
        row = rows[label]
        values = (number(value) for value in (row.recall, row.precision, row.f1))
        table.add_row(label, *(f"{count:,}" for count in counts), *values)
    return table


def _by_name(rows: Iterable[tuple[str, tuple[Measure, ...]]]) -> FittingTable:
    parts = list(rows)
    names = list(dict.fromkeys(measure.name for _, measures in parts for measure in measures))
    table = column_table("", "n", *names)
    for name, measures in parts:
        by_name = {measure.name: interval_text(measure) for measure in measures}
        n = max((measure.n for measure in measures), default=0)
        table.add_row(Text(name), f"{n:,}", *(by_name.get(column, "-") for column in names))
    return table


def _systems(result: Evaluation) -> FittingTable:
    table = column_table("", "judge", "people", "n")
    for row in result.systems[:MOST_SYSTEMS]:
        people = interval_text(row.people) if row.people else "-"
        table.add_row(Text(row.system), interval_text(row.judge), people, f"{row.judge.n:,}")
    return table
