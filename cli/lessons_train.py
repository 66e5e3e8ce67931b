"""`dicast lessons train`: a student of a training set, without a judge that it is compared with."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import STOPPED, options, output
from .compile import presets
from .distill import export_option, exported_places, train_option

if TYPE_CHECKING:
    from ..workflows import TrainingRun


@click.command("train")
@click.argument("set_folder", metavar="SET", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--base",
    required=True,
    shell_complete=options.completion.bases,
    help="The model to train: of dicast models list, a folder, .gguf, OWNER/NAME.",
)
@click.option(
    "--preset",
    type=options.NameChoice(presets, "presets"),
    help="Of the training [default: cpu; cpu-small where rows teach words].",
)
@train_option
@click.option("--out", type=options.FOLDER, help="Folder of the training [default: trained/SET].")
@export_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of adapters and order of rows.")
@click.option("--dry-run", is_flag=True, help="Only check everything and estimate; nothing is trained.")
@options.json_option
def command(set_folder: Path, as_json: bool, **values: Any) -> int:
    """Train a student on SET, a folder of dicast lessons set or histories.

    The student is a model for any stage of any judge, as of --lm; its model card has recipe, figures and data card.
    The same command continues after Ctrl-C or a kill. To train a judge's student and have people's labels accept it,
    use dicast distill.

    \b
    Example:
      dicast lessons train set --base smollm2-135m --preset cpu-small --dry-run
      dicast lessons train reverse-set --base smollm2-135m --out trained/reverse
      dicast lessons bridge judgelm_train_100k.jsonl --format judgelm --limit 20 \
        --lm criteria=transformers/trained/reverse/student,judgment=openai/gpt-4o
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    with render.Compiling(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = workflows.train_student(set_folder, progress=progress, stop=stop, **values)
    if as_json:
        _print_json(result)
    elif result.estimate is not None:
        _print_estimate(result)
    elif result.status == "complete":
        _print_student(result)
    if result.status == "stopped":
        output.error("dicast: stopped. The same command continues after the last checkpoint.")
        return STOPPED
    return 0


def _print_estimate(run: "TrainingRun") -> None:
    from . import render

    estimate = run.estimate
    assert estimate is not None
    longer = f", {estimate.too_long:,} left out as too long" if estimate.too_long else ""
    render.say(f"preset {run.preset}: {estimate.rows:,} rows{longer}, about {estimate.steps:,} steps")
    minutes = "unknown" if estimate.minutes is None else f"{estimate.minutes:,.1f}"
    render.say(f"{estimate.tokens:,} tokens, {estimate.learnt_tokens:,} of them learnt; minutes: {minutes}")
    render.say(f"memory: {estimate.memory}")
    for note in estimate.notes:
        render.say(note)


def _print_student(run: "TrainingRun") -> None:
    from ..distillation.trained_model import figures_text
    from . import render

    render.say(f"preset {run.preset}: {figures_text(run.figures or {})}")
    render.console.print(f"student: --lm {run.model}", soft_wrap=True)
    render.console.print(f"card: {run.card}", soft_wrap=True)
    if run.exported:
        for line in exported_places(run.exported):
            render.console.print(line, soft_wrap=True, markup=False, highlight=False)


def _print_json(run: "TrainingRun") -> None:
    from .distill import exported_json

    options.print_json(
        {
            "out": str(run.folder),
            "status": run.status,
            "preset": run.preset,
            "estimate": run.estimate.model_dump(mode="json") if run.estimate else None,
            "model": run.model or None,
            "training": dict(run.figures) if run.figures else None,
            "card": str(run.card) if run.card else None,
            "export": exported_json(run.exported) if run.exported else None,
        }
    )
