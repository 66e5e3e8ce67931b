"""`dicast judge`: run a judge over cases."""

import dataclasses
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ..errors import BudgetSpent
from . import INCONCLUSIVE, STOPPED, options


@click.command("judge")
@click.option("--judge", "name", default="direct", show_default=True, help="A program of `dicast list`.")
@options.case_options
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Run folder [default: runs/JUDGE-CASES].")
@options.lm_option
@click.option("--readout", type=click.Choice(["generate", "probability"]), help="How verdicts are read from the model.")
@click.option("--order", type=click.Choice(["one", "both"]), help="Show pairs in one order or in both.")
@click.option("--branches", type=click.IntRange(1, 10), help="Criteria at most (fennec).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any other parameter of the judge.")
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
    """
    options.load_environment()
    names = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in names})
    return judge_cases(source, **given)


def judge_cases(
    source: options.CaseSource, *, name: str, out: Path | None, lm: str | None, limit: int | None, seed: int | None,
    skip_bad: bool, workers: int | None, budget: str | None, settings: tuple[str, ...], as_json: bool, **structure: Any,
) -> int:  # fmt: skip
    from ..data import Rejects
    from ..data.split import sample
    from ..engines.ledger import Ledger, charge_to
    from ..engines.models import Roles
    from ..engines.runner import RunFolder, read_verdicts, run_cases
    from ..evaluation import Tally, signature
    from ..programs import build
    from ..programs.baselines import Fitted
    from . import render
    from .interrupt import stop_on_interrupt

    roles = Roles.parse(lm) if lm else Roles({})
    given = {key: value for key, value in structure.items() if value is not None}
    judge = build(name, **(given | _settings(settings))).bind(roles)
    digest = source.digest()
    folder = RunFolder(out or Path("runs") / f"{name}-{Path(source.source.replace(':', '-')).name.split('.')[0]}")
    ledger, spent = Ledger(budget=_budget(budget)), None
    with folder.locked(), Rejects(folder.path / "rejects.jsonl") as rejects:
        chosen = sample(source.cases(rejects if skip_bad else None), limit, seed)
        if isinstance(judge, Fitted):
            kept = list(chosen)
            judge, chosen = judge.fit(kept), iter(kept)
        identity = {
            "judge": name, "settings": judge.settings(), "lm": str(roles) if judge.stages() else "none",
            "data": digest, "seed": seed, "limit": limit if seed is not None else None,
            "no_ties": source.no_ties, "no_refusals": source.no_refusals, "aspect": source.aspect,
        }  # fmt: skip
        _prepare(judge)
        done = folder.open({"identity": identity, "cases": source.source, "started": _now(), "versions": _versions()})
        with (
            render.RunProgress(limit or source.count(), done, quiet=as_json) as progress,
            stop_on_interrupt() as stop,
            charge_to(ledger),
        ):
            try:
                run_cases(judge, chosen, folder, workers=workers or _workers(roles), on_verdict=progress.add, stop=stop)
            except BudgetSpent as error:
                spent = error
        tally = Tally()
        for judged in read_verdicts(folder.path):
            tally.add(judged)
        report(folder.path, tally, signature(identity, tally.cases), rejects.count, ledger.stages, as_json)
    if spent is not None:
        render.errors.print(f"dicast: {spent} The run goes on where it stopped.", markup=False)
        return INCONCLUSIVE
    return STOPPED if stop.is_set() else 0


def report(folder: Path, tally: Any, line: str, rejected: int, stages: dict[str, Any], as_json: bool) -> None:
    """Print the measures of the whole run, and what each stage cost this time."""
    from . import render

    if as_json:
        told = {"out": str(folder), "signature": line, "rejected": rejected, **tally.as_dict()}
        options.print_json(told | {"stages": {stage: usage.model_dump() for stage, usage in stages.items()}})
        return
    render.console.print(line, style="dim", soft_wrap=True)
    render.console.print(render.summary(tally))
    render.console.print(f"usage: {render.spent(tally.usage)}")
    for stage, usage in stages.items() if len(stages) > 1 else ():
        render.console.print(f"  {stage}: {render.spent(usage)}, {usage.seconds:.1f} s of model time", style="dim")
    if rejected:
        render.console.print(f"{rejected:,} bad rows are in {folder / 'rejects.jsonl'}")
    render.console.print(f"verdicts: {folder / 'verdicts.jsonl'}")


def _budget(text: str | None) -> Any:
    from ..engines.ledger import Budget

    try:
        return Budget.parse(text or "")
    except ValueError as error:
        raise click.BadParameter(f"--budget {error}") from None


def _settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value that reads as JSON (3, 0.5, true) is that, any other is text."""
    import json

    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"--set {text!r}: write NAME=VALUE.")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings


def _prepare(judge: Any) -> None:
    """Make every model ready before the first case, with a progress bar for a download."""
    from ..engines.cache import configure_cache
    from ..engines.models import prepare
    from . import render

    configure_cache()
    for model in {stage.model for stage in judge.stages()}:
        with render.download_progress() as progress:
            prepare(model, progress)


def _workers(roles: Any) -> int:
    """A local model is held by the processor, a server by the network."""
    return 2 if roles["judge"].startswith("local/") else 16


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("dicast", "dspy", "litellm", "pydantic")}
