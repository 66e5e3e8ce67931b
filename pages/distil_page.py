"""The page of a distillation: may the student replace its teacher, what does it cost, what was learnt."""

import shlex
from collections.abc import Iterator

from ..distillation.acceptance import BASE, STUDENT, TEACHER, UNTRAINED, Acceptance, Check, JudgeCost, tested_before
from ..distillation.distil_folder import Distillation
from ..optimizers.objective import title_of
from . import markdown
from .compile_page import (
    NEW_CASES,
    NEW_LABELS,
    forest_chart,
    markdown_page,
    named_charts,
    reliability_charts,
    risk_chart,
)
from .compile_tables import judges_table
from .formatting import (
    MISSING,
    THIN,
    counted,
    format_interval,
    format_measure,
    format_value,
    readable,
)
from .html import render
from .learnt_tables import weights_grid
from .run_headline import Headline, PageAnswer, Tone
from .run_report import calibration_error
from .run_sections import rows_of_tests
from .section import Section
from .text_tables import TextCell, TextRow, TextTable

OUTCOMES: dict[str, tuple[Tone, str]] = {
    "accepted": ("good", "The student may replace its teacher"),
    "rejected": ("bad", "The student may not replace its teacher"),
    "undecided": ("warn", "The labels do not decide whether the student may replace its teacher"),
}
HOLDS = {True: "holds", False: "contradicted", None: "open"}
TONES: dict[bool | None, str] = {True: "", False: "marked", None: "faint"}


def distillation_html(distillation: Distillation, *, title: str, now: str) -> str:
    """The page as one HTML document; the same input gives the same text.

    Args:
        now: the time of writing, as the page prints it.

    Raises:
        DeclarationError: jinja2 or matplotlib is not installed.
    """
    shown = [part for part in _sections(distillation, with_charts=True) if part.charts or part.grids or part.words]
    acceptance = distillation.acceptance
    return render(
        "compilation.html.j2",
        kind="Distilled judge",
        title=title,
        now=now,
        headline=distil_headline(distillation),
        answers=tuple(_answers(acceptance)),
        parts=shown,
        linked={part.key for part in shown},
        tests=list(rows_of_tests(acceptance.comparisons)),
        power="",
        prompts=(),
        steps=(),
        pieces=(),
        cases=(),
        commands=commands(distillation),
        sizes=distillation.parts,
        cross_fitted=False,
        labelled=sum(distillation.parts.values()),
        signature=acceptance.student.evaluation.signature,
    )


def distillation_markdown(distillation: Distillation, *, title: str, now: str) -> str:
    """The text and the tables of the page as Markdown, without plots."""
    return markdown_page(
        title,
        now,
        distil_headline(distillation),
        _sections(distillation, with_charts=False),
        {"test": [markdown.comparisons(distillation.acceptance.comparisons)]},
        commands(distillation),
        distillation.acceptance.student.evaluation.signature,
    )


def distil_headline(distillation: Distillation) -> Headline:
    """The outcome, the checks that decided, and what a verdict takes."""
    acceptance = distillation.acceptance
    tone, words = OUTCOMES[acceptance.outcome]
    checks = [f"{_capital(check.sentence)}." for check in acceptance.checks]
    looks = ""
    if acceptance.looks > 1:
        looks = f"{_capital(tested_before(acceptance.looks))}, so that the intervals are widened."
    return Headline(tone, words, tuple(filter(None, [*checks, looks, _compared_cost(acceptance)])))


def commands(distillation: Distillation) -> tuple[tuple[str, str], ...]:
    """What to do next with the judge file: (command, description); empty without a judge file."""
    if distillation.judge_path is None:
        return ()
    file = shlex.quote(str(distillation.judge_path))
    return (
        (f"dicast judge --judge {file} --cases {NEW_CASES}", "Judge new cases"),
        (f"dicast show {file}", "Show everything that the student has learnt"),
        (f"dicast check --judge {file} --cases {NEW_LABELS}", "Check that it still agrees with human annotators"),
        (
            f"dicast cascade {file} TEACHER.judge.json --cases {NEW_LABELS}",
            "Ask the teacher where the student is unsure",
        ),
    )


def _sections(distillation: Distillation, *, with_charts: bool) -> Iterator[Section]:
    """All sections in reading order, including empty ones."""
    acceptance, student = distillation.acceptance, distillation.student
    test = Section("test", "May it replace its teacher?", "Test", grids=[checks_grid(acceptance)])
    test.grids.append(judges_table(acceptance.judges, acceptance.student, acceptance.reference_measures))
    test.grids.append(costs_grid(acceptance))
    calibration = Section("calibration", "Is it calibrated?", "Calibration")
    weights = filter(None, [weights_grid(student.head)])
    learnt = Section("learnt", "What was learnt?", "Learnt", grids=[*weights, *_learnt_grids(distillation)])
    certificate = Section("certificate", "What is certified?", "Certificate")
    recipe = Section("recipe", "How was it distilled?", "Recipe", grids=[recipe_table(distillation)])
    if student.certificate is not None:
        threshold = student.result.threshold_check
        certificate.words += [student.certificate.summary(), *([threshold.summary()] if threshold else [])]
        certificate.words += filter(None, [student.result.withdrawal])
    elif student.certifiable is not None:
        certificate.words.append(f"No certificate: {student.certifiable.summary}.")
    if with_charts:
        test.charts += named_charts([forest_chart(acceptance.judges, STUDENT)])
        calibration.charts += reliability_charts(acceptance.teacher, acceptance.student)
        certificate.charts += named_charts([risk_chart(student)])
    yield from (test, calibration, learnt, certificate, recipe)


def checks_grid(acceptance: Acceptance) -> TextTable:
    """The checks that decided, each with the student's advantage."""
    objective = readable(title_of(acceptance.objective))
    return TextTable(
        "Acceptance",
        ("Check", f"Gain in {objective}", "Outcome"),
        tuple(TextRow(_check_cells(check), TONES[check.holds]) for check in acceptance.checks),
        "Gains are the student's advantage, with 95 % intervals over whole groups. The student is accepted if all "
        "checks hold, and rejected if one is contradicted.",
    )


def costs_grid(acceptance: Acceptance) -> TextTable:
    """What a verdict of each judge takes."""
    return TextTable(
        "What a verdict takes",
        ("Judge", "Calls", "Tokens", "Seconds", "CPU seconds", "US dollars", "Memory"),
        tuple(TextRow(_cost_cells(cost), "marked" if cost.name == STUDENT else "") for cost in acceptance.costs),
        "Seconds and CPU seconds of student and teacher are those of verdicts that were asked for again, one after "
        "another, where models run on this machine; CPU seconds are summed over cores. Other seconds are those of "
        "waiting for calls, summed; a dash where all answers came from the store. Memory is that of the weights on "
        "this machine.",
    )


def recipe_table(distillation: Distillation) -> TextTable:
    """Teacher, base, recipe and versions."""
    rows = tuple(TextRow((TextCell(name), TextCell(words))) for name, words in _facts(distillation))
    return TextTable("Recipe", ("", ""), rows, wordy=True)


def _facts(distillation: Distillation) -> Iterator[tuple[str, str]]:
    identity, file = distillation.identity, distillation.judge_file
    recipe = identity.get("recipe", {})
    yield "teacher", f"{identity.get('judge')}, {identity.get('lm')}"
    yield "base", str(identity.get("base"))
    if distillation.trained.model:
        yield "student", distillation.trained.model
    for name in ("mode", "targets", "human_weight", "margin", "seed"):
        if name in recipe:
            yield readable(name), str(recipe[name])
    yield "labelled cases", f"SHA-256 {str(identity.get('cases'))[:12]}"
    if distillation.student.joined:
        yield "split", distillation.student.joined
    spent = [account.usage for account in (distillation.spent, distillation.student.spent) if account is not None]
    calls = sum(usage.calls for usage in spent)
    yield "judged", f"{counted(calls, 'call')} for teacher, base and student"
    if file is not None:
        yield "versions", ", ".join(f"{name} {number}" for name, number in file.versions.items())


def _learnt_grids(distillation: Distillation) -> Iterator[TextTable]:
    lessons, trained = distillation.lessons, distillation.trained
    if lessons.rows or lessons.counts:
        rows = [TextRow((TextCell(f"{part} rows"), TextCell(f"{n:,}"))) for part, n in lessons.rows.items()]
        rows += [TextRow((TextCell(reason), TextCell(f"{n:,}")), "faint") for reason, n in lessons.counts.items()]
        yield TextTable("Training set", ("", "Count"), tuple(rows))
    if trained.figures:
        figures = [(readable(name), value) for name, value in trained.figures.items() if value is not None]
        rows = [TextRow((TextCell(name), TextCell(_figure(value)))) for name, value in figures]
        yield TextTable("Training", ("", "Value"), tuple(rows))


def _figure(value: object) -> str:
    return format_value(value) if isinstance(value, int | float) else str(value)


def _check_cells(check: Check) -> tuple[TextCell, ...]:
    by = f" by {check.margin:g}" if check.margin else ""
    gain = MISSING if check.gain is None else format_value(check.gain, "change")
    low_high = check.low is not None and check.high is not None
    interval = f"{format_value(check.low, 'change')} to {format_value(check.high, 'change')}" if low_high else ""
    return TextCell(f"{check.claim} {check.other}{by}"), TextCell(gain, interval), TextCell(HOLDS[check.holds])


def _cost_cells(cost: JudgeCost) -> tuple[TextCell, ...]:
    tokens = None if cost.tokens is None else round(cost.tokens)
    memory = MISSING if cost.memory is None else f"{cost.memory / 1e9:,.2f} GB"
    dollars = MISSING if cost.dollars is None else f"{cost.dollars:.2g}"
    return (
        TextCell(cost.name),
        TextCell(format_value(cost.calls)),
        TextCell(format_value(tokens)),
        TextCell(format_value(cost.seconds if cost.measured is None else cost.measured.seconds)),
        TextCell(MISSING if cost.measured is None else format_value(cost.measured.cpu)),
        TextCell(dollars),
        TextCell(memory),
    )


def _answers(acceptance: Acceptance) -> Iterator[PageAnswer]:
    tone = OUTCOMES[acceptance.outcome][0]
    test = acceptance.test_against(TEACHER)
    if test is not None:
        interval = format_interval(test.difference)
        line = f"{readable(test.name)} against the teacher" + (f", 95{THIN}% interval {interval}" if interval else "")
        yield PageAnswer("Is it as good?", format_measure(test.difference), line, "test", tone)
    base = acceptance.test_against(BASE) or acceptance.test_against(UNTRAINED)
    if base is not None:
        interval = format_interval(base.difference)
        line = f"{readable(base.name)} against its base" + (f", 95{THIN}% interval {interval}" if interval else "")
        yield PageAnswer("Did training help?", format_measure(base.difference), line, "test")
    error, before = (calibration_error(judge.evaluation) for judge in (acceptance.student, acceptance.teacher))
    if error is not None:
        beside = "" if before is None else f", the teacher's {format_measure(before)}"
        line = f"expected calibration error{beside}"
        yield PageAnswer("Is it calibrated?", format_measure(error), line, "calibration")
    costs = acceptance.cost(STUDENT), acceptance.cost(TEACHER)
    ours, theirs = (format_value(None if cost.tokens is None else round(cost.tokens)) for cost in costs)
    yield PageAnswer("What does it cost?", ours, f"tokens a verdict; the teacher takes {theirs}", "test")


def _compared_cost(acceptance: Acceptance) -> str:
    student, teacher = acceptance.cost(STUDENT), acceptance.cost(TEACHER)
    calls = f"{counted(round(student.calls, 1), 'call')} a verdict, the teacher {format_value(teacher.calls)}"
    if student.measured is None or teacher.measured is None:
        return f"The student takes {calls}."
    seconds = [format_value(cost.measured.cpu) for cost in (student, teacher) if cost.measured]
    return f"The student takes {calls}; {seconds[0]} seconds of processor time, the teacher {seconds[1]}."


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
