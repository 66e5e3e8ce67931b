"""`dicast compile`: a program and labelled cases to a judge that agrees with those people better, with proof."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from . import FAIL, INCONCLUSIVE, STOPPED, options, output
from .estimates import print_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..optimizers.result import Result
    from ..workflows import CompileRun

EXIT = {"improved": 0, "worse": FAIL, "inconclusive": INCONCLUSIVE}
EXIT_BEFORE_TEST = {"dry run": 0, "stopped": STOPPED, "budget": INCONCLUSIVE, "too few labels": INCONCLUSIVE}
MAIN_MEASURES = ("accuracy", "both-orders accuracy", "kappa", "log-loss", "ECE", "spearman", "kendall")
APART = 0.005  # figures that differ by less look the same
WIDE = 110  # columns from which every metric has its interval


def objectives() -> list[str]:
    """The names of --objective."""
    from ..optimizers.objective import OBJECTIVES

    return OBJECTIVES.names()


def _prompt_optimizers() -> list[str]:
    from ..optimizers.prompts.optimizer import PROMPT_OPTIMIZERS

    return ["none", *PROMPT_OPTIMIZERS.names()]


def presets() -> list[str]:
    """The names of --preset."""
    from ..distillation.presets import PRESETS

    return PRESETS.names()


def _preferences() -> tuple[str, ...]:
    from ..optimizers.structure.pareto import Prefer

    return get_args(Prefer)


def _cost_units() -> tuple[str, ...]:
    from ..optimizers.cost_account import CostUnit

    return get_args(CostUnit)


def _limits(context: click.Context, option: click.Parameter, text: str | None) -> dict[str, float] | None:
    """`calls=2,seconds=1.5` as unit -> number."""
    if text is None:
        return None
    limits: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        unit, _, most = part.partition("=")
        if unit in limits:
            raise click.BadParameter(f"{unit!r} is there twice; keep one of them", param=option)
        try:
            limits[unit] = float(most)
        except ValueError:
            raise click.BadParameter(f"{part!r}: write UNIT=MOST, as in calls=2", param=option) from None
        if unit not in _cost_units() or not 0 < limits[unit] < math.inf:
            units = ", ".join(_cost_units())
            raise click.BadParameter(f"{part!r}: write one of {units}, = and a number over 0", param=option)
    return limits


def _costs(context: click.Context, option: click.Parameter, text: str | None) -> dict[str, float] | None:
    """`fail=5,pass=1` as category -> cost."""
    from ..optimizers.error_costs import parse_costs

    return None if text is None else parse_costs(text)


@click.command("compile")
@click.argument("program", shell_complete=options.completion.judges)
@options.case_options
@click.option("--out", type=options.FOLDER, help="Folder [default: compiled/PROGRAM-CASES].")
@options.lm_option
@click.option(
    "--recipe", "recipe_file", type=click.Path(path_type=Path, dir_okay=False), help="A YAML file of the steps."
)
@click.option(
    "--objective",
    type=options.NameChoice(objectives, "objectives"),
    help="The measure to improve [default: accuracy of pairs and choices, Spearman of texts].",
)
@click.option(
    "--criteria",
    type=click.Choice(["none", "learn"]),
    help="learn: add questions that an LM proposes and the labels choose; for PROGRAM questions [default: none].",
)
@click.option(
    "--criteria-lm",
    shell_complete=options.completion.lms,
    help="The model that proposes questions [default: the judge's].",
)
@click.option(
    "--prompts", type=options.NameChoice(_prompt_optimizers, "prompts"), help="Prompt optimizer [default: none]."
)
@click.option(
    "--prompt-lm", shell_complete=options.completion.lms, help="The model that proposes prompts [default: the judge's]."
)
@click.option(
    "--trials",
    type=click.IntRange(0),
    help="Structures to try at most; 0 leaves the search out [default: 8, but 0 below 600 labels].",
)
@click.option(
    "--estimate",
    type=click.Choice(["cross-fitted", "split"]),
    help="What measures the judge: all labels out of fold, or a test part [default: cross-fitted below 600 labels "
    "where only a head of the judge's answers is fitted].",
)
@click.option(
    "--prefer", type=options.NameChoice(_preferences, "preferences"), help="Which structure of the front to take."
)
@click.option(
    "--cost",
    type=options.NameChoice(_cost_units, "cost units"),
    help="The cost of a verdict that --prefer weighs [default: calls].",
)
@click.option(
    "--per-verdict",
    callback=_limits,
    metavar="UNIT=MOST,...",
    help="The most that a verdict may cost, as in calls=2,seconds=1.5; costlier structures are not taken.",
)
@click.option(
    "--finetune",
    metavar="BASE",
    shell_complete=options.completion.bases,
    help="Train this model on the train part; taken if it is better on select.",
)
@click.option("--preset", type=options.NameChoice(presets, "presets"), help="Of that training [default: cpu].")
@click.option(
    "--train",
    "training",
    multiple=True,
    metavar="NAME=VALUE",
    callback=options.parse_settings,
    help="A field of its recipe in place of the preset's, as in epochs=2.",
)
@click.option("--risk", type=options.FloatRange(0, 0.5, min_open=True), help="Disagreement that is certified.")
@click.option(
    "--costs",
    callback=_costs,
    metavar="CATEGORY=COST,...",
    help="Of errors, by what people say, as in fail=5,pass=1: the judge then names the category of the least cost.",
)
@click.option("--seed", type=click.IntRange(0), help="Of splits, folds, and searches.")
@options.set_option("A parameter of the program to start with.")
@click.option("--limit", type=click.IntRange(1), help="Take this many cases, sampled with --seed.")
@options.limit_groups_option
@options.selection_options
@options.trust_option
@options.pace_options
@options.budget_option
@click.option(
    "--resume", is_flag=True, help="Only continue an existing compilation; without it a new one is started as well."
)
@click.option("--no-texts", is_flag=True, help="Leave texts of cases out of the page.")
@click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens, minutes and cost; no model is called.")
@options.json_option
def command(
    program: str, lm: str | None, settings: dict[str, Any], resume: bool, no_texts: bool, as_json: bool, **values: Any
) -> int:
    """Compile PROGRAM against human-labelled cases: fit, search, certify, and test once on labels not learnt from.

    Writes a judge file, a page and the evidence. The same command continues where it stopped. Exit 0 when verdicts,
    certainty or selective use are significantly better; 1 when verdicts or certainty are worse than before, or the
    judge is worse than a baseline; 2 when the labels, or the budget, cannot show either.

    \b
    Example:
      dicast compile direct --cases labels.jsonl
      dicast compile direct --cases passfail.csv --costs fail=5,pass=1
      dicast compile fennec --cases labels.jsonl --trials 12 --budget minutes=60
      dicast compile questions --cases labels.jsonl --criteria learn --trials 0
      dicast compile direct --cases labels.jsonl --finetune smollm2-135m --preset cpu-small --dry-run
      dicast judge --judge compiled/direct-labels/direct.judge.json --cases new.jsonl
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    judge = workflows.JudgeSpec(program, options.find_lm(lm, program), settings)
    chosen = {name: value for name, value in values.items() if value is not None}  # the others are the recipe's
    if not chosen["training"]:
        del chosen["training"]
    with render.Compiling(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = workflows.compile(
            judge, source, must_resume=resume, texts=not no_texts, progress=progress, stop=stop, **chosen
        )
    if result.compiled is not None:
        return _print(result, as_json)
    if result.estimate is not None:
        print_estimate(result.estimate, as_json)
    if result.message:
        more = " The compilation continues where it stopped." if result.status == "budget" else ""
        output.error(f"dicast: {result.message}{more}")
    if result.judge_file:
        output.error(f"best so far, not tested: {result.judge_file}")
    return EXIT_BEFORE_TEST[result.status]


def _print(result: "CompileRun", as_json: bool) -> int:
    """Print what was shown; the exit code."""
    from . import render

    assert result.compiled
    compiled, path, page = result.compiled, result.judge_file, result.page
    if as_json:
        options.print_json(
            {
                "judge": str(path),
                "page": str(page) if page else None,
                "result": compiled.result.model_dump(mode="json"),
                "certificate": compiled.training["certificate"],
                "withdrawn": compiled.training.get("withdrawn"),
                "certifiable": compiled.certifiable.model_dump(mode="json"),
                "spent": compiled.training["spent"],
            }
        )
        return EXIT[compiled.result.outcome]
    for line in answer_lines(compiled.result):
        render.say(line)
    render.say(f"\n{_measured_on(compiled.result)}:")
    render.console.print(test_table(compiled.result))
    for note in _notes(compiled.result):
        render.say(note, style="dim")
    if compiled.result.aspects:
        render.console.print(aspects_table(compiled.result))
    render.say(f"{_compared(compiled.result)}\n".lstrip("\n"))
    if compiled.result.beside:
        render.say(beside_line(compiled.result))
    if compiled.certificate:
        render.say(compiled.certificate.summary())
    elif compiled.certifiable.summary:
        render.say(f"No certificate: {compiled.certifiable.summary}.")
    if compiled.result.threshold_check:
        render.say(compiled.result.threshold_check.summary())
    if compiled.result.withdrawal:
        render.say(compiled.result.withdrawal)
    if "final" in compiled.training:
        render.say(f"Final judge: {compiled.training['final']['sentence']}.")
    for step in compiled.result.next_steps:
        render.say(f"Next: {step}")
    render.say(_spent(compiled.training["spent"]))
    render.console.print(f"\njudge: {path}", soft_wrap=True)
    if page:
        render.console.print(f"page:  {page}", soft_wrap=True)
    render.console.print(f"more:  dicast show {path}", soft_wrap=True, style="dim")
    return EXIT[compiled.result.outcome]


def answer_lines(tested: "Result") -> list[str]:
    """The answer before the figures: what is wrong, and what improved."""
    from ..optimizers.answer import DECISIVE

    words = {"improved": "", "worse": "Worse: ", "inconclusive": "Not shown to be better: "}[tested.outcome]
    if tested.outcome == "worse" and not any(
        claim.state == "worse" and claim.of in DECISIVE for claim in tested.claims
    ):
        words = "Worse than a baseline: "
    sentence = f"{words}{tested.headline or 'nothing could be tested'}."
    return [*tested.faults, sentence[0].upper() + sentence[1:]]


def _compared(tested: "Result") -> str:
    """The objective against the uncompiled judge and baselines; of verdicts that are the same the latter alone, for a
    difference would be that of the folds' heads."""
    unbeaten = tested.summary.find("not shown to be better than")
    if not any(claim.of == "verdicts" and claim.state == "unchanged" for claim in tested.claims):
        return tested.summary
    return f"{tested.summary[unbeaten:].capitalize()}." if unbeaten >= 0 else ""


def _notes(tested: "Result") -> "Iterator[str]":
    """Lines under the table on figures that seem to contradict the answer."""
    table = {measure.name: measure.value for part in tested.judges[0].evaluation.sections.values() for measure in part}
    for claim in tested.claims:
        before, after = claim.before or 0.0, claim.after or 0.0
        of_labels = table.get("log-loss")
        if claim.of == "certainty" and of_labels is not None and abs(before - of_labels) > APART:
            yield "The answer's log-loss is under people's single votes, that of the table under their majority."
        elif claim.of == "verdicts" and claim.state == "unchanged" and abs(before - after) > APART:
            yield "The delivered judge orders the texts as before; the table's figures are of a head for each fold."


def beside_line(tested: "Result") -> str:
    """What all labels say out of fold, where the test part decides."""
    from ..optimizers.claims import measured

    figures = [
        f"{measured(claim)} {claim.before:.3f} -> {claim.after:.3f}"
        for claim in tested.beside
        if claim.of != "cost" and claim.before is not None and claim.after is not None
    ]
    return f"All {tested.beside_n:,} labels out of fold, which decide nothing here: {', '.join(figures)}."


def _spent(account: dict[str, Any]) -> str:
    from ..data import Usage
    from . import render

    sessions = "" if account["sessions"] == 1 else f" in {account['sessions']} sessions"
    return f"spent: {render.spent(Usage(**account['usage']))}, {account['minutes']:.1f} min{sessions}"


def test_table(tested: "Result") -> Any:
    """The judges side by side on the labels of the result, and baselines without a model."""
    from . import render

    names = _columns(tested)
    with_interval = names if render.console.width >= WIDE else names[:1]
    rows = []
    for row in tested.judges:
        sections = row.evaluation.sections.values()
        cells = {
            measure.name: render.interval_text(measure)
            if measure.name in with_interval
            else render.number(measure.value)
            for section in sections
            for measure in section
        }
        tokens = "-" if row.tokens is None else f"{row.tokens:,.0f}"
        rows.append([row.name, *(cells.get(name, "-") for name in names), f"{row.calls:.1f}", tokens])
    for measure in tested.reference_measures:
        if measure.name in ("chance", "majority", "longer", "human ceiling"):
            rows.append([measure.name, render.interval_text(measure), *[""] * (len(names) - 1), "", ""])
    return render.table(["", *names, "calls", "tokens"], rows)


def _measured_on(tested: "Result") -> str:
    if tested.estimate == "split":
        return f"The test part, {tested.n:,} labels"
    return f"All {tested.n:,} labels, each judged by a head that was fitted without its group"


def aspects_table(tested: "Result") -> Any:
    """The objective by aspect: before, after, and the difference with its test."""
    from rich.markup import escape

    from . import render

    rows = []
    for row in tested.aspects:
        sides = ["-" if measure is None else render.interval_text(measure) for measure in (row.before, row.after)]
        test = row.test
        difference = "-" if test is None else render.interval_text(test.difference)
        p_values = ["-", "-"] if test is None else [render.p_value(test.p), render.p_value(test.p_holm)]
        rows.append([escape(row.aspect), *sides, difference, *p_values])
    heads = [f"{tested.objective} by aspect", "uncompiled", "compiled", "difference", "p", "p (Holm)"]
    return render.table(heads, rows)


def _columns(tested: "Result") -> list[str]:
    """The main measures of the compiled judge."""
    sections = tested.compiled.evaluation.sections.values()
    return [measure.name for section in sections for measure in section if measure.name in MAIN_MEASURES]
