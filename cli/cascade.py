"""`dicast cascade`: judges asked in turn, a cheap one first, at thresholds that are certified together."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import BudgetSpent, DeclarationError
from . import INCONCLUSIVE, STOPPED, options
from .running import default_workers, parse_budget, prepare_models, read_sample
from .wanted import answered_by, has_models

if TYPE_CHECKING:
    from ..optimizers.cascade import CertifiedCascade


@click.command("cascade")
@click.argument("names", nargs=-1, required=True, metavar="FIRST SECOND ...")
@options.case_options
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Judge file [default: compiled/cascade-CASES.judge.json].",
)
@click.option("--lm", help="provider/model for judges that come without, as those of `dicast list` do.")
@click.option(
    "--risk", type=click.FloatRange(0, 0.5, min_open=True), default=0.1, show_default=True,
    help="Disagreement with people that is certified among kept verdicts.",
)  # fmt: skip
@click.option(
    "--delta", type=click.FloatRange(0, 0.25, min_open=True), default=0.05, show_default=True,
    help="Probability of a certificate that does not hold.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of --limit, and of one case of each group."
)
@click.option("--limit", type=click.IntRange(1), help="Take this many cases, drawn with --seed.")
@click.option("--no-ties", is_flag=True, help="Leave out cases that people call a tie.")
@click.option("--workers", type=click.IntRange(1, 256), help="Cases at once [default: 2 local, 16 for a server].")
@click.option("--budget", metavar="LIMITS", help="Stop at limits, as in calls=1000,tokens=2e6,cost=5,minutes=30.")
@options.json_option
def command(
    names: tuple[str, ...], out: Path | None, lm: str | None, limit: int | None, workers: int | None,
    budget: str | None, as_json: bool, **given: Any,
) -> int:  # fmt: skip
    """Certify judges that are asked in turn, the cheapest first, until one is sure enough.

    FIRST SECOND ... are judge files, programs or YAML files. Each judges all labelled cases once; then their thresholds
    are tested together, so that people disagree with at most --risk of the verdicts that are kept. No case may have
    been used to fit anything, neither a judge given here nor the choice of these judges.

    Writes a judge file, and the verdicts beside it: the same command again goes on where it stopped. Exit 0 when
    certified; 2, without a judge file, when these labels cannot show it.

    \b
    Example:
      dicast cascade direct.judge.json fennec.judge.json --cases fresh.jsonl
      dicast judge --judge compiled/cascade-fresh.judge.json --cases new.jsonl
    """
    from ..judging import Cascade
    from ..optimizers.cascade import certify_judges
    from ..optimizers.cost_account import CostAccount
    from ..optimizers.evidence import Evidence, Interrupted, ProgressCallbacks
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    fields = {field.name for field in dataclasses.fields(options.CaseSource)}
    source = options.CaseSource(**{name: given.pop(name) for name in fields & set(given)})
    out, folder = _places(out, source)
    members = [(name, _member(name, lm)) for name in names]
    asked = Cascade([judge for _, judge in members])
    seed = given["seed"] if limit else None
    cases = read_sample(source, folder, limit, seed, skip_bad=given.pop("skip_bad"))
    prepare_models(asked)
    account = CostAccount(folder / "spent.json", parse_budget(budget))
    found = None
    with render.Compiling(quiet=as_json) as told, stop_on_interrupt() as stop, account.session():
        progress = ProgressCallbacks(told.step, told.add, stop)
        evidence = Evidence(folder, account, progress, workers or default_workers(asked))
        try:
            found = certify_judges(members, cases, evidence, **given)
        except Interrupted:
            ended, why = STOPPED, ""
        except BudgetSpent as error:
            ended, why = INCONCLUSIVE, f"{error} The same command goes on where it stopped."
    if found is not None:
        return _finished(found, out, account.total.model_dump(mode="json"), as_json)
    if why:
        click.echo(f"dicast: {why}", err=True)
    return ended


def _places(out: Path | None, source: options.CaseSource) -> tuple[Path, Path]:
    """The judge file, and the folder beside it that keeps the verdicts."""
    from ..judging.registry import JUDGE_SUFFIX

    out = out or Path("compiled") / f"cascade-{source.stem}{JUDGE_SUFFIX}"
    if not out.name.endswith(JUDGE_SUFFIX):
        raise DeclarationError(
            f"--out {out}: a cascade is saved as a judge file. Give a name ending in {JUDGE_SUFFIX}."
        )
    return out, out.with_name(f"{out.name.removesuffix(JUDGE_SUFFIX)}.evidence")


def _member(name: str, lm: str | None) -> Any:
    """One judge with its LMs; those that it was saved with are kept."""
    from ..judging import build

    judge = build(name)
    return judge if has_models(judge) else answered_by(judge, lm)


def _finished(found: "CertifiedCascade", out: Path, spent: dict[str, Any], as_json: bool) -> int:
    """Save the cascade, if it is certified, and say what was shown."""
    from ..judging.judge_file import save
    from . import render

    certificate = found.certificate.model_dump(mode="json")
    if found.judge is not None:
        save(found.judge, out, training={**found.training(), "spent": spent}, certificate=certificate)
    if as_json:
        told = {"judge": None if found.judge is None else str(out), **found.training(), "certificate": certificate}
        options.print_json(told | {"spent": spent})
    else:
        render.console.print(_table(found))
        render.say(found.certificate.summary())
        if found.judge is None:
            older = f" {out} is of an earlier run." if out.exists() else ""
            render.say(f"No judge file was written.{older}", style="yellow")
        else:
            render.say(found.saving())
            render.console.print(f"judge: {out}   dicast show {out}", markup=False, soft_wrap=True)
    return INCONCLUSIVE if found.judge is None else 0


def _table(found: "CertifiedCascade") -> Any:
    from ..optimizers.certificates.certificate import percent
    from . import render
    from .figures import interval_text

    rows = []
    for one in found.members:
        shares = ["-" if found.judge is None else "left out", "-", "-"]
        if not (one.threshold is None or one.reached is None or one.decided is None):
            shares = [f"{one.threshold:g}", percent(one.reached), percent(one.decided)]
        rows.append([one.name, *shares, interval_text(one.accuracy), f"{one.cost:,.1f}"])
    return render.table(["judge", "threshold", "reached", "decides", "accuracy", f"{found.unit} a verdict"], rows)
