"""`dicast lessons`: what a student learns, as files that trainers read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from . import INCONCLUSIVE, STOPPED, lessons_train, options, output
from .estimates import print_judging

if TYPE_CHECKING:
    from ..data import Usage
    from ..distillation.training_set import TrainingSet

EXIT = {"complete": 0, "dry run": 0, "budget": INCONCLUSIVE, "stopped": STOPPED}
CONTINUES = "The same command continues where it stopped."


def _formats() -> list[str]:
    from ..distillation.bridging.judgment import SETS

    return SETS.names()


def _targets() -> tuple[str, ...]:
    from ..distillation.soft_targets import Targets

    return get_args(Targets)


def parse_mix(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    """TASK=WEIGHT pairs."""
    mix = {}
    for text in ",".join(texts).split(",") if texts else ():
        task, weight = (part.strip() for part in (text + "=").split("=")[:2])
        try:
            mix[task] = float(weight)
        except ValueError:
            raise click.BadParameter(f"{text!r}: write TASK=WEIGHT, as in fennec.pairwise=3.") from None
    return mix


def parse_k(_: click.Context, __: click.Parameter, text: str) -> int | str:
    """A whole number, or auto."""
    from ..preparation.histories import MOST_REVIEWS

    if text == "auto":
        return text
    if not text.isdecimal() or int(text) > MOST_REVIEWS:
        raise click.BadParameter(f"{text!r}: write auto, or a whole number from 0 to {MOST_REVIEWS}.")
    return int(text)


dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Only estimate calls, tokens and cost; no model is called."
)
set_option = click.option(
    "--out",
    required=True,
    type=options.FOLDER,
    help="The set's folder: train.jsonl, validation.jsonl, card.md, and files for axolotl and LLaMA-Factory.",
)
against_option = click.option(
    "--against",
    multiple=True,
    metavar="CASES",
    help="An evaluation set, a file or a name; rows with a text of it, or nearly so, are left out. May be given more "
    "than once.",
)


@click.group("lessons")
def command() -> None:
    """Collect what a student learns, and write training sets that trl, axolotl and LLaMA-Factory read.

    \b
    Example:
      dicast lessons traces fennec --cases pairs.jsonl --out traces
      dicast lessons bridge judgelm_train_100k.jsonl --format judgelm --limit 500 --out bridged
      dicast lessons set traces bridged --against pandalm --out set
      dicast lessons histories --cases reviews.csv --scale 1..10 --k 3 --out perse-set
      dicast lessons train set --base smollm2-135m --out trained
    """


command.add_command(lessons_train.command)


@command.command("traces")
@click.argument("judge", shell_complete=options.completion.judges)
@options.case_options
@click.option("--out", type=options.FOLDER, help="Folder of the traces [default: traces/JUDGE-CASES].")
@options.lm_option
@options.set_option("A parameter of the judge, as in branches=3.")
@click.option("--unlabelled", is_flag=True, help="Do not read labels: the two orders alone decide what is learnt.")
@options.limit_options
@options.seed_option
@options.selection_options
@options.trust_option
@options.pace_options
@options.budget_option
@dry_run_option
@options.json_option
def collect_traces(judge: str, lm: str | None, settings: dict[str, Any], as_json: bool, **values: Any) -> int:
    """Judge cases with JUDGE, the teacher, and keep every LM call as it was sent and answered.

    The folder is a run folder, which dicast evaluate measures. The counts say which written answers a student would
    learn: those of verdicts that agree with the label, or without a label are the same in both orders. Running again
    continues where it stopped; cases may be added.

    \b
    Example:
      dicast lessons traces fennec --cases pairs.jsonl --set branches=3 --out traces --dry-run
      dicast lessons traces tone.judge.json --cases more.jsonl --out traces --budget cost=5
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    spec = workflows.JudgeSpec(judge, options.find_lm(lm, judge), settings=settings)
    with render.RunProgress(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        result = workflows.collect_traces(spec, source, progress=progress, stop=stop, **values)
    if as_json:
        counts = result.counts.model_dump(mode="json") if result.counts else None
        _print_json(result, {"counts": counts, "bad_rows": result.rejected})
    elif result.estimate is not None:
        print_judging(result.estimate)
    else:
        if result.counts is not None:
            _print_page(result.counts.markdown())
        _print_spent(result.usage)
        if result.rejected:
            render.console.print(f"{result.rejected:,} bad rows are in {result.folder / 'rejects.jsonl'}")
        render.console.print(f"traces: {result.folder / 'traces.jsonl'}", soft_wrap=True)
        render.console.print(f"more: dicast lessons set {result.folder} --out SET", style="dim", soft_wrap=True)
    return _exit(result)


@command.command("bridge")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--format",
    "name",
    required=True,
    type=options.NameChoice(_formats, "formats"),
    help="The set that FILE is of, as published.",
)
@click.option("--out", type=options.FOLDER, help="Folder of the bridged judgments [default: bridged/FORMAT].")
@options.lm_option
@click.option(
    "--limit", type=click.IntRange(1), help="Bridge this many judgments: the first, or with --seed a random sample."
)
@click.option("--seed", type=click.IntRange(0), help="Sample the judgments of --limit at random with this seed.")
@options.pace_options
@options.budget_option
@dry_run_option
@options.json_option
def bridge_set(file: Path, name: str, as_json: bool, **values: Any) -> int:
    """Give published judgments of FILE the criterion and guideline that they lack, and judge anew by these.

    Criterion and guideline are asked backwards, from the judgment; then Fennec's stage judges forward. Where that
    comes to another result, the judgment is left out. Running again continues where it stopped.

    \b
    Example:
      dicast lessons bridge pairwise_traindata.jsonl --format auto-j --limit 200 --seed 1 --dry-run
      dicast lessons bridge pairwise_traindata.jsonl --format auto-j --limit 200 --seed 1 --out bridged \\
        --lm criteria=transformers/reverse,judgment=openai/gpt-4o-mini
    """
    from .. import workflows
    from ..distillation.bridging.statistics import markdown
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    bar = render.PrepareProgress(quiet=as_json, doing="bridging", done="bridged")
    with bar as progress, stop_on_interrupt(progress) as stop:
        result = workflows.bridge_set(file, name, progress=progress, stop=stop, **values)
    if as_json:
        statistics = result.statistics.model_dump(mode="json") if result.statistics else None
        _print_json(result, {"statistics": statistics})
    elif result.estimate is not None:
        print_judging(result.estimate)
    else:
        if result.statistics is not None:
            _print_page(markdown([result.statistics]))
        _print_spent(result.usage)
        render.console.print(f"judgments: {result.folder / 'bridged.jsonl'}", soft_wrap=True)
        render.console.print(f"more: dicast lessons set {result.folder} --out SET", style="dim", soft_wrap=True)
    return _exit(result)


@command.command("set")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False))
@set_option
@against_option
@options.data_option
@click.option(
    "--mix",
    multiple=True,
    callback=parse_mix,
    metavar="TASK=WEIGHT",
    help="Draw rows so that these tasks have these proportions, as in fennec.pairwise=3,fennec.guideline=2.",
)
@click.option(
    "--targets",
    type=options.NameChoice(_targets, "targets"),
    default="both",
    show_default=True,
    help="What one-token questions are learnt from: people's labels, the teacher's probabilities.",
)
@click.option(
    "--human-weight",
    type=options.FloatRange(0, 1),
    default=0.5,
    show_default=True,
    help="Of people's labels with both.",
)
@click.option(
    "--swap/--no-swap", default=True, show_default=True, help="Add the other order of judgments of one order."
)
@click.option("--unchecked", is_flag=True, help="Also learn judgments of one order, or of one text, without a label.")
@click.option("--reverse", is_flag=True, help="Rows of a student that bridges, out of traces of fennec.")
@click.option(
    "--validation",
    type=options.FloatRange(0, 0.5),
    default=0.05,
    show_default=True,
    help="The proportion of rows for validation; no group is in both parts.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of mixing and split.")
@options.json_option
def training_set(folders: tuple[Path, ...], as_json: bool, **values: Any) -> int:
    """Write a training set of FOLDERS of traces and of bridged judgments, with its data card.

    Of written answers those are learnt that rejection sampling accepts and that are the same in both orders; of rows
    with the same prompt the first. The same command writes the same files.

    \b
    Example:
      dicast lessons set traces bridged --against pandalm --against test.jsonl --out set
      dicast lessons set traces --mix fennec.pairwise=3,fennec.guideline=2 --out set
      dicast lessons set traces --reverse --out reverse-set
    """
    from .. import workflows
    from .interrupt import end_on_interrupt

    with end_on_interrupt():
        written = workflows.training_set(folders, **values)
    _print_sets({"": written}, as_json, named=bool(values["against"]))
    return 0


@command.command("histories")
@options.case_options
@set_option
@click.option(
    "--k", default="auto", show_default=True, callback=parse_k, help="Reviews in each history; auto: 3, of choices 1."
)
@click.option("--comments/--no-comments", default=True, show_default=True, help="Learn the review before the score.")
@click.option("--each-aspect", is_flag=True, help="A set, and so a student, for each aspect, in OUT/ASPECT.")
@options.limit_groups_option
@options.set_option("A parameter of the preparation histories, as in queries=5.")
@click.option(
    "--validation",
    type=options.FloatRange(0, 0.5),
    default=0.1,
    show_default=True,
    help="The proportion of reviewers for validation, of whom no row is trained on.",
)
@against_option
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of split, pools and histories.")
@options.json_option
def history_sets(as_json: bool, **values: Any) -> int:
    """Write PerSE's instruction data (arXiv 2310.03304): what a reviewer said of a text, from their history.

    Cases are rows of one review each (reviewer, text, review, score), or of one choice each (reviewer, response_a,
    response_b, label). Each reviewer's texts are divided into a prior pool, of which K reviews are drawn, and queries.
    No model is asked.

    \b
    Example:
      dicast lessons histories --cases reviews.csv --scale 1..10 --k 3 --out perse-set
      dicast lessons histories --cases reviews.csv --scale 1..10 --no-comments --out scores-set
      dicast lessons histories --cases choices.jsonl --each-aspect --out choice-sets
    """
    from .. import workflows
    from . import render
    from .interrupt import end_on_interrupt

    aspect = values.pop("aspect")
    source = options.take_case_source(values)
    with end_on_interrupt(), render.RunProgress(quiet=as_json) as progress:
        written = workflows.history_sets(source, aspect=aspect, progress=progress, **values)
    _print_sets(written, as_json, named=True)
    return 0


def _print_sets(sets: "dict[str, TrainingSet]", as_json: bool, *, named: bool) -> None:
    """Each card, and where the set is.

    Args:
        named: whether evaluation sets were named, or need not be.
    """
    from . import render

    if as_json:
        shown = [
            {"out": str(written.folder), "card": written.card.model_dump(mode="json")} for written in sets.values()
        ]
        options.print_json(shown[0] if "" in sets else {"sets": dict(zip(sets, shown, strict=True))})
        return
    for aspect, written in sets.items():
        if len(sets) > 1:
            render.console.print(render.heading(aspect))
        _print_page(written.card.markdown())
        for name in ("train.jsonl", "validation.jsonl", "card.md"):
            render.console.print(f"{name.partition('.')[0]}: {written.folder / name}", soft_wrap=True)
    if not named:
        render.say("No evaluation set was named: --against CASES leaves out what a test would measure.", style="dim")


def _print_page(markdown: str) -> None:
    """A page's lines without their heading."""
    from . import render

    lines = markdown.splitlines()
    text = "\n".join(lines[2:] if lines[0].startswith("# ") else lines)
    render.console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)


def _print_spent(usage: "dict[str, Usage] | Any") -> None:
    from ..data import Usage
    from . import render

    render.console.print(f"usage: {render.spent(sum(usage.values(), Usage()))}")
    for line in render.stage_lines(usage) if len(usage) > 1 else ():
        render.console.print(line, style="dim")


def _print_json(result: Any, more: dict[str, Any]) -> None:
    from ..data import Usage

    estimate = result.estimate.model_dump(mode="json") if result.estimate else None
    total = sum(result.usage.values(), Usage())
    stages = {stage: usage.model_dump() for stage, usage in result.usage.items()}
    about = {"out": str(result.folder), "status": result.status}
    options.print_json(about | more | {"estimate": estimate, "usage": total.model_dump(), "stages": stages})


def _exit(result: Any) -> int:
    if result.status in ("budget", "stopped"):
        output.error(f"dicast: {result.message or 'stopped.'} {CONTINUES}")
    return EXIT[result.status]
