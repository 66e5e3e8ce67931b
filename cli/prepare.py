"""`dicast prepare`: rewrite cases before they are judged, or build them out of a whole file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import INCONCLUSIVE, STOPPED, options, output

if TYPE_CHECKING:
    from ..workflows import PrepareRun


EXIT = {"complete": 0, "failures": 0, "budget": INCONCLUSIVE, "stopped": STOPPED}


def _preparations() -> list[str]:
    from ..preparation.registry import PREPARATIONS

    return PREPARATIONS.names()


@click.command("prepare")
@click.option(
    "--with",
    "names",
    required=True,
    type=options.NameList(_preparations, "preparations"),
    help="One of these, or several with commas.",
)
@options.case_options
@click.option(
    "--out",
    required=True,
    type=options.OutPath(path_type=Path, dir_okay=False),
    help="The .jsonl file of prepared cases.",
)
@options.lm_option
@options.set_option("A parameter, as in words=100.")
@options.limit_options
@options.seed_option
@options.pace_options
@options.budget_option
@click.option(
    "--min-coverage",
    type=options.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    help="Exit 3 where a smaller proportion of the cases could be prepared.",
)
@options.json_option
def command(names: str, out: Path, min_coverage: float, as_json: bool, **values: Any) -> int:
    """Rewrite cases before they are judged, or build cases out of a whole file.

    anonymise and summarise replace names and shorten long texts, so that a model cannot know a text by heart; titles
    asks the model which texts it knows. Running again continues where it stopped and tries failed cases again. Cases
    that failed are in OUT.rejects.jsonl with the reason. Exit 3 then, unless --min-coverage allows it. Anonymise
    first: a summary must not bring names back.

    histories makes cases with a reviewer's history of rows of one review each (reviewer, text, review, score), or of
    one choice each (reviewer, response_a, response_b, label); OUT.train.jsonl and OUT.validation.jsonl hold different
    reviewers. pairs samples pairs of single scored texts. Both ask no model, draw with --seed, come first in --with,
    and write OUT whole. dicast list NAME prints the parameters for --set.

    \b
    Example:
      dicast prepare --with anonymise,summarise --cases stories.jsonl --out prepared.jsonl
      dicast prepare --with histories --cases reviews.csv --scale 1..10 --set k=3 --seed 1 --out cases.jsonl
      dicast judge --judge perse --cases cases.validation.jsonl
      dicast prepare --with pairs --cases summeval --set n=200 --seed 1 --out pairs.jsonl
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    values["lm"] = options.find_lm(values["lm"])
    with render.PrepareProgress(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = workflows.prepare(names, source, out, progress=progress, stop=stop, **values)
    _print(result, as_json)
    if result.status == "budget":
        output.error(f"dicast: {result.message} The same command continues where it stopped.")
    if result.status in ("complete", "failures"):
        result.require_coverage(min_coverage)
    return EXIT[result.status]


def _print(result: "PrepareRun", as_json: bool) -> None:
    from ..data import Usage
    from ..data.counting import cases_text
    from . import render

    total = sum(result.usage.values(), Usage())
    if as_json:
        counts = {"out": str(result.out), "prepared": result.prepared, "cases": result.cases}
        counts |= {"failed": result.failed, "bad_rows": result.bad_rows}
        stages = {stage: usage.model_dump() for stage, usage in result.usage.items()}
        options.print_json(counts | _built(result) | {"usage": total.model_dump(), "stages": stages})
        return
    render.console.print(f"prepared {cases_text(result.prepared)}; {result.out} holds {result.cases:,}")
    if result.built is not None:
        _print_built(result)
    if result.usage or result.built is None:
        render.console.print(f"usage: {render.spent(total)}")
    for line in render.stage_lines(result.usage):
        render.console.print(line, style="dim")
    if result.failed:
        render.console.print(f"{cases_text(result.failed)} failed: see {result.rejects}; run again to retry them")
    if result.bad_rows:
        render.console.print(f"{result.bad_rows:,} bad rows are in {result.bad_rows_path}")


def _built(result: "PrepareRun") -> dict[str, Any]:
    """What a preparation of the whole set made, as JSON; empty for any other preparation."""
    if result.built is None:
        return {}
    files = {name: str(path) for name, path in result.files.items()}
    built = result.built
    return {
        "counts": dict(built.counts), "left_out": dict(built.left_out), "parts": dict(built.parts), "files": files,
    }  # fmt: skip


def _print_built(result: "PrepareRun") -> None:
    """What was read and left out, a line for each part with its figures, and the files of the parts."""
    from . import render

    built = result.built
    assert built is not None
    render.console.print(", ".join(f"{count:,} {name}" for name, count in built.counts.items()), soft_wrap=True)
    for reason, count in built.left_out.items():
        render.console.print(f"left out: {count:,} {reason}", soft_wrap=True)
    names = list(next(iter(built.parts.values()), {}))
    rows = [[part, *(f"{figures[name]:,g}" for name in names)] for part, figures in built.parts.items()]
    render.console.print(render.table(["", *names], rows))
    for name, path in result.files.items():
        render.console.print(f"{name}: {path}", soft_wrap=True)
