"""`dicast compile`: a program and labelled cases to a judge that agrees with those people better, with proof."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import BudgetSpent
from . import INCONCLUSIVE, STOPPED, options
from .running import default_workers, parse_budget, parse_settings, prepare_models
from .wanted import answered_by, has_models

if TYPE_CHECKING:
    from ..optimizers.compile import Compiled, Compiler
    from ..optimizers.recipe import Baseline
    from ..optimizers.result import Result
    from ..programs import Judge

METHODS = ("none", "bootstrap", "random-search", "miprov2", "gepa", "simba")


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
@click.option("--objective", help="What is made better [default: accuracy of pairs and choices, Spearman of texts].")
@click.option("--prompts", type=click.Choice(METHODS), help="Optimise prompts by this method of DSPy.")
@click.option("--prompt-lm", help="The model that proposes prompts [default: the judge's].")
@click.option("--trials", type=click.IntRange(0), help="Structures to try at most; 0 leaves the search out.")
@click.option("--prefer", type=click.Choice(["best", "cheap", "knee"]), help="Which structure of the front to take.")
@click.option("--risk", type=click.FloatRange(0, 0.5, min_open=True), help="Disagreement that is certified.")
@click.option("--seed", type=int, help="Of splits, folds, and searches.")
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
    compiled judge is significantly better on the test part, 2 when the labels cannot show that.

    \b
    Example:
      dicast compile direct --cases labels.jsonl
      dicast compile fennec --cases labels.jsonl --trials 12 --budget minutes=60
      dicast judge --judge compiled/direct-labels/direct.judge.json --cases new.jsonl
    """
    from ..data.split import sample
    from ..errors import RunError
    from ..optimizers.compile import Compiler, TooFewLabels
    from ..optimizers.evidence import Interrupted, Telling
    from ..programs import build
    from ..programs.registry import title
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    names = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in names & set(given)})
    given.pop("skip_bad")
    recipe = _recipe(recipe_file, given)
    out = out or Path("compiled") / f"{title(program)}-{source.stem}"
    if resume and not (out / "compile.json").exists():
        raise RunError(f"--resume: {out} holds no compilation. Leave --resume out to begin one.")
    judge = answered_by(build(program, **parse_settings(settings)), lm)
    baseline = _baseline(recipe.baseline, judge)
    prepare_models(judge)
    cases = list(sample(source.cases(), limit, recipe.seed if limit else None))
    with render.Compiling(quiet=as_json) as told, stop_on_interrupt() as stop:
        try:
            compiler = Compiler(
                judge, cases, out, recipe, baseline=baseline, workers=workers or default_workers(judge),
                budget=parse_budget(budget), telling=Telling(told.step, told.add, stop),
            )  # fmt: skip
        except TooFewLabels as error:
            render.errors.print(f"dicast: {error}", markup=False)
            return INCONCLUSIVE
        try:
            return _finished(compiler.run(), out, program, as_json)
        except Interrupted:
            _kept(compiler, out, program)
            return STOPPED
        except BudgetSpent as error:
            render.errors.print(f"dicast: {error} The compilation goes on where it stopped.", markup=False)
            _kept(compiler, out, program)
            return INCONCLUSIVE


def _recipe(file: Path | None, given: dict[str, Any]) -> Any:
    """The recipe's file, or the defaults, with what the command line says."""
    from ..optimizers.recipe import read_recipe, recipe

    changed = {name: value for name, value in given.items() if value is not None}
    return read_recipe(file, **changed) if file else recipe("compile", changed)


def _baseline(wanted: "Baseline | None", judge: Any) -> Any:
    """The plain judge beside the judge, with the model of its first stage if it comes with none; None where it is that
    judge itself, or asks a model and the judge does not."""
    from ..programs import build

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


def _saved(judge: "Judge", training: dict[str, Any], out: Path, program: str) -> Path:
    from ..programs.judgefile import save
    from ..programs.registry import title

    path = out / f"{title(program)}.judge.json"
    save(judge, path, training=training, certificate=training.get("certificate"))
    return path


def _kept(compiler: "Compiler", out: Path, program: str) -> None:
    """Save the best so far of a compilation that was stopped."""
    from . import render

    best = compiler.best_so_far()
    if best is not None:
        path = _saved(*best, out, program)
        render.errors.print(f"best so far, not tested: {path}", markup=False, soft_wrap=True)


def _finished(compiled: "Compiled", out: Path, program: str, as_json: bool) -> int:
    """Save the judge and say what was shown."""
    from . import render
    from .report import write_page

    tested = compiled.result
    path = _saved(compiled.judge, compiled.training, out, program)
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
        render.console.print(tested.told, markup=False)
        if compiled.certificate:
            render.console.print(compiled.certificate.told(), markup=False)
        if tested.kept:
            render.console.print(tested.kept.told(), markup=False)
        render.console.print(_spent(compiled.training["spent"]), markup=False)
        render.console.print(f"judge: {path}   dicast show {path}", markup=False, soft_wrap=True)
        if page:
            render.console.print(f"page: {page}", markup=False, soft_wrap=True)
    return 0 if tested.outcome == "improved" else INCONCLUSIVE


def _spent(told: dict[str, Any]) -> str:
    from ..data import Usage
    from . import render

    sittings = "" if told["sittings"] == 1 else f" in {told['sittings']} sittings"
    return f"spent: {render.spent(Usage(**told['usage']))}, {told['minutes']:.1f} min{sittings}"


def test_table(tested: "Result") -> Any:
    """The judges side by side on the test part, and what reads nothing."""
    from . import render
    from .figures import figure

    names = [one.name for one in _figures(tested)]
    rows = []
    for row in tested.rows:
        found = {one.name: figure(one) for section in row.evaluation.sections.values() for one in section}
        tokens = "-" if row.tokens is None else f"{row.tokens:,.0f}"
        rows.append([row.name, *(found.get(name, "-") for name in names), f"{row.calls:.1f}", tokens])
    for one in tested.baselines:
        if one.name in ("majority", "longer", "one person"):
            rows.append([one.name, figure(one), *[""] * (len(names) - 1), "", ""])
    return render.table([f"test part, n = {tested.n}", *names, "calls", "tokens"], rows)


def _figures(tested: "Result") -> list[Any]:
    """The figures worth a column: those of the compiled judge that every reader asks for."""
    wanted = ("accuracy", "agreement", "kappa", "log-loss", "ECE", "spearman", "kendall")
    sections = tested.row("compiled").evaluation.sections.values()
    return [one for section in sections for one in section if one.name in wanted]
