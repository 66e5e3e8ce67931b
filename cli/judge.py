"""`dicast judge`: run a judge over cases."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import BudgetSpent
from . import INCONCLUSIVE, STOPPED, options
from .running import default_workers, now, parse_budget, parse_settings, prepare_models, versions
from .wanted import Wanted

if TYPE_CHECKING:
    from ..evaluation import Evaluation


@click.command("judge")
@click.option(
    "--judge",
    "name",
    default="direct",
    show_default=True,
    help="A program of `dicast list`, a .yaml file of yours, or a .judge.json file.",
)
@options.case_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Run folder [default: runs/JUDGE-CASES].")
@options.lm_option
@click.option("--readout", type=click.Choice(["generate", "probability"]), help="How verdicts are read from the model.")
@click.option("--order", type=click.Choice(["one", "both"]), help="Show pairs in one order or in both.")
@click.option("--branches", type=click.IntRange(1, 10), help="Criteria at most (fennec).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any other parameter of the judge.")
@click.option(
    "--learn",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="RUN",
    help="Learn from a labelled run which criteria decide (fennec).",
)
@click.option("--panel", multiple=True, metavar="LM", help="A member of a panel of this judge; give it more than once.")
@click.option("--samples", type=click.IntRange(1, 100), default=1, help="Judge each case this often; a panel as well.")
@click.option(
    "--pool",
    type=click.Choice(["mean", "median", "majority", "probability"]),
    default="majority",
    show_default=True,
    help="How a panel's verdicts become one.",
)
@click.option("--explain", metavar="CASE", help="Judge the one case of this id and print the whole judgment.")
@click.option(
    "--limit", type=click.IntRange(1), help="Judge this many cases: the first, or with --seed a random sample."
)
@click.option("--seed", type=int, help="Draw the cases of --limit at random with this seed.")
@click.option("--no-ties", is_flag=True, help="Leave out cases that people call a tie.")
@click.option("--no-refusals", is_flag=True, help="Leave out cases with a response that declines to answer.")
@click.option("--workers", type=click.IntRange(1, 256), help="Cases at once [default: 2 local, 16 for a server].")
@click.option("--budget", metavar="LIMITS", help="Stop at limits, as in calls=1000,tokens=2e6,cost=5,minutes=30.")
@options.json_option
def command(**given: Any) -> int:
    """Judge cases with a program and write a run folder; running again goes on where it stopped.

    \b
    Example:
      dicast judge --judge direct --cases pairs.jsonl --out runs/first
      dicast judge --judge fennec --cases pandalm --no-ties --limit 50 --seed 1 \\
                   --lm openai/gpt-4o-mini --branches 3
      dicast judge --judge fennec --cases pairs.jsonl --explain 17
      dicast judge --judge tone.judge.json --cases pairs.jsonl --out runs/tone
      dicast judge --judge direct --cases pairs.jsonl --panel openai/gpt-4o-mini --panel anthropic/claude-haiku-4-5
    """
    options.load_environment()
    names = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in names})
    structure = {name: given.pop(name) for name in ("readout", "order", "branches")}
    settings = {name: value for name, value in structure.items() if value is not None}
    settings |= parse_settings(given.pop("settings"))
    asked = {name: given.pop(name) for name in ("name", "lm", "learn", "panel", "samples", "pool")}
    return judge_cases(source, wanted=Wanted(**asked, settings=settings), **given)


def judge_cases(
    source: options.CaseSource, *, wanted: Wanted, out: Path | None, limit: int | None, seed: int | None,
    skip_bad: bool, workers: int | None, budget: str | None, explain: str | None, as_json: bool,
) -> int:  # fmt: skip
    from ..data import Rejects
    from ..data.split import sample
    from ..engines.batch import RunFolder, read_verdicts, run_cases
    from ..engines.ledger import Ledger, charge_to
    from ..evaluation import evaluate, run_arrays
    from ..judging import FittedJudge
    from . import render
    from .explain import explain_case
    from .interrupt import stop_on_interrupt

    judge = wanted.built()
    if explain is not None:
        return explain_case(judge, source, explain, as_json)

    digest = source.digest()
    folder = RunFolder(out or Path("runs") / f"{wanted.title}-{source.stem}")
    ledger, spent = Ledger(budget=parse_budget(budget)), None
    with folder.locked(), Rejects(folder.path / "rejects.jsonl") as rejects:
        chosen = sample(source.cases(rejects if skip_bad else None), limit, seed)
        if isinstance(judge, FittedJudge):
            kept = list(chosen)
            judge, chosen = judge.fit(kept), iter(kept)
        identity = wanted.identity(judge) | {
            "data": digest, "seed": seed, "limit": limit if seed is not None else None,
            "no_ties": source.no_ties, "no_refusals": source.no_refusals, "aspect": source.aspect,
            **({"max_chars": source.max_chars} if source.max_chars else {}),
        }  # fmt: skip
        prepare_models(judge)
        done = folder.open(
            {
                "identity": identity, "source": source.told(), "scale": judge.score_scale,
                "started": now(), "versions": versions(),
            }
        )  # fmt: skip
        with (
            render.RunProgress(limit or source.count(), done, quiet=as_json) as progress,
            stop_on_interrupt() as stop,
            charge_to(ledger),
        ):
            try:
                run_cases(
                    judge, chosen, folder, workers=workers or default_workers(judge), on_verdict=progress.add, stop=stop
                )
            except BudgetSpent as error:
                spent = error
        evaluation = evaluate(run_arrays(read_verdicts(folder.path), judge.score_scale), identity)
        report(folder.path, evaluation, rejects.count, ledger.stages, as_json)
    if spent is not None:
        render.errors.print(f"dicast: {spent} The run goes on where it stopped.", markup=False)
        return INCONCLUSIVE
    return STOPPED if stop.is_set() else 0


def report(folder: Path, evaluation: "Evaluation", rejected: int, stages: dict[str, Any], as_json: bool) -> None:
    """Print the measures of the whole run, and what each stage cost this time."""
    from . import render

    if as_json:
        summary = {"out": str(folder), "rejected": rejected, "evaluation": evaluation.model_dump(mode="json")}
        options.print_json(summary | {"stages": {stage: usage.model_dump() for stage, usage in stages.items()}})
        return
    render.console.print(evaluation.signature, style="dim", soft_wrap=True)
    render.console.print(render.summary(evaluation))
    render.console.print(f"usage: {render.spent(evaluation.usage)}")
    for stage, usage in stages.items() if len(stages) > 1 else ():
        render.console.print(f"  {stage}: {render.spent(usage)}, {usage.seconds:.1f} s of model time", style="dim")
    if rejected:
        render.console.print(f"{rejected:,} bad rows are in {folder / 'rejects.jsonl'}")
    render.console.print(f"verdicts: {folder / 'verdicts.jsonl'}")
    if evaluation.labelled:
        render.console.print(f"more: dicast evaluate {folder}   dicast report {folder}", style="dim", markup=False)
