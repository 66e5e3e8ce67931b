"""`dicast list`: the judges, the preparations, and what else can be chosen by name."""

from typing import TYPE_CHECKING, Any

import click

from . import options

if TYPE_CHECKING:
    from ..judging import Program
    from ..registry import Registry


@click.command("list")
@click.argument("name", required=False, shell_complete=options.completion.listed)
@options.json_option
def command(name: str | None, as_json: bool) -> None:
    """List every judge with its source, what it judges, its stages and its LM calls for a case; NAME shows one whole.

    \b
    Example:
      dicast list
      dicast list fennec
    """
    from ..judging import PROGRAMS
    from ..preparation.registry import PREPARATIONS
    from . import render

    print_ = render.console.print
    if name is not None:
        row = _entry(name)
        options.print_json(row) if as_json else _print_whole(row, print_)
        return
    judges, broken = _rows(PROGRAMS)
    preparations, broken_preparations = _rows(PREPARATIONS)
    rows, broken = sorted(judges, key=lambda row: not row["stages"]), broken | broken_preparations
    others = {name: registry.names() for name, registry in _other_registries().items()}
    if as_json:
        options.print_json({"judges": rows, "preparations": preparations, **others, "broken": broken})
        return
    for row in rows:
        _print_short(row, print_)
    print_(render.heading("\npreparations", "for dicast prepare --with NAME"))
    for row in preparations:
        _print_short(row, print_)
    for name, names in others.items():
        print_(render.heading(f"\n{name.replace('_', ' ')}", ", ".join(names)), soft_wrap=True)
    for plugin, reason in broken.items():
        print_(f"{plugin}: {reason}", style="red")
    print_(
        "\nAny judge can sit on a panel: --panel LM --panel LM, or --samples N. A .yaml file is a judge too.",
        style="dim",
    )


def _other_registries() -> "dict[str, Registry[Any]]":
    """What else can be chosen by name, and added by a package."""
    from ..catalog import DATA_SETS
    from ..engines.engine import ENGINES
    from ..evaluation import METRICS
    from ..optimizers.objective import OBJECTIVES
    from ..optimizers.prompts.optimizer import PROMPT_OPTIMIZERS

    return {
        "metrics": METRICS,
        "objectives": OBJECTIVES,
        "prompt_optimizers": PROMPT_OPTIMIZERS,
        "engines": ENGINES,
        "data_sets": DATA_SETS,
    }


def _rows(registry: "Registry[Program]") -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The entries that can be used, and why each other cannot."""
    entries = {**registry.built_in(), **registry.others()}
    rows, broken = [], {}
    for name, program in entries.items():
        try:
            if isinstance(program, Exception):
                raise program
            rows.append(_row(program, program.build()))
        except Exception as error:  # another package may fail in any way, and must not break the list
            broken[name] = f"its package cannot be used ({error})"
    return rows, broken


def _entry(name: str) -> dict[str, Any]:
    """Everything of one judge or preparation, or of a judge in a YAML file."""
    from ..judging import PROGRAMS, Program, build
    from ..judging.parameter_help import parameter_help
    from ..judging.registry import JUDGE_SUFFIX, is_judge_file
    from ..preparation.registry import PREPARATIONS

    if is_judge_file(name):
        judge = build(name)
        calls = f"see dicast show {name}" if name.endswith(JUDGE_SUFFIX) else "1 a criterion and order"
        program = Program(judge.name, lambda: judge, "a judge of yours", name, "see the file", calls)
    else:
        program = (PREPARATIONS if name in PREPARATIONS else PROGRAMS).find(name)
        judge = program.build()
    return _row(program, judge) | {"questions": _questions(judge), "parameter_help": parameter_help(judge)}


def _row(program: Any, built: Any) -> dict[str, Any]:
    return {
        "name": program.name, "summary": program.summary, "source": program.source, "inputs": program.inputs,
        "stages": list(dict.fromkeys(seat.role for seat in built.seats() if not seat.is_fixed)), "calls": program.calls,
        "parameters": {name: hparam.value for name, hparam in built.hparams().items()},
    }  # fmt: skip


def _questions(judge: Any) -> list[dict[str, Any]]:
    """Each question once: what goes in, what comes out, how it can be answered, and how a written answer is decoded."""
    return [
        {
            "stage": stage.role,
            "inputs": list(stage.ask.signature.input_fields),
            "outputs": list(stage.ask.signature.output_fields),
            "readouts": list(stage.readouts),
            "decoding": stage.decoded() if "generate" in stage.readouts else {},
            "instruction": stage.ask.signature.instructions,
        }
        for stage in judge.stages()
    ]


def _print_short(row: dict[str, Any], print_: Any) -> None:
    from .render import heading

    print_(heading(row["name"], row["summary"]))
    if row["stages"]:
        parameters = ", ".join(f"{name}={value}" for name, value in row["parameters"].items() if value != "")
        print_(f"    stages {' -> '.join(row['stages'])}; {parameters}", style="dim")
    print_(f"    takes {row['inputs']}; calls {row['calls']}; {row['source']}", style="dim")


def _print_whole(row: dict[str, Any], print_: Any) -> None:
    from rich.text import Text

    from .render import heading

    print_(heading(row["name"], row["summary"]))
    for field in ("source", "inputs", "calls"):
        print_(f"  {field}: {row[field]}")
    for name, value in row["parameters"].items():
        print_(f"  {name}={value}")
        if sentence := row["parameter_help"][name]:
            print_(f"    {sentence}", style="dim", markup=False)
    for question in row["questions"]:
        fields = f"{', '.join(question['inputs'])} -> {', '.join(question['outputs'])}"
        print_(Text.assemble("\n  ", (question["stage"], "bold"), f" ({' or '.join(question['readouts'])}): {fields}"))
        print_(f"    {question['instruction']}".replace("\n", "\n    "), style="dim")
        if question["decoding"]:
            values = ", ".join(f"{name}={value:g}" for name, value in question["decoding"].items())
            print_(f"    written with {values}", style="dim")
