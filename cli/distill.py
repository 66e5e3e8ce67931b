"""`dicast distill`: a judge to a small local model that judges like it, accepted by people's labels or not."""

from typing import TYPE_CHECKING, Any, get_args

import click

from . import FAIL, INCONCLUSIVE, STOPPED, options, output
from .compile import objectives, presets
from .estimates import print_estimate

if TYPE_CHECKING:
    from ..distillation.acceptance import Acceptance
    from ..distillation.export import Exported
    from ..workflows.distillations import DistilRun

EXIT = {"accepted": 0, "rejected": FAIL, "undecided": INCONCLUSIVE}
EXIT_BEFORE_TEST = {"dry run": 0, "stopped": STOPPED, "budget": INCONCLUSIVE, "too few labels": INCONCLUSIVE}


def _modes() -> tuple[str, ...]:
    from ..distillation.distil_recipe import Mode

    return get_args(Mode)


def _targets() -> tuple[str, ...]:
    from ..distillation.distil_recipe import Targets

    return get_args(Targets)


def _forms(context: click.Context, option: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--export adapter,gguf --export merged` as the forms, each once."""
    from ..distillation.export import Form

    names = [name.strip() for value in values for name in value.split(",") if name.strip()]
    for name in names:
        if name not in get_args(Form):
            raise click.BadParameter(f"{name!r} is none of {', '.join(get_args(Form))}", param=option)
    return tuple(dict.fromkeys(names))


train_option = click.option(
    "--train",
    "training",
    multiple=True,
    metavar="NAME=VALUE",
    callback=options.parse_settings,
    help="A field of the training recipe in place of the preset's, as in epochs=2.",
)
export_option = click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FORM,...",
    callback=_forms,
    help="Write the trained student as adapter, merged (one model) or gguf, into export/; several by commas.",
)


@click.command("distill")
@click.argument("judge", shell_complete=options.completion.judges)
@options.case_options
@click.option(
    "--base",
    required=True,
    shell_complete=options.completion.bases,
    help="The model to train: of dicast models list, a folder, .gguf, OWNER/NAME.",
)
@click.option("--unlabelled", metavar="CASES", help="Further cases, read as --cases are, that JUDGE labels.")
@click.option("--limit-unlabelled", type=click.IntRange(1), help="Take this many of them, sampled with --seed.")
@click.option("--out", type=options.FOLDER, help="Folder [default: distilled/JUDGE-CASES].")
@options.lm_option
@click.option(
    "--mode",
    type=options.NameChoice(_modes, "modes"),
    help="verdict: one token decides; chain: the teacher's whole program; probe: no training, a head on the base's "
    "hidden states [default: verdict].",
)
@click.option(
    "--preset",
    type=options.NameChoice(presets, "presets"),
    help="Of the training [default: cpu; cpu-small for a chain of words].",
)
@train_option
@export_option
@click.option(
    "--targets",
    type=options.NameChoice(_targets, "targets"),
    help="What label tokens are learnt from: people's labels, the teacher's probabilities [default: both].",
)
@click.option("--human-weight", type=options.FloatRange(0, 1), help="Of people's labels with both [default: 0.5].")
@click.option(
    "--margin",
    type=options.FloatRange(0, 1, min_open=True, max_open=True),
    help="The loss against the teacher that is accepted [default: 0.05].",
)
@click.option("--objective", type=options.NameChoice(objectives, "objectives"), help="As of dicast compile.")
@click.option("--risk", type=options.FloatRange(0, 0.5, min_open=True), help="Disagreement that is certified.")
@click.option("--seed", type=click.IntRange(0), help="Of split and training [default: that of the teacher, else 0].")
@options.set_option("A parameter of the student's program.")
@click.option("--limit", type=click.IntRange(1), help="Take this many labelled cases, sampled with --seed.")
@options.limit_groups_option
@options.selection_options
@options.trust_option
@options.pace_options
@options.budget_option
@click.option("--dry-run", is_flag=True, help="Only estimate; no model is called.")
@options.json_option
def command(
    judge: str, lm: str | None, settings: dict[str, Any], training: dict[str, Any], as_json: bool, **values: Any
) -> int:
    """Distil JUDGE into a student of a small local model, and accept it only if people's labels say so.

    JUDGE is the teacher: a judge file that dicast compile wrote, or a program. The labelled cases are split as
    dicast compile splits them: the test part is the same, and neither was fitted to it.

    Writes a judge file, a page, the training set and the evidence. The same command continues where it stopped. Exit 0
    when the student is accepted, 1 when it is rejected, 2 when the labels, or the budget, decide neither.

    \b
    Example:
      dicast distill compiled/direct-labels/direct.judge.json --cases labels.jsonl \\
        --base smollm2-135m --preset cpu --dry-run
      dicast distill direct --cases labels.jsonl --unlabelled more.jsonl --base local/smollm2-135m --mode probe
      dicast judge --judge distilled/direct-labels/student.judge.json --cases new.jsonl
    """
    from .. import workflows
    from . import render
    from .interrupt import stop_on_interrupt

    options.load_environment()
    source = options.take_case_source(values)
    if values["unlabelled"] is not None:
        values["unlabelled"] = options.source_like(source, values["unlabelled"])
    chosen = {name: value for name, value in values.items() if value is not None}  # the others have defaults
    with render.Compiling(quiet=as_json) as progress, stop_on_interrupt(progress) as stop:
        teacher = workflows.JudgeSpec(judge, options.find_lm(lm, judge))
        result = workflows.distill(
            teacher, source, training=training, set=settings, progress=progress, stop=stop, **chosen
        )  # fmt: skip
    if result.distilled is not None:
        return _print(result, as_json)
    if result.estimate is not None:
        print_estimate(result.estimate, as_json)
    if result.message:
        more = " The distillation continues where it stopped." if result.status == "budget" else ""
        output.error(f"dicast: {result.message}{more}")
    return EXIT_BEFORE_TEST[result.status]


def _print(result: "DistilRun", as_json: bool) -> int:
    """Print what was shown; the exit code."""
    from . import render

    assert result.distilled
    acceptance, path, page = result.distilled.acceptance, result.judge_file, result.page
    if as_json:
        options.print_json(
            {
                "judge": str(path),
                "page": str(page) if page else None,
                "acceptance": acceptance.model_dump(mode="json"),
                "certificate": result.distilled.compiled.training["certificate"],
                "training": dict(result.distilled.origin)["training"],
                "card": str(result.card) if result.card else None,
                "export": exported_json(result.exported) if result.exported else None,
            }
        )
        return EXIT[acceptance.outcome]
    render.console.print(acceptance_table(acceptance))
    for check in acceptance.checks:
        render.say(check.sentence)
    render.say(acceptance.summary)
    if result.distilled.compiled.certificate:
        render.say(result.distilled.compiled.certificate.summary())
    render.console.print(f"judge: {path}   dicast show {path}", soft_wrap=True)
    if page:
        render.console.print(f"page: {page}", soft_wrap=True)
    if result.card:
        render.console.print(f"card: {result.card}", soft_wrap=True)
    if result.exported:
        for line in exported_places(result.exported):
            render.console.print(line, soft_wrap=True, markup=False, highlight=False)
    return EXIT[acceptance.outcome]


def exported_places(exported: "Exported") -> list[str]:
    """The lines that serve a student, and where its forms are."""
    places = {form: place for form, place in exported_json(exported).items() if form != "serve" and place}
    return [*(f"serve: {line}" for line in exported.serve), *(f"{form}: {place}" for form, place in places.items())]


def exported_json(exported: "Exported") -> dict[str, Any]:
    """The forms of a student as JSON."""
    forms = {"adapter": exported.adapter, "merged": exported.merged, "gguf": exported.gguf}
    places = {form: None if path is None else str(path) for form, path in forms.items()}
    return {**places, "serve": [*exported.serve]}


def acceptance_table(acceptance: "Acceptance") -> Any:
    """The judges side by side on the test part with what a verdict takes, and baselines without a model."""
    from . import render
    from .compile import MAIN_MEASURES

    sections = acceptance.student.evaluation.sections.values()
    names = [measure.name for section in sections for measure in section if measure.name in MAIN_MEASURES]
    rows = []
    for row in acceptance.judges:
        cost, measures = acceptance.cost(row.name), [row.evaluation.measure(name) for name in names]
        first = render.interval_text(measures[0]) if measures and measures[0] else "-"
        cells = [first, *("-" if measure is None else render.number(measure.value) for measure in measures[1:])]
        tokens = "-" if cost.tokens is None else f"{cost.tokens:,.0f}"
        waited = cost.seconds if cost.measured is None else cost.measured.seconds
        seconds = "-" if waited is None else f"{waited:.2f}"
        cpu = "-" if cost.measured is None else f"{cost.measured.cpu:.2f}"
        memory = "-" if cost.memory is None else f"{cost.memory / 1e9:.2f} GB"
        rows.append([row.name, *cells, f"{cost.calls:.1f}", tokens, seconds, cpu, memory])
    for measure in acceptance.reference_measures:
        if measure.name in ("chance", "majority", "longer", "human ceiling"):
            rows.append([measure.name, render.interval_text(measure), *[""] * (len(names) + 4)])
    return render.table(
        [f"test part, n = {acceptance.n}", *names, "calls", "tokens", "seconds", "CPU s", "memory"], rows
    )
