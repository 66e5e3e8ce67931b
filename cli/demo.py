"""`dicast demo`: the main job on the built-in set with a local model, before and after, and two whole judgments."""

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import DeclarationError
from . import options

if TYPE_CHECKING:
    from ..data import Case
    from ..evaluation import Evaluation

FENNEC_CASE = "authored/002"  # a short request with one response that is plainly wrong
FENNEC_BRANCHES = 2


@click.command("demo")
@options.lm_option
@click.option(
    "--out", type=options.OutPath(path_type=Path, file_okay=False), default=Path("runs/demo"), show_default=True
)
@click.option("--limit", type=click.IntRange(1), help="Judge only the first pairs.")
@options.json_option
@click.option("--fresh", "starts_over", is_flag=True, help="Delete an earlier demo in --out and judge again.")
def command(lm: str | None, out: Path, limit: int | None, starts_over: bool, as_json: bool) -> None:
    """Judge 48 built-in pairs with a local model, asked once and then read from its probabilities in both orders.

    Fetches the model (1.1 GB) the first time. Then it shows one whole Fennec judgment with a correction, and one
    personalised PREF judgment. What was judged before is not judged again.

    \b
    Example:
      dicast demo
      dicast demo --lm openai/gpt-4o-mini
    """
    from ..data import read_cases
    from ..engines.model_string import DEFAULT_MODEL
    from ..engines.models import prepare
    from . import render

    options.load_environment()
    model = lm or DEFAULT_MODEL
    started = time.monotonic()
    if starts_over and out.exists():
        import shutil

        shutil.rmtree(out)
    with render.download_progress() as progress:
        prepare(model, progress)
    print_ = render.errors.print if as_json else render.console.print
    with as_file(files("dicast.catalog.sets")) as folder:
        path, preference = folder / "authored.jsonl", next(read_cases(folder / "preference.jsonl"))
        pairs = list(read_cases(path))
        chosen = pairs[:limit]
        intro = f"{len(chosen)} built-in pairs, labelled by the package's authors; the judge is {model}"
        print_(render.heading("1", intro))
        once = _run(path, chosen, out / "asked-once", model, readout="generate", order="one")
        print_(f"   asked once, in one order: accuracy {_accuracy(once)}")
        read = _run(path, chosen, out / "probabilities", model, readout="probability", order="both")
        print_(f"   probabilities read, in both orders: accuracy {_accuracy(read)}")

    print_(render.heading("\n2", "one Fennec judgment: criteria, guideline, judgment in both orders, correction"))
    case = next(case for case in pairs if case.id == FENNEC_CASE)
    print_(_judgment("fennec-correct", case, model, branches=FENNEC_BRANCHES))
    print_("   Where the two orders disagree, scores cancel out: a judge that follows the order ties.", style="dim")
    print_(render.heading("\n3", "one PREF judgment: which answer suits this person"))
    print_(_judgment("pref", preference, model, factors=5, readout="probability"))

    longer = _longer(chosen)
    first = once.measure("first position")
    names_first = render.interval_text(first) if first else "-"
    rows = [
        ["the longer response wins", _accuracy(longer), "no", 0],
        ["asked once, one order", _accuracy(once), f"names the first: {names_first}", once.usage.calls],
        ["probabilities read, both orders", _accuracy(read), "no", read.usage.calls],
    ]
    print_(render.heading("\n4", "before and after"))
    columns = ["judge", "accuracy [95 % CI]", "does the order decide?", "calls"]
    print_(render.indented(render.table(columns, rows)))
    print_(f"   {len(chosen)} pairs are too few to rank judges; docs/results has larger runs.", style="dim")
    print_(f"   verdicts: {out}/asked-once/verdicts.jsonl, {out}/probabilities/verdicts.jsonl")
    print_(f"   {_page(out)}")
    seconds = time.monotonic() - started
    print_(f"   {seconds:.0f} s. Next: dicast judge --judge direct --cases YOUR.jsonl")
    if as_json:
        evaluations = {"asked_once": once, "probabilities": read, "longer": longer}
        dumped = {name: evaluation.model_dump(mode="json") for name, evaluation in evaluations.items()}
        options.print_json({"lm": model, "out": str(out), "seconds": seconds, **dumped})


def _run(path: Path, chosen: "list[Case]", out: Path, model: str, **settings: str) -> "Evaluation":
    """The evaluation of these pairs, judged by a direct question."""
    from .. import workflows
    from ..evaluation import evaluate
    from . import render
    from .interrupt import stop_on_interrupt

    judge = workflows.JudgeSpec("direct", model, {"grading": "pairwise", **settings})
    with render.RunProgress(quiet=False) as progress, stop_on_interrupt(progress) as stop:
        run = workflows.run(judge, path, out=out, limit=len(chosen), workers=2, progress=progress, stop=stop)
    if run.status == "stopped":
        raise KeyboardInterrupt
    ids = {case.id for case in chosen}  # the folder may hold more pairs of an earlier demo
    return evaluate((judged for judged in run if judged.case_id in ids), run.identity)


def _longer(chosen: "list[Case]") -> "Evaluation":
    """The evaluation of a judge that prefers the longer text."""
    from ..data import Judged
    from ..evaluation import evaluate
    from ..judging import build

    judge = build("longer")
    identity = {"judge": judge.name, "settings": judge.settings(), "lm": "none", "data": "authored"}
    return evaluate((Judged.of(case, judge(case)) for case in chosen), identity)


def _accuracy(evaluation: "Evaluation") -> str:
    from . import render

    measure = evaluation.measure("accuracy")
    return render.interval_text(measure) if measure else "-"


def _page(out: Path) -> str:
    """Write the page of both runs; a line that says where it is."""
    from .. import workflows

    runs = [out / name for name in ("probabilities", "asked-once")]
    try:
        page = workflows.report(runs, out / "report.html", title="dicast demo", most=100)
    except DeclarationError as error:  # the extra `report` is not installed
        return f"no page: {error}"
    return f"page: {page.path}: open it in a browser"


def _judgment(name: str, case: Any, model: str, **settings: Any) -> Any:
    from ..judging import build
    from . import render
    from .interrupt import end_on_interrupt

    with render.status(f"{name} judges {case.id}"), end_on_interrupt():
        verdict = build(name, **settings).bind(model)(case)
    return render.judgment(case, verdict)
