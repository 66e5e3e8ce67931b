"""One page of a compilation: is the judge better, what was learnt and tried, what is certified; or as Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from . import compile_plots, curves, forest_plots
from .compilation import Compilation
from .compile_headline import compiled_answers, compiled_headline, power_note, search_words
from .forest_plots import Chart
from .formatting import THIN, lead_of
from .headline import calibration_error
from .markdown import block, code, plain, tabled, tests_table
from .prompt_diff import Piece, pieces, unified
from .rendering import rendered
from .run_report import RunReport
from .sections import compared
from .tables import Grid, facts_grid, prompts_grid, settings_grid, structure_grid, test_grid


@dataclass(frozen=True)
class Reworded:
    """A stage with the change of its instructions marked, and the demos that it shows."""

    stage: str
    pieces: tuple[Piece, ...]
    demos: int


@dataclass
class Section:
    """One question of the page with what answers it."""

    key: str
    question: str
    short: str
    charts: list[tuple[str, Chart]] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def compiled_page(one: Compilation, *, title: str, now: str) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        now: when the page was made, as it should be read.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    sections = [section for section in _sections(one, drawn=True) if _is_shown(section, one)]
    return rendered(
        "compiled.html.j2",
        what="Compiled judge",
        title=title,
        now=now,
        headline=compiled_headline(one),
        answers=compiled_answers(one),
        parts=sections,
        here={section.key for section in sections},
        tests=list(compared(one.tested.comparisons)),
        power=power_note(one),
        reworded=[Reworded(each.stage, pieces(each.before, each.after), each.demos) for each in one.rewordings],
        one=one,
        labelled=sum(one.parts.values()),
    )


def compiled_markdown(one: Compilation, *, title: str, now: str) -> str:
    """The page's words and tables as Markdown, without plots."""
    top = compiled_headline(one)
    blocks = [f"# {plain(title)}", f"**{plain(top.words)}.** {plain(' '.join(top.sentences))}", plain(now)]
    for section in _sections(one, drawn=False):
        told = [*map(plain, section.words), *map(_grid, section.grids)]
        if section.key == "test":
            told += filter(None, [tests_table(one.tested.comparisons), plain(power_note(one))])
        if section.key == "learnt":
            told += _learnt(one)
        if section.key == "made":
            told += [f"- {code(command)} {plain(words)}" for command, words in one.commands]
        if told:
            blocks += [f"## {section.question}", *told]
    blocks += [code(one.compiled.evaluation.signature), "Intervals are 95 %."]
    return "\n\n".join(blocks).replace(THIN, " ") + "\n"


def _is_shown(section: Section, one: Compilation) -> bool:
    learnt = section.key == "learnt" and bool(one.rewordings)
    return learnt or section.key == "made" or bool(section.charts or section.grids or section.words)


def _sections(one: Compilation, *, drawn: bool) -> Iterator[Section]:
    """All sections in reading order, those without an answer too; `drawn` asks for their plots."""
    test = Section("test", "Is it better?", "Test", grids=[test_grid(one)])
    sure = Section("sure", "How sure is it?", "Certainty")
    learnt = Section("learnt", "What was learnt?", "Learnt")
    tried = Section("tried", "What was tried?", "Search")
    certificate = Section("certificate", "What is certified?", "Certificate")
    made = Section("made", "How was it made?", "Making", grids=list(facts_grid(one)))
    for search, grid in ((one.structure, structure_grid), (one.prompts, prompts_grid)):
        if search is not None:
            tried.words.append(search_words(search))
            tried.grids += [grid(search)] if search.attempts else []
    if one.structure is not None and one.structure.settings:
        learnt.grids.append(settings_grid(one.structure))
    if one.guarantee is not None:
        certificate.words += filter(None, (one.guarantee.told, one.guarantee.held))
    if drawn:
        test.charts += _charts([_forest(one)])
        sure.charts += _reliability(one)
        learnt.charts += _charts(_weights(one))
        tried.charts += _charts([compile_plots.front(one.structure) if one.structure is not None else None])
        certificate.charts += _charts([_risk(one)])
    yield from (test, sure, learnt, tried, certificate, made)


def _charts(found: "list[Chart | None]") -> Iterator[tuple[str, Chart]]:
    return (("", chart) for chart in found if chart is not None)


def _forest(one: Compilation) -> Chart | None:
    """Every judge's leading figure; what reads nothing is the same for all, and stands once."""
    runs = [RunReport(judge.name, judge.evaluation) for judge in one.tested.judges]
    leads = [lead for run in runs if (lead := lead_of(run)) is not None]
    after = next((lead for lead in leads if lead.run == one.tested.after), None)
    if after is None:
        return None
    return forest_plots.forest([lead.beside(after) for lead in leads if lead.like(after)], after.run)


def _reliability(one: Compilation) -> Iterator[tuple[str, Chart]]:
    before, after = one.uncompiled, one.compiled
    for judge, other in ((before, after), (after, before)):
        mine, beside = judge.evaluation, other.evaluation.reliability
        chart = curves.reliability(judge.name, mine.reliability, calibration_error(mine), beside)
        if chart is not None:
            yield judge.name, chart


def _risk(one: Compilation) -> Chart | None:
    return None if one.guarantee is None else compile_plots.risk(one.guarantee, one.compiled.evaluation.curve)


def _weights(one: Compilation) -> "list[Chart | None]":
    head = one.weights
    if head is None:
        return []
    facts = " ".join(f"{name.capitalize()}: {words}." for name, words in head.facts)
    note = f"{head.fitted}, fitted to {head.n:,} labels. Weights are per unit of each evidence. {facts}".strip()
    ties = "A positive weight makes a tie likelier where this evidence is strong, a negative one less likely."
    return [
        compile_plots.weights("head", "What the head weighs", head.weights, note),
        compile_plots.weights("ties", "What speaks for a tie", head.ties, ties),
    ]


def _learnt(one: Compilation) -> Iterator[str]:
    if one.weights is not None:
        given = {**one.weights.weights, **{f"ties by {name}": v for name, v in one.weights.ties.items()}}
        rows = [[name, f"{weight:+.3g}"] for name, weight in given.items()]
        yield f"### The head: {plain(one.weights.fitted)}, of {one.weights.n:,} labels\n\n" + tabled(
            ["evidence", "weight"], rows
        )
    for each in one.rewordings:
        demos = f", {each.demos} {'demo' if each.demos == 1 else 'demos'}" if each.demos else ""
        yield f"### Stage {plain(each.stage)}{demos}"
        if each.before != each.after:
            yield block(unified(each.before, each.after), "diff")


def _grid(grid: Grid) -> str:
    rows: list[list[str]] = [
        [
            f"{cell.value} ({cell.under})" if cell.under and cell.value else cell.value or cell.under
            for cell in row.cells
        ]
        for row in grid.rows
    ]
    note: Any = f"\n\n{plain(grid.note)}" if grid.note else ""
    return f"### {plain(grid.title)}\n\n{tabled(grid.heads, rows)}{note}"
