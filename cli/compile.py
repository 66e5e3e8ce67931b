"""`dicast compile`: a program and labelled cases to a judge that agrees with those people better, with proof."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from . import FAIL, INCONCLUSIVE, STOPPED, options, output

if TYPE_CHECKING:
    from ..optimizers.result import Result
    from ..workflows import CompileRun

EXIT = {"improved": 0, "worse": FAIL, "inconclusive": INCONCLUSIVE}
EXIT_BEFORE_TEST = {"stopped": STOPPED, "budget": INCONCLUSIVE, "too few labels": INCONCLUSIVE}
MAIN_MEASURES = ("accuracy", "agreement", "kappa", "log-loss", "ECE", "spearman", "kendall")
WIDE = 110  # columns from which every metric has its interval


def _objectives() -> list[str]:
    from ..optimizers.objective import OBJECTIVES

    return OBJECTIVES.names()


def _prompt_optimizers() -> list[str]:
    from ..optimizers.prompts.optimizer import PROMPT_OPTIMIZERS

    return ["none", *PROMPT_OPTIMIZERS.names()]


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


@click.command("compile")
@click.argument("program")
@options.case_options
@click.option("--out", type=options.FOLDER, help="Folder [default: compiled/PROGRAM-CASES].")
@options.lm_option
@click.option(
    "--recipe", "recipe_file", type=click.Path(path_type=Path, dir_okay=False), help="A YAML file of the steps."
)
@click.option(
    "--objective",
    type=options.NameChoice(_objectives),
    help="The measure to improve [default: accuracy of pairs and choices, Spearman of texts].",
)
@click.option(
    "--criteria",
    type=click.Choice(["none", "learn"]),
    help="learn: add questions that an LM proposes and the labels choose; for PROGRAM questions [default: none].",
)
@click.option("--criteria-lm", help="The model that proposes questions [default: the judge's].")
@click.option("--prompts", type=options.NameChoice(_prompt_optimizers), help="Prompt optimizer [default: none].")
@click.option("--prompt-lm", help="The model that proposes prompts [default: the judge's].")
@click.option("--trials", type=click.IntRange(0), help="Structures to try at most; 0 leaves the search out.")
@click.option("--prefer", type=options.NameChoice(_preferences), help="Which structure of the front to take.")
@click.option(
    "--cost", type=options.NameChoice(_cost_units), help="The cost of a verdict that --prefer weighs [default: calls]."
)
@click.option(
    "--per-verdict",
    callback=_limits,
    metavar="UNIT=MOST,...",
    help="The most that a verdict may cost, as in calls=2,seconds=1.5; costlier structures are not taken.",
)
@click.option("--risk", type=options.FloatRange(0, 0.5, min_open=True), help="Disagreement that is certified.")
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
@options.json_option
def command(program: str, lm: str | None, settings: dict[str, Any], resume: bool, as_json: bool, **values: Any) -> int:
    """Compile PROGRAM against human-labelled cases: fit, search, certify, and test once on cases that no step has seen.

    Writes a judge file, a page and the evidence. The same command continues where it stopped. Exit 0 when the
    compiled judge is significantly better on the test part, 1 when it is significantly worse, 2 when the labels, or the
    budget, cannot show either.

    \b
    Example:
      dicast compile direct --cases labels.jsonl
      dicast compile fennec --cases labels.jsonl --trials 12 --budget minutes=60
      dicast compile questions --cases labels.jsonl --criteria learn --trials 0
      dicast judge --judge compiled/direct-labels/direct.judge.json --cases new.jsonl
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    judge = workflows.JudgeSpec(program, lm, settings)
    chosen = {name: value for name, value in values.items() if value is not None}  # the others are the recipe's
    with render.Compiling(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = workflows.compile(judge, source, must_resume=resume, progress=progress, stop=stop, **chosen)
    if result.compiled is not None:
        return _print(result, as_json)
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
    render.console.print(test_table(compiled.result))
    if compiled.result.aspects:
        render.console.print(aspects_table(compiled.result))
    render.say(compiled.result.summary)
    if compiled.certificate:
        render.say(compiled.certificate.summary())
    elif compiled.certifiable.summary:
        render.say(f"No certificate: {compiled.certifiable.summary}.")
    if compiled.result.threshold_check:
        render.say(compiled.result.threshold_check.summary())
    if compiled.result.withdrawal:
        render.say(compiled.result.withdrawal)
    render.say(_spent(compiled.training["spent"]))
    render.console.print(f"judge: {path}   dicast show {path}", soft_wrap=True)
    if page:
        render.console.print(f"page: {page}", soft_wrap=True)
    return EXIT[compiled.result.outcome]


def _spent(account: dict[str, Any]) -> str:
    from ..data import Usage
    from . import render

    sessions = "" if account["sessions"] == 1 else f" in {account['sessions']} sessions"
    return f"spent: {render.spent(Usage(**account['usage']))}, {account['minutes']:.1f} min{sessions}"


def test_table(tested: "Result") -> Any:
    """The judges side by side on the test part, and baselines without a model."""
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
    return render.table([f"test part, n = {tested.n}", *names, "calls", "tokens"], rows)


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
