"""`dicast compile`: a program and labelled cases to a judge that agrees with those people better, with proof."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from ..errors import BudgetSpent
from . import FAIL, INCONCLUSIVE, STOPPED, options
from .running import default_workers, fresh, parse_budget, parse_settings, prepare_models, read_sample
from .wanted import answered_by, has_models

if TYPE_CHECKING:
    from ..optimizers.compile import Compiled, Compiler
    from ..optimizers.recipe import Baseline
    from ..optimizers.result import Result

EXIT = {"improved": 0, "worse": FAIL, "inconclusive": INCONCLUSIVE}
WIDE = 110  # columns from which every figure has its interval


def _objectives() -> list[str]:
    from ..optimizers.objective import OBJECTIVES

    return OBJECTIVES.names()


def _prompt_optimizers() -> list[str]:
    from ..optimizers.prompts.optimizer import PROMPT_OPTIMIZERS

    return ["none", *PROMPT_OPTIMIZERS.names()]


def _preferences() -> tuple[str, ...]:
    from ..optimizers.structure.pareto import Prefer

    return get_args(Prefer)


@click.command("compile")
@click.argument("program")
@options.case_options
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder [default: compiled/PROGRAM-CASES]."
)
@options.lm_option
@click.option(
    "--recipe", "recipe_file", type=click.Path(path_type=Path, dir_okay=False), help="A YAML file of the steps."
)
@click.option(
    "--objective",
    type=options.NameChoice(_objectives),
    help="The measure to improve [default: accuracy of pairs and choices, Spearman of texts].",
)
@click.option("--prompts", type=options.NameChoice(_prompt_optimizers), help="Prompt optimizer [default: none].")
@click.option("--prompt-lm", help="The model that proposes prompts [default: the judge's].")
@click.option("--trials", type=click.IntRange(0), help="Structures to try at most; 0 leaves the search out.")
@click.option("--prefer", type=options.NameChoice(_preferences), help="Which structure of the front to take.")
@click.option("--risk", type=click.FloatRange(0, 0.5, min_open=True), help="Disagreement that is certified.")
@click.option("--seed", type=click.IntRange(0), help="Of splits, folds, and searches.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the program to begin with."
)
@click.option("--limit", type=click.IntRange(1), help="Take this many cases, drawn with --seed.")
@click.option("--no-ties", is_flag=True, help="Leave out cases that people call a tie.")
@click.option("--workers", type=click.IntRange(1, 256), help="Cases at once [default: 2 local, 16 for a server].")
@click.option("--budget", metavar="LIMITS", help="Stop at limits, as in calls=1000,tokens=2e6,cost=5,minutes=30.")
@click.option(
    "--resume", is_flag=True, help="Only go on with a compilation that is there; without it one is begun as well."
)
@options.json_option
def command(
    program: str, out: Path | None, lm: str | None, recipe_file: Path | None, settings: tuple[str, ...],
    limit: int | None, workers: int | None, budget: str | None, resume: bool, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    """Compile PROGRAM against human-labelled cases: fit, search, certify, and test once on cases that nothing has seen.

    Writes a judge file, a page and the evidence. The same command again goes on where it stopped. Exit 0 when the
    compiled judge is significantly better on the test part, 1 when it is significantly worse, 2 when the labels, or the
    budget, cannot show either.

    \b
    Example:
      dicast compile direct --cases labels.jsonl
      dicast compile fennec --cases labels.jsonl --trials 12 --budget minutes=60
      dicast judge --judge compiled/direct-labels/direct.judge.json --cases new.jsonl
    """
    from ..errors import RunError
    from ..judging import build
    from ..judging.registry import judge_title
    from ..optimizers.compile import Compiler, TooFewLabels
    from ..optimizers.evidence import Interrupted, ProgressCallbacks
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    names = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in names & set(given)})
    skip_bad = given.pop("skip_bad")
    recipe = _recipe(recipe_file, given)
    out = out or Path("compiled") / f"{judge_title(program)}-{source.stem}"
    if resume and not (out / "compile.json").exists():
        raise RunError(f"--resume: {out} holds no compilation. Leave --resume out to begin one.")
    judge = answered_by(build(program, **parse_settings(settings)), lm)
    baseline = _baseline(recipe.baseline, judge)
    prepare_models(judge, *_models(recipe))
    cases = read_sample(source, out, limit, recipe.seed if limit else None, skip_bad=skip_bad)
    cases = fresh(cases, program)
    compiled = None
    with render.Compiling(quiet=as_json) as told, stop_on_interrupt() as stop:
        try:
            compiler = Compiler(
                judge, cases, out, recipe, baseline=baseline, workers=workers or default_workers(judge),
                budget=parse_budget(budget), progress=ProgressCallbacks(told.step, told.add, stop),
            )  # fmt: skip
        except TooFewLabels as error:
            click.echo(f"dicast: {error}", err=True)
            return INCONCLUSIVE
        try:
            compiled = compiler.run()
        except Interrupted:
            ended, why = STOPPED, ""
        except BudgetSpent as error:
            ended, why = INCONCLUSIVE, f"{error} The compilation goes on where it stopped."
    if compiled is not None:
        return _finished(compiled, out, program, as_json)
    if why:
        click.echo(f"dicast: {why}", err=True)
    _kept(compiler, out, program)
    return ended


def _recipe(file: Path | None, given: dict[str, Any]) -> Any:
    """The recipe's file, or the defaults, with what the command line says."""
    from ..optimizers.recipe import read_recipe, recipe

    changed = {name: value for name, value in given.items() if value is not None}
    return read_recipe(file, **changed) if file else recipe("compile", changed)


def _models(recipe: Any) -> list[str]:
    """The models that a recipe names beside the judge's own."""
    named = [value for name, values in recipe.space.items() if name.partition(".")[0] == "model" for value in values]
    return [*map(str, named), *([recipe.prompt_lm] if recipe.prompts != "none" and recipe.prompt_lm else [])]


def _baseline(wanted: "Baseline | None", judge: Any) -> Any:
    """The plain judge beside the judge, with the model of its first stage if it comes with none; None where it is that
    judge itself, or asks a model and the judge does not."""
    from ..judging import build

    if wanted is None:
        return None
    plain, asked = build(wanted.judge, **wanted.set), judge.stages()
    same = (plain.name, plain.settings()) == (judge.name, judge.settings())
    if same or (plain.stages() and not asked):
        return None
    if not has_models(plain):
        for stage in plain.stages():
            stage.use(asked[0].model, trusted=asked[0].trusted)
    plain.name = wanted.title
    return plain


def _kept(compiler: "Compiler", out: Path, program: str) -> None:
    """Save the best so far of a compilation that was stopped."""
    best = compiler.best_so_far()
    if best is not None:
        path = _path(out, program)
        best.save(path)
        click.echo(f"best so far, not tested: {path}", err=True)


def _finished(compiled: "Compiled", out: Path, program: str, as_json: bool) -> int:
    """Save the judge and say what was shown."""
    from . import render
    from .report import write_page

    tested = compiled.result
    path = _path(out, program)
    compiled.save(path)
    page = write_page(out)
    if as_json:
        options.print_json(
            {
                "judge": str(path),
                "page": str(page) if page else None,
                "result": tested.model_dump(mode="json"),
                "certificate": compiled.training["certificate"],
                "spent": compiled.training["spent"],
            }
        )
    else:
        render.console.print(test_table(tested))
        render.say(tested.summary)
        if compiled.certificate:
            render.say(compiled.certificate.summary())
        if tested.threshold_check:
            render.say(tested.threshold_check.summary())
        render.say(_spent(compiled.training["spent"]))
        render.console.print(f"judge: {path}   dicast show {path}", markup=False, soft_wrap=True)
        if page:
            render.console.print(f"page: {page}", markup=False, soft_wrap=True)
    return EXIT[tested.outcome]


def _path(out: Path, program: str) -> Path:
    """The judge file of a compilation."""
    from ..judging.registry import JUDGE_SUFFIX, judge_title

    return out / f"{judge_title(program)}{JUDGE_SUFFIX}"


def _spent(told: dict[str, Any]) -> str:
    from ..data import Usage
    from . import render

    sessions = "" if told["sessions"] == 1 else f" in {told['sessions']} sessions"
    return f"spent: {render.spent(Usage(**told['usage']))}, {told['minutes']:.1f} min{sessions}"


def test_table(tested: "Result") -> Any:
    """The judges side by side on the test part, and what reads nothing."""
    from . import render
    from .figures import interval_text, number

    names = [one.name for one in _figures(tested)]
    whole = names if render.console.width >= WIDE else names[:1]
    rows = []
    for row in tested.judges:
        sections = row.evaluation.sections.values()
        found = {
            one.name: interval_text(one) if one.name in whole else number(one.value)
            for part in sections
            for one in part
        }
        tokens = "-" if row.tokens is None else f"{row.tokens:,.0f}"
        rows.append([row.name, *(found.get(name, "-") for name in names), f"{row.calls:.1f}", tokens])
    for one in tested.reference_measures:
        if one.name in ("majority", "longer", "human ceiling"):
            rows.append([one.name, interval_text(one), *[""] * (len(names) - 1), "", ""])
    return render.table([f"test part, n = {tested.n}", *names, "calls", "tokens"], rows)


def _figures(tested: "Result") -> list[Any]:
    """The figures worth a column: those of the compiled judge that every reader asks for."""
    wanted = ("accuracy", "agreement", "kappa", "log-loss", "ECE", "spearman", "kendall")
    sections = tested.compiled.evaluation.sections.values()
    return [one for section in sections for one in section if one.name in wanted]
