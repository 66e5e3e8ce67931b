"""The table at the end of a run: the main measures of its evaluation, a line each."""

from collections.abc import Iterator

from rich.text import Text

from ...evaluation.results import Evaluation, Measure
from .columns import FittingTable
from .evaluation import MOST_SYSTEMS
from .measures import column_table, interval_text
from .unscored import by_reason, what_asks_again

AGREEMENT = ("accuracy", "both-orders accuracy", "consistency", "mean of orders", "coverage")
CORRELATION = ("pearson", "spearman", "kendall")
Line = tuple[str, str, int, str]  # name, value, n, description


def summary(evaluation: Evaluation) -> FittingTable:
    """Value, interval, n and meaning of each main measure."""
    table = column_table("", "value [95 % CI]", "n", "description")
    for name, value, n, description in summary_lines(evaluation):
        # Text: a note or the name of a system may hold markup
        table.add_row(Text(name), Text(value), Text(f"{n:,}"), Text(description))
    return table


def summary_lines(evaluation: Evaluation) -> Iterator[Line]:
    """The lines of the summary; a measure that does not apply has none."""
    for measure in main_measures(evaluation):
        note = f" ({measure.note})" if measure.note and measure.name != "coverage" else ""
        yield measure.name, interval_text(measure), measure.n, measure.description + note
    for place, row in enumerate(evaluation.systems[:MOST_SYSTEMS], start=1):
        people = f"; people {interval_text(row.people)}" if row.people else ""
        description = f"{row.system}: {row.judge.description}{people}"
        yield f"system {place}", interval_text(row.judge), row.judge.n, description
    if evaluation.noted:
        yield "notes", "", evaluation.noted, f"verdicts with a note, such as: {evaluation.note}"
    for reason, count in by_reason(evaluation):
        yield "unscored", reason, count, f"counted in coverage only; {what_asks_again(reason)}"


def main_measures(evaluation: Evaluation) -> Iterator[Measure]:
    """The measures that a run is first judged by; `dicast evaluate` shows all."""
    sections = evaluation.sections
    by_name = {measure.name: measure for measure in sections.get("agreement", ())}
    yield from (by_name[name] for name in AGREEMENT if name in by_name)
    correlation = sections.get("correlation", ())
    yield from (measure for measure in correlation if measure.name.partition(" (")[0] in CORRELATION)
    for section in ("choice", "readout", "findings", "systems"):
        yield from sections.get(section, ())
