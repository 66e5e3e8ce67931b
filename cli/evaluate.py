"""`dicast evaluate`: everything that can be said of a run, and of its difference to others."""

from pathlib import Path
from typing import Any

import click

from ..errors import RunError
from . import FAIL, INCONCLUSIVE, options
from .measured import Requirement, Run, compared, evaluated, measuring_options, parse_requirements

RUN = click.Path(path_type=Path, exists=True)
WORST = {0: 0, INCONCLUSIVE: 1, FAIL: 2}


@click.command("evaluate")
@click.argument("path", type=RUN, metavar="RUN")
@click.option(
    "--against",
    multiple=True,
    type=RUN,
    metavar="RUN",
    help="Another run over the same cases: paired tests. May be given more than once.",
)
@measuring_options
@click.option(
    "--require",
    "requirements",
    multiple=True,
    metavar="NAME>=VALUE",
    callback=parse_requirements,
    help="Exit 0 when the whole interval is at or above the value, 1 when all of it is below, else 2.",
)
@options.json_option
def command(
    path: Path, against: tuple[Path, ...], where: dict[str, str], requirements: list[Requirement], as_json: bool,
    **given: Any,
) -> int:  # fmt: skip
    """Measure a run against people: every figure with its 95 % interval, n and meaning.

    RUN is a run folder of `dicast judge`, or a .jsonl file of verdicts from elsewhere (docs/measuring.md has the
    fields).

    \b
    Example:
      dicast evaluate runs/first
      dicast evaluate runs/fennec --against runs/first
      dicast evaluate runs/first --require "accuracy>=0.7"
    """
    from . import figures, render

    run = Run(path, where)
    evaluation = evaluated(run, **given)
    comparisons = compared([run, *(Run(other, where) for other in against)], given["seed"])
    for other, comparison in zip(against, comparisons, strict=True):
        if not comparison.cases:
            raise RunError(f"{other}: no labelled case has a verdict here and in {path}. Give a run of the same cases.")
    held = [(requirement, *requirement.held(evaluation)) for requirement in requirements]
    if as_json:
        dumped: dict[str, Any] = {"evaluation": evaluation.model_dump(mode="json")}
        if comparisons:
            dumped["comparisons"] = [one.model_dump(mode="json") for one in comparisons]
        if held:
            dumped["required"] = [{"figure": str(one), "code": code, "told": told} for one, code, told in held]
        options.print_json(dumped)
    else:
        parts = [*figures.evaluation(evaluation), *(part for one in comparisons for part in figures.comparison(one))]
        for part in parts:
            render.console.print(part, soft_wrap=isinstance(part, str))
        for requirement, _, told in held:
            render.console.print(f"{requirement}: {told}", markup=False)
    return max((code for _, code, _ in held), key=lambda code: WORST[code], default=0)
