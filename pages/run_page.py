"""The page of runs: how far the judge can be trusted, and every case where it disagrees with the human label.

`runs_html` gives one HTML file, `runs_markdown` the same text and tables without plots and cases.
"""

from collections.abc import Iterator, Sequence

from ..evaluation.results import ConfusionTable, LabelRow, RunComparison, unshared_lines
from . import case_browser, markdown
from .formatting import THIN, format_value
from .html import render
from .plots import curves, forest
from .plots import runs as run_plots
from .plots.chart import Chart
from .reference_rows import reference_rows
from .run_headline import headline
from .run_report import LeadMeasure, RunReport, calibration_error, lead_measure
from .run_sections import MeasureTable, Part, parts, rows_of_tests
from .run_tiles import answers, tile_rows
from .subgroup_tables import rows_by_field, subgroup_blocks
from .theme_tables import NOTE, theme_blocks, theme_tables

NO_VERDICT = (
    "Cases without a verdict are counted, and are wrong only where the signature line of the run says unreadable=wrong."
)


def runs_html(runs: Sequence[RunReport], comparisons: Sequence[RunComparison] = (), *, title: str, now: str) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        runs: the first one is compared with each other one; alone it is the subject of the headline.
        comparisons: paired tests between them.
        now: the time of writing, as the page prints it.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    leads = [lead for lead in map(lead_measure, runs) if lead is not None]
    first = runs[0] if runs else None
    several = len(runs) > 1
    disagreements = case_browser.rows(runs)
    sections = parts(runs)
    charts = {part.key: list(_charts(part, runs, leads)) for part in sections}
    tests, tests_by_field = list(rows_of_tests(comparisons)), list(rows_of_tests(comparisons, by_field=True))
    labelled = [run for run in runs if run.evaluation.labels]
    divided = [(run, rows_by_field(run)) for run in runs if run.evaluation.subgroups is not None]
    themed = [table for run in runs for table in theme_tables(run, disagreements)]
    against = reference_rows(leads)
    extra = {"trust": bool(tests or against), "errors": bool(themed), "subgroups": bool(divided)}
    shown = [part for part in sections if charts[part.key] or extra.get(part.key)]
    figures = [part for part in sections if part.tables or (part.key == "errors" and labelled)]
    linked = {part.key for part in shown} | ({"cases"} if disagreements else set())
    return render(
        "run.html.j2",
        script="page.js",
        kind="Judge report",
        title=title,
        now=now,
        runs=runs,
        several=several,
        headline=headline(runs, lead_measure(first) if first else None, comparisons),
        answers=() if several or first is None else answers(first),
        tiles=tile_rows(runs) if several else (),
        parts=shown,
        figures=figures,
        has_errors=any(part.key == "errors" for part in shown),
        linked={key: key for key in linked}
        | {part.key: f"all-{part.key}" for part in figures if part.key not in linked},
        charts=charts,
        leads=leads,
        against=against,
        tests=tests,
        tests_by_field=tests_by_field,
        unshared=[line for comparison in comparisons for line in unshared_lines(comparison)],
        labelled=labelled,
        themed=themed,
        divided=divided,
        cases=disagreements,
        cases_words=_words_of_cases(disagreements),
        menus=case_browser.menus(disagreements),
        no_verdict=NO_VERDICT,
        theme_note=NOTE,
    )


def _words_of_cases(rows: Sequence[case_browser.CaseRow]) -> str:
    """What the list of cases holds."""
    scores = sum(row.judged.answer is None and row.judged.scores is not None for row in rows)
    if scores == len(rows):
        return "The scores whose place among all is furthest from that of people's scores, the most certain first."
    if not scores:
        return "Verdicts that are not the human label, the most certain first."
    return "Verdicts that are not the human label, and scores furthest from people's, the most certain first."


def runs_markdown(runs: Sequence[RunReport], comparisons: Sequence[RunComparison] = (), *, title: str, now: str) -> str:
    """The page as Markdown; the same input gives the same text; the arguments are those of `runs_html`."""
    top = headline(runs, lead_measure(runs[0]) if runs else None, comparisons)
    summary = f"**{markdown.escape(top.words)}.** {markdown.escape(' '.join(top.sentences))}"
    blocks = [f"# {markdown.escape(title)}", summary, markdown.escape(now)]
    for part in parts(runs):
        tables = [_measures(table, len(runs) > 1) for table in part.tables]
        if part.key == "trust" and (tests := markdown.comparisons(comparisons)):
            tables.append(tests)
        if part.key == "subgroups":
            tables += subgroup_blocks(runs)
            tables += filter(None, [markdown.comparisons(comparisons, by_field=True)])
        if part.key == "errors":
            tables += [*_label_tables(runs), *theme_blocks(runs)]
        if tables:
            blocks += [f"## {part.question}", *tables]
    if runs:
        signatures = (f"- {markdown.code(run.evaluation.signature)}" for run in runs)
        blocks += ["## How to reproduce it", "\n".join(signatures)]
        blocks.append(f"Intervals are 95 %. {NO_VERDICT}")
    return "\n\n".join(blocks).replace(THIN, " ") + "\n"


def _charts(part: Part, runs: Sequence[RunReport], leads: Sequence[LeadMeasure]) -> Iterator[tuple[str, Chart]]:
    """(run, chart) of a part, charts of all runs first; the run is empty for those, and if there is only one."""
    comparable = [lead for lead in leads if lead.is_comparable(leads[0])]
    shared: list[Chart | None] = []
    if part.key == "trust" and comparable:
        shared = [forest.judges_and_references(comparable)]
    elif part.key == "cost" and len(comparable) > 1:
        shared = [_costs(comparable, runs)]
    yield from (("", chart) for chart in shared if chart is not None)
    for run in runs:
        name = run.name if len(runs) > 1 else ""
        yield from ((name, chart) for chart in _charts_of_run(part.key, run) if chart is not None)


def _charts_of_run(key: str, run: RunReport) -> list[Chart | None]:
    evaluation, name = run.evaluation, run.name
    if key == "subgroups" and evaluation.subgroups is not None:
        return [forest.subgroups(name, evaluation, table) for table in evaluation.subgroups.tables]
    if key == "certainty":
        error = calibration_error(evaluation)
        return [curves.reliability(name, evaluation.reliability, error), curves.coverage(name, evaluation.curve)]
    if key == "errors":
        matrix = run_plots.confusion(name, evaluation.confusion) if evaluation.confusion else None
        passes = curves.precision_recall(name, evaluation.precision_recall, evaluation.positive)
        return [matrix, passes, forest.strata(name, evaluation), curves.histograms(name, evaluation.histograms)]
    if key == "bias":
        return [*forest.biases(name, evaluation.sections.get("bias", ()))]
    if key == "systems":
        return [run_plots.systems(name, evaluation.systems)]
    if key == "cost":
        return [curves.branches(name, evaluation.branches)]
    return []


def _costs(leads: Sequence[LeadMeasure], runs: Sequence[RunReport]) -> Chart | None:
    """In dollars if every run has a price, else in tokens."""
    by_name = {run.name: run.evaluation for run in runs}
    evaluations = [by_name[lead.run] for lead in leads]
    if all(evaluation.usage.cost for evaluation in evaluations):
        dollars = [(evaluation.usage.cost or 0.0) / max(1, evaluation.cases) for evaluation in evaluations]
        return run_plots.costs(leads, dollars, "US dollars")
    tokens = [(e.usage.prompt_tokens + e.usage.completion_tokens) / max(1, e.cases) for e in evaluations]
    return run_plots.costs(leads, tokens, "tokens")


def _measures(table: MeasureTable, has_runs: bool) -> str:
    rows = [
        [
            line.name,
            *([cell.run] if has_runs else []),
            cell.value,
            cell.interval,
            cell.n,
            f"{line.description} ({cell.note})".strip() if cell.note else line.description,
        ]
        for line in table.lines
        for cell in line.cells
    ]
    heads = ["measure", *(["run"] if has_runs else []), "value", "95 %", "n", "description"]
    return f"### {table.title}\n\n{markdown.table(heads, rows)}"


def _label_tables(runs: Sequence[RunReport]) -> Iterator[str]:
    for run in runs:
        name = f": {markdown.escape(run.name)}" if len(runs) > 1 else ""
        if run.evaluation.confusion is not None:
            yield f"### Confusion matrix{name}\n\n{_confusion(run.evaluation.confusion)}"
        if run.evaluation.labels:
            yield f"### Metrics by label{name}\n\n{_labels(run.evaluation.labels)}"


def _confusion(table: ConfusionTable) -> str:
    rows = [[label, *(f"{n:,}" for n in counts)] for label, counts in zip(table.labels, table.counts, strict=True)]
    return markdown.table(["human label ↓, judge →", *table.labels], rows)


def _labels(rows: Sequence[LabelRow]) -> str:
    shown = [
        [
            row.label,
            format_value(row.precision, "percent"),
            format_value(row.recall, "percent"),
            format_value(row.f1),
            f"{row.support:,}",
            f"{row.predicted:,}",
        ]
        for row in rows
    ]
    return markdown.table(["label", "precision", "recall", "F1", "human labels", "judge's labels"], shown)
