"""The page of a compilation: is the judge better, what was learnt and tried, what is certified; HTML or Markdown."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data import Case
from ..optimizers.compile_folder import Compilation
from ..optimizers.result import JudgeOnTest
from . import markdown
from .changed_cases import change_menus, changed_rows, changes_sentence, pieces_of
from .compile_headline import compile_answers, compile_facts, compile_headline, power_note
from .compile_searches import no_budget, prompt_summary, structure_measure, structure_summary
from .compile_tables import (
    aspects_grid,
    claims_grid,
    evidence_grid,
    finetune_grid,
    judges_grid,
    order_note,
    prompts_grid,
    recipe_grid,
    structure_grid,
)
from .formatting import THIN, counted
from .html import render
from .learnt_tables import settings_grid, weights_grid
from .plots import compilations, curves, forest
from .plots import runs as run_plots
from .plots.chart import Chart
from .prompt_diff import Piece, pieces, unified
from .run_headline import Headline
from .run_report import RunReport, calibration_error, lead_measure
from .run_sections import rows_of_tests
from .section import Section
from .text_tables import TextTable

NO_TEXTS: Mapping[str, Case] = {}
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


def compilation_html(
    compilation: Compilation,
    *,
    title: str,
    now: str,
    texts: Mapping[str, Case] | None = NO_TEXTS,
    most: int = 400,
) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        now: the time of writing, as the page prints it.
        texts: by id, the cases whose verdict changed, as far as they can be read; None: none may be shown, nor what a
            model wrote of them.
        most: cases shown whose verdict changed, the surest first.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    changes, changed = prompt_changes(compilation), compilation.result.changes
    cases = changed_rows(compilation.changed, texts, most)
    sections = list(_sections(compilation, with_charts=True))
    steps, listed = compilation.result.next_steps, commands(compilation)
    extra = {"learnt": bool(changes), "next": bool(steps or listed)}
    shown = [part for part in sections if part.charts or part.grids or part.words or extra.get(part.key)]
    return render(
        "compilation.html.j2",
        script="page.js" if cases else "",
        kind="Compiled judge",
        title=title,
        now=now,
        headline=compile_headline(compilation),
        answers=compile_answers(compilation),
        parts=shown,
        linked={part.key for part in shown} | ({"cases"} if cases else set()),
        tests=list(rows_of_tests(compilation.result.comparisons)),
        power=power_note(compilation),
        prompts=changes,
        steps=steps,
        commands=listed,
        changes=changed,
        pieces=pieces_of(changed) if changed else (),
        cases=cases,
        n_changed=len(compilation.changed),
        menus=change_menus(cases),
        lead=_lead_of_cases(compilation, len(cases)),
        no_texts=texts is None,
        sizes=compilation.parts,
        cross_fitted=compilation.result.estimate == "cross-fitted",
        labelled=sum(compilation.parts.values()),
        signature=compilation.result.compiled.evaluation.signature,
    )


def compilation_markdown(compilation: Compilation, *, title: str, now: str) -> str:
    """The text and the tables of the page as Markdown, without plots."""
    more = {
        "test": [
            markdown.comparisons(compilation.result.comparisons),
            markdown.escape(power_note(compilation)),
        ],
        "learnt": _learnt(compilation),
    }
    return markdown_page(
        title,
        now,
        compile_headline(compilation),
        _sections(compilation, with_charts=False),
        more,
        commands(compilation),
        compilation.result.compiled.evaluation.signature,
    )


def markdown_page(
    title: str,
    now: str,
    headline: Headline,
    sections: Iterable[Section],
    more: Mapping[str, Iterable[str]],
    commands: Sequence[tuple[str, str]],
    signature: str,
) -> str:
    """A page of sections as Markdown, without plots.

    Args:
        more: blocks after those of a section, by its key.
        commands: (command, description), after the section "next", or "recipe" where there is none.
        signature: of the evaluation, at the end.
    """
    summary = f"**{markdown.escape(headline.words)}.** {markdown.escape(' '.join(headline.sentences))}"
    blocks = [f"# {markdown.escape(title)}", summary, markdown.escape(now)]
    sections = list(sections)
    place = "next" if any(section.key == "next" for section in sections) else "recipe"
    for section in sections:
        content = [*map(markdown.escape, section.words), *map(grid_markdown, section.grids), *more.get(section.key, ())]
        if section.key == place:
            content += [f"- {markdown.code(command)} {words}" for command, words in commands]
        if any(content):
            blocks += [f"## {section.question}", *filter(None, content)]
    return "\n\n".join([*blocks, markdown.code(signature), "Intervals are 95 %."]).replace(THIN, " ") + "\n"


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


def _category_charts(judge: JudgeOnTest) -> Iterator[Chart | None]:
    """Of two categories: what the judge says of the test part, and what it would at every threshold."""
    evaluation = judge.evaluation
    if evaluation.positive:
        yield run_plots.confusion("compiled", evaluation.confusion) if evaluation.confusion else None
        yield curves.precision_recall("compiled", evaluation.precision_recall, evaluation.positive)


def _sections(compilation: Compilation, *, with_charts: bool) -> Iterator[Section]:
    """All sections in reading order, including empty ones."""
    result = compilation.result
    test = Section("test", "Is it better?", "Test", grids=[*_claims(compilation), judges_grid(compilation)])
    follow = Section("next", "What next?", "Next", words=[] if with_charts else [*result.next_steps])
    if result.aspects:
        test.grids.append(aspects_grid(compilation))
    calibration = Section("calibration", "Is it calibrated?", "Calibration")
    learnt = Section("learnt", "What was learnt?", "Learnt")
    tried = Section("tried", "What was tried?", "Search")
    certificate = Section("certificate", "What is certified?", "Certificate")
    recipe = Section("recipe", "How was it compiled?", "Recipe", grids=[recipe_grid(compilation)])
    if compilation.head is not None:
        learnt.words.append(f"A head was learnt: {_fitted(compilation)}.")
    learnt.grids += filter(None, [weights_grid(compilation.head)])
    if compilation.worth:
        learnt.grids.append(evidence_grid(compilation.worth))
    learnt.grids += filter(None, [settings_grid(compilation)])
    if compilation.structure is not None:
        tried.words.append(structure_summary(compilation.structure, compilation))
        tried.grids.append(structure_grid(compilation, compilation.structure))
    if compilation.prompts is not None:
        tried.words.append(prompt_summary(compilation.prompts))
        tried.grids.append(prompts_grid(compilation, compilation.prompts))
    if compilation.finetuning is not None:
        tried.words.append(f"Fine-tuning: {compilation.finetuning.summary()}.")
        tried.grids.append(finetune_grid(compilation.finetuning))
    tried.words += map(no_budget, compilation.no_budget)
    if compilation.certificate is not None:
        check = compilation.result.threshold_check
        certificate.words += [compilation.certificate.summary(), *([check.summary()] if check else [])]
        certificate.words += filter(None, [compilation.result.withdrawal])
    elif compilation.certifiable is not None:
        certificate.words.append(f"No certificate: {compilation.certifiable.summary}.")
    if with_charts:
        test.charts += named_charts([_forest(compilation), *_category_charts(compilation.result.compiled)])
        calibration.charts += reliability_charts(compilation.result.uncompiled, compilation.result.compiled)
        tried.charts += named_charts([_pareto_front(compilation)])
        certificate.charts += named_charts([risk_chart(compilation)])
    recipe.words += compile_facts(compilation)
    yield from (follow, test, calibration, learnt, tried, certificate, recipe)


def _claims(compilation: Compilation) -> Iterator[TextTable]:
    """What improved; by all labels as well where a test part decides."""
    result, of_folds = compilation.result, order_note(compilation)
    if result.claims:
        note = "p-values are adjusted for all tests of this table (Holm) and for earlier tests of the same cases. "
        note += "What cannot have changed is not tested."
        yield claims_grid(result.claims, "What improved", note + (of_folds if result.estimate != "split" else ""))
    if result.beside:
        title = f"All {result.beside_n:,} labels, out of fold"
        note = "Each label is judged by a head fitted without it and its group. The test part decides, not this table."
        yield claims_grid(result.beside, title, note + of_folds)


def named_charts(charts: "Sequence[Chart | None]") -> Iterator[tuple[str, Chart]]:
    return (("", chart) for chart in charts if chart is not None)


def _forest(compilation: Compilation) -> Chart | None:
    return forest_chart(compilation.result.judges, compilation.result.compiled.name)


def forest_chart(judges: Sequence[JudgeOnTest], lead: str) -> Chart | None:
    """The lead measure of every judge; the baselines are the same for all and are drawn once.

    Args:
        lead: the name of the judge that is compared with the others.
    """
    runs = [RunReport(judge.name, judge.evaluation) for judge in judges]
    leads = [measure for run in runs if (measure := lead_measure(run)) is not None]
    first = next((measure for measure in leads if measure.run == lead), None)
    if first is None:
        return None
    comparable = [measure for measure in leads if measure.is_comparable(first)]
    rows = [measure if measure is first else measure.without_baselines() for measure in comparable]
    return forest.judges_and_references(rows, first.run)


def reliability_charts(before: JudgeOnTest, after: JudgeOnTest) -> Iterator[tuple[str, Chart]]:
    """The reliability diagrams of two judges, on the same axes."""
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


def risk_chart(compilation: Compilation) -> Chart | None:
    if compilation.certificate is None:
        return None
    return compilations.risk(compilation.certificate, compilation.result.compiled.evaluation.curve)


def _fitted(compilation: Compilation) -> str:
    """The kind of the head and what it was fitted to."""
    head, labels = compilation.head, compilation.head_labels
    assert head
    sentence = labels.sentence if labels else ""
    return "; ".join(filter(None, [f"{head.fitted}, fitted to {counted(head.n, 'label')}", sentence]))


def _learnt(compilation: Compilation) -> Iterator[str]:
    for change in prompt_changes(compilation):
        demos = f", {counted(change.demos, 'demo')}" if change.demos else ""
        yield f"### Stage {markdown.escape(change.stage)}{demos}"
        if change.before != change.after:
            yield markdown.block(unified(change.before, change.after), "diff")


def _lead_of_cases(compilation: Compilation, shown: int) -> str:
    """What the browser lists, in sentences."""
    result = compilation.result
    where = "untouched test part" if result.estimate == "split" else "labelled cases, each judged out of fold"
    n = len(compilation.changed)
    less = f" Shown are {shown:,} of them, the surest first." if shown < n else ""
    return f"Of the {where}: {changes_sentence(result.changes)}{less}"


def grid_markdown(grid: TextTable) -> str:
    rows: list[list[str]] = [
        [
            f"{cell.value} ({cell.under})" if cell.under and cell.value else cell.value or cell.under
            for cell in row.cells
        ]
        for row in grid.rows
    ]
    note = f"\n\n{markdown.escape(grid.note)}" if grid.note else ""
    return f"### {markdown.escape(grid.title)}\n\n{markdown.table(grid.heads, rows)}{note}"
