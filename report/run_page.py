"""One HTML file that says how far a judge can be trusted, and shows every case where people say otherwise."""

from collections.abc import Iterator, Sequence

from ..evaluation.results import Comparison
from . import case_browser, curves, forest_plots, run_plots
from .forest_plots import Chart
from .formatting import Lead, lead_of
from .headline import answers, calibration_error, headline
from .rendering import rendered
from .run_report import RunReport
from .sections import Part, compared, parts

Panels = list[tuple[str, Chart]]  # (the run's name when there are several, else empty; its chart)


def render_runs(runs: Sequence[RunReport], comparisons: Sequence[Comparison] = (), *, title: str, now: str) -> str:
    """The whole report as one HTML document; the same input gives the same text.

    Args:
        runs: the first leads, in the headline too; the others stand beside it.
        comparisons: paired tests between them.
        now: when the report was made, as it should be read.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    leads = [lead for run in runs if (lead := lead_of(run)) is not None]
    led = runs[0] if runs else None
    lead = lead_of(led) if led else None
    found = case_browser.rows(runs)
    sections = parts(runs)
    drawings = {part.key: list(_panels(part, runs, leads)) for part in sections}
    tests = list(compared(comparisons))
    labels = [run for run in runs if run.evaluation.labels]
    more = {"trust": bool(tests), "wrong": bool(labels)}
    shown = [part for part in sections if part.tables or drawings[part.key] or more.get(part.key)]
    return rendered(
        "template.html.j2",
        script="page.js",
        what="Judge report",
        title=title,
        now=now,
        runs=runs,
        several=len(runs) > 1,
        headline=headline(runs, lead),
        answers=answers(led) if led else (),
        led=led,
        parts=shown,
        here={part.key for part in shown} | {"cases"},
        charts=drawings,
        tests=tests,
        labels=labels,
        cases=found,
        menus=case_browser.choices(found),
    )


def _panels(part: Part, runs: Sequence[RunReport], leads: Sequence[Lead]) -> Iterator[tuple[str, Chart]]:
    """A part's charts, those of all runs together first, then run by run."""
    alike = [one for one in leads if one.like(leads[0])]
    together: list[Chart | None] = []
    if part.key == "trust" and alike:
        together = [forest_plots.forest(alike)]
    elif part.key == "cost" and len(alike) > 1:
        together = [_cost(alike, runs)]
    yield from (("", chart) for chart in together if chart is not None)
    for run in runs:
        name = run.name if len(runs) > 1 else ""
        yield from ((name, chart) for chart in _of_run(part.key, run) if chart is not None)


def _of_run(key: str, run: RunReport) -> list[Chart | None]:
    one, name = run.evaluation, run.name
    if key == "sure":
        return [curves.reliability(name, one.reliability, calibration_error(one)), curves.coverage(name, one.curve)]
    if key == "wrong":
        table = run_plots.confusion(name, one.confusion) if one.confusion else None
        return [table, forest_plots.strata(name, one), curves.histograms(name, one.histograms)]
    if key == "biased":
        return [*forest_plots.biases(name, one.sections.get("bias", ()))]
    if key == "systems":
        return [run_plots.systems(name, one.systems)]
    if key == "cost":
        return [curves.branches(name, one.branches)]
    return []


def _cost(leads: Sequence[Lead], runs: Sequence[RunReport]) -> Chart | None:
    """In dollars when every run has a price, else in tokens, which no machine makes fewer."""
    of = {run.name: run.evaluation for run in runs}
    found = [of[lead.run] for lead in leads]
    if all(one.usage.cost for one in found):
        return run_plots.costs(leads, [(one.usage.cost or 0.0) / max(1, one.cases) for one in found], "US dollars")
    spent = [(one.usage.prompt_tokens + one.usage.completion_tokens) / max(1, one.cases) for one in found]
    return run_plots.costs(leads, spent, "tokens")
