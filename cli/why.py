"""`dicast judge --why`: its options, the pass over the run, and what it prints."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeclarationError
from . import options
from .option_types import together

if TYPE_CHECKING:
    from ..workflows import CaseSource, JudgeSpec, Run
    from ..workflows.memory_rows import StoredRows
    from ..workflows.reasons import WhyRun

why_options = together(
    click.option(
        "--why",
        "which",
        type=click.Choice(["all", "unsure", "wrong"]),
        help="After the verdicts, write a reason for each, for those that the judge is unsure of, or for those that "
        "differ from the label, into reasons.jsonl of the run folder (docs/why.md).",
    ),
    click.option(
        "--why-lm",
        metavar="LM",
        shell_complete=options.completion.lms,
        help="The model that writes the reasons [default: the judge's first].",
    ),
    click.option(
        "--why-below",
        type=options.FloatRange(0, 1),
        metavar="CERTAINTY",
        help="For --why unsure of a judge without a certified threshold: the certainty under which a verdict is unsure "
        "[default: 0.8].",
    ),
)


def take_why(values: dict[str, Any], explain: str | None) -> dict[str, Any]:
    """The options of --why as arguments of `workflows.why`, taken out; empty without --why.

    Raises:
        DeclarationError: --why-lm or --why-below without --why, or --why beside --explain.
    """
    which, lm, below = (values.pop(name) for name in ("which", "why_lm", "why_below"))
    if which is None:
        if lm is not None or below is not None:
            name = "--why-lm" if lm is not None else "--why-below"
            raise DeclarationError(f"{name}: is for the reasons of --why, which is not there. Add --why all.")
        return {}
    if explain is not None:
        raise DeclarationError("--why: writes reasons into a run folder, and --explain judges one case without any.")
    return {"which": which, "lm": lm, **({} if below is None else {"below": below})}


@contextmanager
def shared_budget(values: dict[str, Any], chosen: dict[str, Any]) -> Iterator[None]:
    """With --why, verdicts and reasons share the budget of the command, which is taken out."""
    from ..engines.ledger import Ledger, charge_to
    from ..workflows.preflight import as_budget

    if not chosen:
        yield
        return
    with charge_to(Ledger(as_budget(values.pop("budget")))):
        yield


def write_reasons(
    run: "Run",
    judge: "JudgeSpec",
    source: "CaseSource | StoredRows",
    chosen: dict[str, Any],
    values: dict[str, Any],
    as_json: bool,
) -> "WhyRun":
    """The pass that writes reasons, with its bar; signals end it as they end a run."""
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    cases = source if isinstance(source, workflows.CaseSource) else None  # rows of memory are in the run folder
    lm = chosen["lm"] or (judge.panel[0] if judge.panel else judge.lm)
    shared = {name: values[name] for name in ("workers", "timeout", "in_flight", "trust", "skip_bad")}
    with (
        render.PrepareProgress(quiet=as_json, doing="explaining", done="explained") as progress,
        stop_on_interrupt(progress) as stop,
    ):
        return workflows.why(run, **(chosen | {"lm": lm}), cases=cases, progress=progress, stop=stop, **shared)


def as_dict(result: "WhyRun") -> dict[str, Any]:
    """The pass as JSON."""
    names = (
        "which",
        "status",
        "chosen",
        "explained",
        "written",
        "reasons",
        "empty",
        "disagreeing",
        "unchecked",
        "lost",
        "failed",
    )
    stages = {stage: usage.model_dump() for stage, usage in result.usage.items()}
    return {"out": str(result.path), **{name: getattr(result, name) for name in names}, "stages": stages}


def print_reasons(result: "WhyRun") -> None:
    """What was written, what a reader must know of it, and what it cost."""
    from ..data import Usage
    from . import render

    show = render.console.print
    kinds = {"all": "", "unsure": "unsure ", "wrong": "wrong "}
    show(
        f"reasons: {result.reasons:,} of {result.chosen:,} {kinds[result.which]}verdicts, {result.written:,} of them "
        f"new: {result.path}",
        soft_wrap=True,
    )
    if result.explained:
        show(f"{result.explained:,} were not asked about: their judge has written why")
    if result.empty:
        show(
            f"{result.empty:,} are empty: twice the model wrote nothing but the verdict, or copied what it was shown; "
            "try a stronger model (--why-lm)",
            style="yellow",
        )
    if result.disagreeing:
        show(
            f"{result.disagreeing:,} speak for another verdict, also after a second try; they are marked",
            style="yellow",
        )
    if result.unchecked:
        show(f"{result.unchecked:,} could not be checked")
    if result.lost:
        show(f"{result.lost:,} have none: their case is no longer there, or has changed", style="yellow")
    if result.failed:
        show(f"{result.failed:,} failed: see {result.rejects}; run again to retry them", style="yellow")
    show(f"usage of the reasons: {render.spent(sum(result.usage.values(), Usage()))}", style="dim")
