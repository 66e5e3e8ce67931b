"""`dicast demo`: a judge compiled against people's labels, before and after, then live, and two whole judgments."""

import time
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import FAIL, STOPPED, options

if TYPE_CHECKING:
    from ..data import Case
    from ..optimizers.recipe import Baseline
    from ..optimizers.result import Result
    from ..workflows import CompileRun
    from ..workflows.live_check import LiveReading

SET = "pandalm-short"
RECORDED_ON = "2026-11-23"
JUDGE = {"grading": "pairwise"}  # asked which response is better, and not for scores
FRESH_PAIRS = 1  # in no record
FENNEC_CASE = "authored/002"  # a short request with one response that is plainly wrong
FENNEC_BRANCHES = 2


@click.command("demo")
@options.lm_option
@click.option(
    "--out", type=options.OutPath(path_type=Path, file_okay=False), default=Path("runs/demo"), show_default=True
)
@click.option("--limit", type=click.IntRange(1), help="Take so many of the pairs, sampled.")
@options.json_option
@click.option(
    "--fresh",
    "starts_over",
    is_flag=True,
    help="Delete an earlier demo in --out and ask the model about every pair: about 40 minutes on two cores.",
)
def command(lm: str | None, out: Path, limit: int | None, starts_over: bool, as_json: bool) -> int:
    """Compile a judge on a local model against people's labels, and show what it gained on pairs held out.

    Fetches the model (1.1 GB) the first time. Its answers about the 182 pairs come with the package; one pair
    is judged live and compared with that record. Then it shows one whole Fennec judgment with a correction, and one
    personalised PREF judgment. Exit 1 where the live answers differ from the record.

    \b
    Example:
      dicast demo
      dicast demo --lm openai/gpt-4o-mini --limit 100
    """
    from ..engines.model_string import DEFAULT_MODEL
    from ..workflows.recorded_evidence import answers_in, record_of
    from . import render

    options.load_environment()
    model, started = lm or DEFAULT_MODEL, time.monotonic()
    if starts_over and out.exists():
        import shutil

        shutil.rmtree(out)
    is_recorded = model == DEFAULT_MODEL and not starts_over
    print_ = render.errors.print if as_json else render.console.print
    with answers_in(out / "answers", record_of(SET) if is_recorded else None):
        print_(render.heading("1", "a judge compiled against people"))
        compilation = _compile(model, out, limit, is_recorded, print_)
        if compilation.compiled is None:
            render.say(compilation.message or "The demo was stopped; the same command continues.")
            return STOPPED if compilation.status == "stopped" else FAIL
        assert compilation.judge_file
        reading = _live(compilation.judge_file, print_)
        _whole_judgments(model, print_)
    seconds = time.monotonic() - started
    print_(render.heading("\n5", "what to look at"))
    if compilation.page:
        print_(f"   page: {compilation.page}: open it in a browser")
    print_(f"   judge: {compilation.judge_file}   dicast show {compilation.judge_file}")
    print_(f"   {seconds:.0f} s. Next: dicast compile direct --cases YOUR.jsonl")
    if as_json:
        result = compilation.compiled.result.model_dump(mode="json")
        live = {"case": reading.case.id, "difference": reading.difference, "agrees": reading.agrees}
        options.print_json({"lm": model, "out": str(out), "seconds": seconds, "result": result, "live": live})
    return 0 if reading.agrees else FAIL


def _compile(model: str, out: Path, limit: int | None, is_recorded: bool, print_: Any) -> "CompileRun":
    """The compilation, and its table."""
    from ..engines.models import prepare
    from . import render
    from .interrupt import stop_on_interrupt

    print_(f"   {SET}: short pairs of PandaLM's test set, each labelled by three people (Apache-2.0)")
    source = f"recorded on {RECORDED_ON}; --fresh asks it anew" if is_recorded else "asked now"
    print_(f"   {model} says which response is better: {source}")
    with render.download_progress() as download:
        prepare(model, download)
    with render.Compiling(quiet=True) as progress, stop_on_interrupt(progress) as stop:
        compilation = compilation_of(model, out / "compiled", limit=limit, progress=progress, stop=stop)
    if compilation.compiled is not None:
        _before_and_after(compilation.compiled.result, print_)
    return compilation


def compilation_of(model: str, out: Path, **options: Any) -> "CompileRun":
    """Compile the judge of the demo on the packaged pairs."""
    from .. import workflows

    judge = workflows.JudgeSpec("direct", model, dict(JUDGE))
    return workflows.compile(judge, SET, out=out, baseline=asked_once(), trials=0, **options)


def asked_once() -> "Baseline":
    """The judge as most people ask it: one question, in one order."""
    from ..optimizers.recipe import Baseline

    return Baseline(judge="direct", set={**JUDGE, "order": "one"})


def _before_and_after(result: "Result", print_: Any) -> None:
    from . import render

    def accuracy(name: str) -> str:
        measure = result.judge(name).evaluation.measure("accuracy")
        return render.interval_text(measure) if measure else "-"

    reference = {measure.name: render.interval_text(measure) for measure in result.reference_measures}
    rows = [
        ["the longer response wins", reference.get("longer", "-")],
        ["asked once, in one order", accuracy(asked_once().title)],
        ["asked in both orders", accuracy("uncompiled")],
        ["compiled on the labels of other prompts", accuracy("compiled")],
        ["a person, against the other two", reference.get("human ceiling", "-")],
    ]
    print_(render.heading("\n2", f"before and after, on {result.n} pairs of prompts that no step had seen"))
    print_(render.indented(render.table(["judge", "accuracy [95 % CI]"], rows)))
    test = result.test_against(asked_once().title)
    if test is not None:
        print_(
            f"   compiled less asked once: {render.interval_text(test.difference)}, p = {render.p_value(test.p)}",
            style="bold",
        )


def _live(judge_file: Path, print_: Any) -> "LiveReading":
    """A pair of the set, judged from the record and by the model now; then a pair that no record holds."""
    from .. import catalog
    from ..engines.answer_store import asking_anew
    from ..judging.judge_file import load
    from ..workflows.live_check import read_live
    from . import render
    from .interrupt import end_on_interrupt

    judge = load(judge_file)
    print_(render.heading("\n3", "live: the compiled judge, every question asked now"))
    pair = min(catalog.read(SET), key=_length)
    with render.status(f"the compiled judge reads {pair.id}"), end_on_interrupt():
        reading = read_live(judge, pair)
    print_(render.judgment(pair, reading.live))
    differs = "" if reading.agrees else " It differs: --fresh asks your machine about every pair."
    print_(f"   largest difference from the record: {reading.difference:.3f} of a probability.{differs}", style="dim")
    for case in sorted(catalog.read("authored"), key=_length)[:FRESH_PAIRS]:
        with render.status(f"the compiled judge reads {case.id}"), end_on_interrupt(), asking_anew():
            print_(render.judgment(case, judge(case)))
    return reading


def _length(case: "Case") -> int:
    return len(case.query) + sum(len(candidate.text) for candidate in case.candidates)


def _whole_judgments(model: str, print_: Any) -> None:
    """A Fennec tree and a PREF judgment, asked at the same time."""
    from ..data import read_cases
    from ..engines.parallel import concurrently
    from ..judging import build
    from . import render
    from .interrupt import end_on_interrupt

    with as_file(files("dicast.catalog.sets")) as folder:
        preference = next(read_cases(folder / "preference.jsonl"))
        pair = next(case for case in read_cases(folder / "authored.jsonl") if case.id == FENNEC_CASE)
    fennec = build("fennec-correct", branches=FENNEC_BRANCHES, rejudge=False).bind(model)
    pref = build("pref", factors=3, readout="probability").bind(model)
    print_(render.heading("\n4", "whole judgments"))
    with render.status(f"fennec-correct judges {pair.id}, pref {preference.id}"), end_on_interrupt():
        tree, choice = concurrently(lambda work: work[0](work[1]), [(fennec, pair), (pref, preference)])
    print_("   Fennec: criteria, guideline, judgment in both orders, correction")
    print_(render.judgment(pair, tree))
    print_("   Where the two orders disagree, scores cancel out: a judge that follows the order ties.", style="dim")
    print_("   PREF: which answer suits this person")
    print_(render.judgment(preference, choice))
