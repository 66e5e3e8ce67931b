"""`dicast cascade`: judges called in turn, the cheapest first, at thresholds that are certified together."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import INCONCLUSIVE, STOPPED, options, output

if TYPE_CHECKING:
    from ..optimizers.cascade import CertifiedCascade
    from ..workflows import CascadeRun

EXIT = {"stopped": STOPPED, "budget": INCONCLUSIVE}


@click.command("cascade")
@click.argument("names", nargs=-1, required=True, metavar="FIRST SECOND ...", shell_complete=options.completion.judges)
@options.case_options
@click.option(
    "--out",
    type=options.OutPath(path_type=Path, dir_okay=False),
    help="Judge file [default: compiled/cascade-CASES.judge.json].",
)
@click.option(
    "--lm",
    shell_complete=options.completion.lms,
    help="provider/model for judges that name no model, such as those of `dicast list`.",
)
@click.option(
    "--risk", type=options.FloatRange(0, 0.5, min_open=True), default=0.1, show_default=True,
    help="Disagreement with people that is certified among accepted verdicts.",
)  # fmt: skip
@click.option(
    "--delta", type=options.FloatRange(0, 0.25, min_open=True), default=0.05, show_default=True,
    help="Probability of a certificate that does not hold.",
)  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --limit or --limit-groups.")
@click.option("--limit", type=click.IntRange(1), help="Take this many cases, sampled with --seed.")
@options.limit_groups_option
@options.selection_options
@options.trust_option
@options.pace_options
@options.budget_option
@options.json_option
def command(names: tuple[str, ...], as_json: bool, **values: Any) -> int:
    """Certify judges that are called in turn, the cheapest first, until one is sure enough.

    FIRST SECOND ... are judge files, programs or YAML files. Each judges all labelled cases once; then their thresholds
    are tested together, so that people disagree with at most --risk of the accepted verdicts. No case may have
    been used to fit anything, neither a judge given here nor the choice of these judges.

    Writes a judge file, and the verdicts beside it: the same command continues where it stopped. Exit 0 when
    certified; 2, without a judge file, when these labels cannot show it.

    \b
    Example:
      dicast cascade direct.judge.json fennec.judge.json --cases fresh.jsonl
      dicast judge --judge compiled/cascade-fresh.judge.json --cases new.jsonl
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    values["lm"] = options.find_lm(values["lm"])
    with render.Compiling(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        run = workflows.cascade(names, source, progress=progress, stop=stop, **values)
    if run.result is not None:
        return _print(run, as_json)
    if run.message:
        output.error(f"dicast: {run.message} The same command continues where it stopped.")
    return EXIT[run.status]


def _print(run: "CascadeRun", as_json: bool) -> int:
    """Print what was shown; the exit code."""
    from . import render

    assert run.result
    result, is_certified = run.result, run.result.judge is not None
    if as_json:
        about = {"judge": str(run.out) if is_certified else None, **result.training()}
        options.print_json(about | {"certificate": result.certificate.model_dump(mode="json"), "spent": run.spent})
        return 0 if is_certified else INCONCLUSIVE
    render.console.print(_table(result))
    render.say(result.certificate.summary())
    if is_certified:
        render.say(result.saving())
        render.console.print(f"judge: {run.out}   dicast show {run.out}", soft_wrap=True)
        return 0
    older = f" {run.out} is of an earlier run." if run.out.exists() else ""
    render.say(f"No judge file was written.{older}", style="yellow")
    return INCONCLUSIVE


def _table(result: "CertifiedCascade") -> Any:
    """A line per judge: its threshold, the proportions it reaches and decides, accuracy and cost."""
    from ..optimizers.certificates.wording import percent
    from . import render

    rows = []
    for member in result.members:
        proportions = ["-" if result.judge is None else "left out", "-", "-"]
        if not (member.threshold is None or member.reached is None or member.decided is None):
            proportions = [f"{member.threshold:g}", percent(member.reached), percent(member.decided)]
        rows.append([member.name, *proportions, render.interval_text(member.accuracy), f"{member.cost:,.1f}"])
    return render.table(["judge", "threshold", "reached", "decides", "accuracy", f"{result.unit} a verdict"], rows)
