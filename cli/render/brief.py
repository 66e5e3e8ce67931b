"""An evaluation in short on a terminal: the sentence of its page, and the figures that decide.

The sentence is `pages.run_headline.headline`, as on the page, so that both say the same of the same verdicts.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.text import Text

from ...evaluation.results import Evaluation, Measure, RunComparison
from ...pages.formatting import THIN, readable
from ...pages.run_headline import headline
from ...pages.run_report import LeadMeasure, RunReport, lead_measure
from ...pages.run_tiles import answers
from .columns import FittingTable
from .evaluation import counts
from .measures import column_table, interval_text
from .subgroups import subgroup_tables
from .unscored import warning_lines

TONES = {"good": "bold green", "warn": "bold yellow", "bad": "bold red"}
FIGURES = ("accuracy", "both-orders accuracy", "overconfidence", "coverage")  # after the page's main figure


def brief(
    reports: Sequence[RunReport],
    comparisons: Sequence[RunComparison] = (),
    *,
    also: Sequence[str] = (),
    of_run: bool = True,
) -> Iterator[Any]:
    """What to print of the evaluation of the first run, in order; with other runs the sentence is about the difference.

    Args:
        reports: the runs as their page has them, without cases and themes.
        comparisons: of the first with each other one.
        also: measures and sections that are shown too, as the user has asked for them.
        of_run: as of `unscored_text`.
    """
    report, others = reports[0], reports[1:]
    result, lead = report.evaluation, lead_measure(report)
    named = [
        comparison.model_copy(update={"first": report.name, "second": other.name})
        for other, comparison in zip(others, comparisons, strict=True)
    ]
    top = headline(reports, lead, named)
    warnings = {text[:1].upper() + text[1:] for text in (*result.warnings, *result.notices)}  # separate lines
    sentences = " ".join(text for text in top.sentences if text not in warnings).replace(THIN, " ")
    yield Text.assemble((f"{top.words}.", TONES.get(top.tone, "bold")), f" {sentences}")
    yield from warning_lines(result)
    yield Text(f"\n{counts(result, of_run)}\n")
    yield _figures(report, lead, also)
    if result.subgroups:
        yield from subgroup_tables(result.subgroups)
    figures = sum(map(len, result.sections.values()))
    yield Text(f"\nall {figures:,} figures: --all   as a page: dicast report", style="dim")
    yield Text(result.signature, style="dim")


def _figures(report: RunReport, lead: LeadMeasure | None, also: Sequence[str]) -> FittingTable:
    """The main figure beside the best baseline and a person, both-orders accuracy, calibration, coverage, cost."""
    result, table = report.evaluation, column_table("", "value [95 % CI]", "n", "description")
    for measure, name, text in [*_beside(lead), *_others(result, lead, also)]:
        table.add_row(name, interval_text(measure), f"{measure.n:,}", text)
    cost = next((answer for answer in answers(report) if answer.part == "cost"), None)
    if cost is not None and result.sections.get("cost"):
        table.add_row("cost", cost.value.replace(THIN, " "), f"{result.cases:,}", cost.line.replace(THIN, " "))
    return table


def _beside(lead: LeadMeasure | None) -> Iterator[tuple[Measure, str, str]]:
    """The main figure, the best baseline and the human ceiling: measure, name and meaning."""
    if lead is None:
        return
    yield lead.measure, lead.measure.name, lead.measure.description
    if (baseline := lead.strongest_baseline) is not None:
        margin = lead.margins.get(baseline.name)
        above = f"; the judge less this: {interval_text(margin)}" if margin is not None else ""
        yield baseline, f"  {readable(baseline.name)}", f"the best baseline{above}"
    if lead.ceiling is not None:
        margin = lead.margin_over_person
        above = f"; the judge less this: {interval_text(margin)}" if margin is not None else ""
        yield lead.ceiling, f"  {lead.ceiling.name}", lead.ceiling.description + above


def _others(
    result: Evaluation, lead: LeadMeasure | None, also: Sequence[str]
) -> Iterator[tuple[Measure, str, str]]:  # fmt: skip
    """The other figures of FIGURES that this evaluation has, and those that were asked for."""
    main = lead.measure.name if lead else ""
    for name in (*FIGURES, *also):
        measures = result.sections.get(name) or filter(None, [result.measure(name)])
        for measure in measures:
            if measure.name != main:
                yield measure, measure.name, measure.description + (f" ({measure.note})" if measure.note else "")
