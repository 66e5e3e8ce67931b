"""`dicast experiment`: the experiments of the papers, and a user's own, run with any LM."""

from pathlib import Path
from typing import Any

import click

from . import INCONCLUSIVE, STOPPED, options, output

EXIT = {"complete": 0, "dry run": 0, "budget": INCONCLUSIVE, "stopped": STOPPED}


def parse_sets(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for name, equals, value in pairs:
        if not (name and equals and value):
            raise click.BadParameter(f"{name + equals + value!r}: write SET=FILE, as in per-mpst=my.jsonl.")
    return {name.strip(): value for name, _, value in pairs}


own_sets_option = click.option(
    "--cases",
    multiple=True,
    callback=parse_sets,
    metavar="SET=FILE",
    help="Judge this file, or another set, in place of a set of the experiment. May be given more than once.",
)


@click.group("experiment")
def command() -> None:
    """List, show and run experiments: printed figures of papers beside those of your LM.

    \b
    Example:
      dicast experiment list
      dicast experiment show fennec-table-3
      dicast experiment run fennec-table-3 --lm openai/gpt-4o-mini --limit 50 --seed 1 --dry-run
      dicast experiment run fennec-table-3 --lm openai/gpt-4o-mini --limit 50 --seed 1 --budget cost=2
    """


@command.command("list")
@options.data_option
@options.json_option
def list_experiments(root: Path | None, as_json: bool) -> None:
    """Every experiment with its paper, its place there, and its sets, at hand or missing."""
    from ..workflows.experiment_overview import overview
    from . import render

    rows = overview(root)
    if as_json:
        options.print_json([row.model_dump(mode="json") for row in rows])
        return
    for row in rows:
        render.console.print(render.heading(row.name, row.title))
        for line in render.overview_lines(row):
            render.console.print(render.indented(line), style="dim")


@command.command("show")
@click.argument("name", shell_complete=options.completion.experiments)
@options.data_option
@options.json_option
def show_experiment(name: str, root: Path | None, as_json: bool) -> None:
    """What an experiment runs and measures, the printed figures, and what differs from the paper.

    NAME is one of `dicast experiment list`, or a .yaml file.
    """
    from ..experiments import find_experiment
    from ..workflows.experiment_overview import overview_of
    from . import render

    experiment = find_experiment(name)
    row = overview_of(experiment, root)
    if as_json:
        content = experiment.content.model_dump(mode="json", exclude_defaults=True)
        options.print_json(row.model_dump(mode="json") | {"file": content})
        return
    for part in render.experiment(experiment, row):
        render.console.print(part)


@command.command("run")
@click.argument("name", shell_complete=options.completion.experiments)
@click.option(
    "--lm",
    "models",
    multiple=True,
    shell_complete=options.completion.lms,
    help="provider/model for all stages, or role=provider/model,...; several for a line each "
    "[default: $DICAST_LM, else of dicast.toml, else local/qwen2.5-coder-1.5b].",
)
@click.option("--out", type=options.FOLDER, help="Folder of the experiment [default: runs/experiments/NAME].")
@options.limit_options
@options.seed_option
@options.data_option
@own_sets_option
@click.option("--only", multiple=True, metavar="SET", help="Judge only this set. May be given more than once.")
@click.option("--dry-run", is_flag=True, help="Only estimate calls, tokens and cost; no model is called.")
@options.budget_option
@options.pace_options
@options.trust_option
@options.json_option
def run_experiment(name: str, models: tuple[str, ...], as_json: bool, cases: dict[str, str], **values: Any) -> int:
    """Run every run of an experiment that is not complete, then print its figures beside the printed ones.

    NAME is one of `dicast experiment list`, or a .yaml file. The same command continues an interrupted experiment.
    Exit 0 when every run of the sets at hand is complete, 2 when the budget is used up, 3 when no set is at hand or
    nothing was scored.

    \b
    Example:
      dicast experiment run fennec-table-3 --lm openai/gpt-4o-mini --limit 50 --seed 1
      dicast experiment run mine.yaml --lm openai/gpt-4o-mini --lm anthropic/claude-haiku-4-5
    """
    from ..workflows.experiment_lines import check_lines
    from ..workflows.experiments import experiment, page_of
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    models = models or tuple(filter(None, [options.find_lm(None)]))
    with render.ExperimentProgress(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = experiment(name, lm=models or None, cases=cases, progress=progress, stop=stop, **values)
    if as_json:
        options.print_json(result.model_dump(mode="json"))
    else:
        for part in render.experiment_result(result):
            render.console.print(part, soft_wrap=isinstance(part, str))
        if result.status != "dry run":
            render.console.print(f"page: {page_of(result.name, values['out'])}", soft_wrap=True)
    if result.status in ("budget", "stopped"):
        message = result.message or "stopped."
        output.error(f"dicast: {message} The same command continues where it stopped.")
    if result.status == "complete":
        check_lines(result.lines)
    return EXIT[result.status]
