"""The page of an experiment: printed figures beside ours, plots, and what differs; HTML or Markdown."""

import shlex
from collections.abc import Iterator

from ..data.counting import cases_text, groups_text
from ..experiments.results import ExperimentResult, ResultLine
from . import markdown
from .experiment_table import HEADS, measure_text, printed_text, rows_of, spread_text
from .html import render
from .plots.experiments import charts_of
from .run_headline import Headline
from .section import Section
from .text_tables import TextCell, TextRow, TextTable


def experiment_html(result: ExperimentResult, *, now: str) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        now: the time of writing, as the page prints it.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    plots = [("", chart) for chart in charts_of(result)]
    parts = [
        Section("figures", "Printed and ours", "Figures", grids=list(_tables(result))),
        Section("plots", "Plots", "Plots", charts=plots),
        Section("differs", "What differs from the paper", "Differences", words=list(result.differs)),
        Section("missing", "What is missing", "Missing", words=list(_missing(result))),
    ]
    return render(
        "experiment.html.j2",
        kind="Experiment",
        title=_title(result),
        now=now,
        headline=_headline(result),
        answers=(),
        parts=[part for part in parts if part.charts or part.grids or part.words],
        command=command_of(result),
    )


def experiment_markdown(result: ExperimentResult, *, now: str) -> str:
    """The table and the sentences as Markdown; the same input gives the same text."""
    top = _headline(result)
    blocks = [
        f"# {markdown.escape(_title(result))}",
        f"**{markdown.escape(top.words)}.** {markdown.escape(' '.join(top.sentences))}",
        markdown.escape(now),
        markdown.table(HEADS, rows_of(result.lines, several_models=len(result.models) > 1)),
    ]
    for title, sentences in (("Differs from the paper", result.differs), ("Missing", tuple(_missing(result)))):
        if sentences:
            blocks += [f"## {title}", "\n".join(f"- {markdown.escape(sentence)}" for sentence in sentences)]
    blocks += ["## How to reproduce it", markdown.code(command_of(result)), "Intervals are 95 %."]
    return "\n\n".join(blocks) + "\n"


def command_of(result: ExperimentResult) -> str:
    """The command that makes the same runs."""
    words = ["dicast", "experiment", "run", result.file or result.name]
    words += [word for model in result.models for word in ("--lm", model)]
    words += ["--limit", str(result.limit)] if result.limit else []
    words += ["--limit-groups", str(result.limit_groups)] if result.limit_groups else []
    words += ["--seed", str(result.seed)] if result.seed is not None else []
    words += [word for name in result.only for word in ("--only", name)]
    words += [word for name, cases in result.cases.items() for word in ("--cases", f"{name}={cases}")]
    return shlex.join(words)


def _title(result: ExperimentResult) -> str:
    return f"{result.place}: {result.title}" if result.place else result.title


def _headline(result: ExperimentResult) -> Headline:
    known = sum(line.ours is not None and line.ours.value is not None for line in result.lines)
    words = f"{known:,} of {len(result.lines):,} figures measured"
    models = f"Answered by {', '.join(result.models)}." if result.models else "No model is asked."
    sentences = [models]
    if result.limit or result.limit_groups:
        most = cases_text(result.limit) if result.limit else groups_text(result.limit_groups or 0)
        drawn = "the first" if result.seed is None else f"a sample with seed {result.seed}"
        sentences.append(f"At most {most} of each set, {drawn}: intervals are as wide as that.")
    sentences += [f"{cases} takes the place of {name}." for name, cases in result.cases.items()]
    if result.only:
        sentences.append(f"Of its sets only {', '.join(result.only)}.")
    if result.status != "complete":
        sentences.append(f"The experiment is not complete ({result.status}); the same command continues it.")
    return Headline("good" if known == len(result.lines) else "warn", words, tuple(sentences))


def _tables(result: ExperimentResult) -> Iterator[TextTable]:
    """A table for each measure, a line for each cell."""
    measures = dict.fromkeys(line.measure for line in result.lines)
    for measure in measures:
        lines = [line for line in result.lines if line.measure == measure]
        has_printed = any(line.printed for line in lines)
        heads = ("cell", *(("printed",) if has_printed else ()), "ours", "n")
        rows = tuple(_row(line, len(result.models) > 1, has_printed) for line in lines)
        note = f"Printed: {result.source}." if result.source and has_printed else ""
        yield TextTable(measure, heads, rows, note, wordy=True)


def _row(line: ResultLine, several_models: bool, has_printed: bool) -> TextRow:
    name = TextCell(line.cell, line.model if several_models else "")
    printed = (TextCell(printed_text(line.printed, line.unit)),) if has_printed else ()
    if line.ours is None:
        return TextRow((name, *printed, TextCell("-", line.note), TextCell("-")), "faint")
    under = "; ".join(filter(None, (spread_text(line), line.note, line.ours.note if line.ours.value is None else "")))
    n = TextCell(f"{line.ours.n:,}" if line.ours.n else "-")
    return TextRow((name, *printed, TextCell(measure_text(line.ours, line.unit), under), n))


def _missing(result: ExperimentResult) -> Iterator[str]:
    for lacking in result.missing:
        yield f"The set {lacking.name} is not on this machine. To get it: {lacking.get}."
    if result.not_at_hand:
        yield f"Printed figures: {result.not_at_hand}"
