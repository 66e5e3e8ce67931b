"""The page of a compilation: is the judge better, what was learnt and tried, what is certified; HTML or Markdown."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..optimizers.compile_folder import Compilation
from . import markdown
from .compile_headline import compile_answers, compile_headline, power_note
from .compile_searches import no_budget, prompt_summary, structure_measure, structure_summary
from .compile_tables import (
    aspects_grid,
    evidence_grid,
    judges_grid,
    prompts_grid,
    recipe_grid,
    settings_grid,
    structure_grid,
)
from .formatting import THIN, counted
from .html import render
from .plots import compilations, curves, forest
from .plots.chart import Chart
from .prompt_diff import Piece, pieces, unified
from .run_report import RunReport, calibration_error, lead_measure
from .run_sections import rows_of_tests
from .text_tables import TextTable

NEW_CASES, NEW_LABELS, MORE_LABELS = "new.jsonl", "new-labels.jsonl", "more-labels.jsonl"  # files of the user


@dataclass(frozen=True)
class PromptChange:
    """A stage with its instructions before and after, and the number of its demos."""

    stage: str
    before: str
    after: str
    demos: int

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return pieces(self.before, self.after)


@dataclass
class Section:
    """One question of the page with its answer."""

    key: str
    question: str
    short: str
    charts: list[tuple[str, Chart]] = field(default_factory=list)
    grids: list[TextTable] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def compilation_html(compilation: Compilation, *, title: str, now: str) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        now: the time of writing, as the page prints it.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    changes = prompt_changes(compilation)
    sections = list(_sections(compilation, with_charts=True))
    shown = [part for part in sections if part.charts or part.grids or part.words or (part.key == "learnt" and changes)]
    return render(
        "compilation.html.j2",
        kind="Compiled judge",
        title=title,
        now=now,
        headline=compile_headline(compilation),
        answers=compile_answers(compilation),
        parts=shown,
        linked={part.key for part in shown},
        tests=list(rows_of_tests(compilation.result.comparisons)),
        power=power_note(compilation),
        changes=changes,
        commands=commands(compilation),
        sizes=compilation.parts,
        labelled=sum(compilation.parts.values()),
        signature=compilation.result.compiled.evaluation.signature,
    )


def compilation_markdown(compilation: Compilation, *, title: str, now: str) -> str:
    """The text and the tables of the page as Markdown, without plots."""
    headline = compile_headline(compilation)
    summary = f"**{markdown.escape(headline.words)}.** {markdown.escape(' '.join(headline.sentences))}"
    blocks = [f"# {markdown.escape(title)}", summary, markdown.escape(now)]
    for section in _sections(compilation, with_charts=False):
        content = [*map(markdown.escape, section.words), *map(_grid, section.grids)]
        if section.key == "test":
            content.append(markdown.comparisons(compilation.result.comparisons))
            content.append(markdown.escape(power_note(compilation)))
        if section.key == "learnt":
            content += _learnt(compilation)
        if section.key == "recipe":
            content += [f"- {markdown.code(command)} {words}" for command, words in commands(compilation)]
        if any(content):
            blocks += [f"## {section.question}", *filter(None, content)]
    blocks += [markdown.code(compilation.result.compiled.evaluation.signature), "Intervals are 95 %."]
    return "\n\n".join(blocks).replace(THIN, " ") + "\n"


def prompt_changes(compilation: Compilation) -> tuple[PromptChange, ...]:
    """The stages whose instructions or demos the prompt search changed."""
    search = compilation.prompts
    if search is None or not search.chosen:
        return ()
    before = search.trials[0].stages
    return tuple(
        PromptChange(path, before[path].instructions, after.instructions, after.shown_demos)
        for path, after in search.wordings.items()
        if path in before and after != before[path]
    )


def commands(compilation: Compilation) -> tuple[tuple[str, str], ...]:
    """What to do next with the judge file: (command, description); empty without a judge file."""
    if compilation.judge_path is None:
        return ()
    file = shlex.quote(str(compilation.judge_path))
    compile_again = f"dicast compile {shlex.quote(compilation.judge_name)} --cases {MORE_LABELS}"
    return (
        (f"dicast judge --judge {file} --cases {NEW_CASES}", "Judge new cases"),
        (f"dicast show {file}", "Show everything that the judge has learnt"),
        (f"dicast check --judge {file} --cases {NEW_LABELS}", "Check that it still agrees with human annotators"),
        (compile_again, "Compile again with more labels; add the options of this compilation"),
    )


def _sections(compilation: Compilation, *, with_charts: bool) -> Iterator[Section]:
    """All sections in reading order, including empty ones."""
    test = Section("test", "Is it better?", "Test", grids=[judges_grid(compilation)])
    if compilation.result.aspects:
        test.grids.append(aspects_grid(compilation))
    calibration = Section("calibration", "Is it calibrated?", "Calibration")
    learnt = Section("learnt", "What was learnt?", "Learnt")
    tried = Section("tried", "What was tried?", "Search")
    certificate = Section("certificate", "What is certified?", "Certificate")
    recipe = Section("recipe", "How was it compiled?", "Recipe", grids=[recipe_grid(compilation)])
    if compilation.worth:
        learnt.grids.append(evidence_grid(compilation.worth))
    if compilation.structure is not None:
        learnt.grids.append(settings_grid(compilation.structure))
        tried.words.append(structure_summary(compilation.structure, compilation))
        tried.grids.append(structure_grid(compilation, compilation.structure))
    if compilation.prompts is not None:
        tried.words.append(prompt_summary(compilation.prompts))
        tried.grids.append(prompts_grid(compilation, compilation.prompts))
    tried.words += map(no_budget, compilation.no_budget)
    if compilation.certificate is not None:
        check = compilation.result.threshold_check
        certificate.words += [compilation.certificate.summary(), *([check.summary()] if check else [])]
        certificate.words += filter(None, [compilation.result.withdrawal])
    elif compilation.certifiable is not None:
        certificate.words.append(f"No certificate: {compilation.certifiable.summary}.")
    if with_charts:
        test.charts += _named([_forest(compilation)])
        calibration.charts += _reliability(compilation)
        learnt.charts += _named(_weights(compilation))
        tried.charts += _named([_pareto_front(compilation)])
        certificate.charts += _named([_risk(compilation)])
    yield from (test, calibration, learnt, tried, certificate, recipe)


def _named(charts: "Sequence[Chart | None]") -> Iterator[tuple[str, Chart]]:
    return (("", chart) for chart in charts if chart is not None)


def _forest(compilation: Compilation) -> Chart | None:
    """The lead measure of every judge; the baselines are the same for all and are drawn once."""
    runs = [RunReport(judge.name, judge.evaluation) for judge in compilation.result.judges]
    leads = [lead for run in runs if (lead := lead_measure(run)) is not None]
    compiled = next((lead for lead in leads if lead.run == compilation.result.compiled.name), None)
    if compiled is None:
        return None
    comparable = [lead for lead in leads if lead.is_comparable(compiled)]
    rows = [lead if lead is compiled else lead.without_baselines() for lead in comparable]
    return forest.judges_and_references(rows, compiled.run)


def _reliability(compilation: Compilation) -> Iterator[tuple[str, Chart]]:
    before, after = compilation.result.uncompiled, compilation.result.compiled
    for judge, other in ((before, after), (after, before)):
        evaluation = judge.evaluation
        error, bins = calibration_error(evaluation), evaluation.reliability
        chart = curves.reliability(judge.name, bins, error, other.evaluation.reliability)
        if chart is not None:
            yield judge.name, chart


def _pareto_front(compilation: Compilation) -> Chart | None:
    search = compilation.structure
    if search is None:
        return None
    return compilations.pareto_front(search, [structure_measure(trial, compilation) for trial in search.trials])


def _risk(compilation: Compilation) -> Chart | None:
    if compilation.certificate is None:
        return None
    return compilations.risk(compilation.certificate, compilation.result.compiled.evaluation.curve)


def _weights(compilation: Compilation) -> "list[Chart | None]":
    head = compilation.head
    if head is None:
        return []
    ties = tie_weights(compilation)
    names = {"head", *head.weights, *(f"ties by {name}" for name in ties)}
    facts = " ".join(f"{name.capitalize()}: {words}." for name, words in head.describe() if name not in names)
    note = f"{_fitted(compilation)}. Weights are per unit of the evidence. {facts}"
    tie_note = "A positive weight makes a tie more likely where this evidence is strong, a negative one less likely."
    return [
        compilations.weights("head", "Weights of the head", head.weights, note.strip()),
        compilations.weights("ties", "Evidence for a tie", ties, tie_note),
    ]


def _fitted(compilation: Compilation) -> str:
    """The kind of the head and what it was fitted to."""
    head, labels = compilation.head, compilation.head_labels
    assert head
    sentence = labels.sentence if labels else ""
    return "; ".join(filter(None, [f"{head.fitted}, fitted to {counted(head.n, 'label')}", sentence]))


def tie_weights(compilation: Compilation) -> dict[str, float]:
    """The weights of the evidence for a tie; empty for heads without ties."""
    weights: dict[str, float] = getattr(compilation.head, "threshold", {})
    return weights


def _learnt(compilation: Compilation) -> Iterator[str]:
    head = compilation.head
    if head is not None:
        ties = {f"ties by {name}": weight for name, weight in tie_weights(compilation).items()}
        rows = [[name, f"{weight:+.3g}"] for name, weight in {**head.weights, **ties}.items()]
        title = f"### Head: {markdown.escape(_fitted(compilation))}"
        yield f"{title}\n\n{markdown.table(['evidence', 'weight'], rows)}"
    for change in prompt_changes(compilation):
        demos = f", {counted(change.demos, 'demo')}" if change.demos else ""
        yield f"### Stage {markdown.escape(change.stage)}{demos}"
        if change.before != change.after:
            yield markdown.block(unified(change.before, change.after), "diff")


def _grid(grid: TextTable) -> str:
    rows: list[list[str]] = [
        [
            f"{cell.value} ({cell.under})" if cell.under and cell.value else cell.value or cell.under
            for cell in row.cells
        ]
        for row in grid.rows
    ]
    note = f"\n\n{markdown.escape(grid.note)}" if grid.note else ""
    return f"### {markdown.escape(grid.title)}\n\n{markdown.table(grid.heads, rows)}{note}"
