"""`dicast init`: somebody's file of labels to a project that every verb reads."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import ERROR, case_options, options, output
from .model_choice import remember_typed

if TYPE_CHECKING:
    from ..data.guessing import OpenQuestion
    from ..workflows.initialisation import Examined, Labelled

SHOWN = (
    "query",
    "context",
    "reference",
    "response_a",
    "response_b",
    "chosen",
    "rejected",
    "response",
    "label",
    "score",
    "votes",
)


@click.command("init")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--fields", multiple=True, callback=case_options.parse_fields, help="Columns that are known: OURS=THEIRS,..."
)
@click.option(
    "--values",
    multiple=True,
    callback=case_options.parse_values,
    help="Words of labels that are known: THEIRS=OURS,...",
)
@click.option("--scale", default="", metavar="LO..HI", help="Of scores  [default: the usual scale that holds them]")
@click.option("--sheet", default="", help="Of a workbook  [default: the first]")
@click.option("--encoding", default="", help="Of a text file, such as cp1252  [default: as its bytes say]")
@click.option(
    "--lm",
    default="",
    shell_complete=options.completion.lms,
    help="The model that judges, for dicast.toml: provider/model, or role=provider/model,...",
)
@click.option("--force", is_flag=True, help="Overwrite a dicast.toml.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
@options.json_option
def command(file: Path, force: bool, dry_run: bool, as_json: bool, lm: str, **values: Any) -> int:
    """Look at a file of people's labels, say how it is read, and write dicast.toml, which every verb reads.

    FILE is CSV (also with ; or tabs, in any encoding), Excel, JSON, JSON Lines or Parquet: a row a case, or a row an
    annotator; or an export of Argilla, Label Studio, LangSmith, Langfuse or MLflow. Every guess is printed with what
    speaks for it. Where two readings are equally good, you are asked on a terminal; without one the options that state
    each are printed, and nothing is written (exit 3).

    \b
    Example:
      dicast init support.csv
      dicast check
      dicast compile direct
    """
    from ..errors import DeclarationError
    from ..workflows.initialisation import check_readable, examine
    from ..workflows.project import NAME, to_toml

    if lm:
        remember_typed(lm)
    check_readable(file)
    if Path(NAME).exists() and not (force or dry_run):
        raise DeclarationError(f"{NAME}: exists in this folder. --force writes it anew, --dry-run only looks.")
    if values["scale"]:
        case_options.parse_scale(
            click.get_current_context(), click.get_current_context().command.params[0], values["scale"]
        )
    from ..data.guessing import OpenQuestion
    from . import render

    with render.status(f"reading {file}"):
        examined = examine(file, lm=lm, **values)
    while isinstance(examined.guess, OpenQuestion):
        answer = _asked(examined.guess) if _is_terminal() and not as_json else None
        if answer is None:
            return _refused(file, examined.guess, as_json)
        for name, stated in (("fields", answer.fields), ("values", answer.values)):
            values[name] = {**values[name], **stated}
        examined = examine(file, lm=lm, **values)
    assert examined.project
    comments = [f"Written by dicast init {file}. docs/init.md says what it may hold."]
    text = to_toml(examined.project, comments) + ("" if lm else '\n# lm = "openai/gpt-4o-mini" would name the model.\n')
    if not lm:  # TOML takes keys after a table for the table's
        head, _, rest = to_toml(examined.project, comments).partition("\n")
        text = f'{head}\n# lm = "openai/gpt-4o-mini"  # the model; the embedded one otherwise\n{rest}'
    if not dry_run:
        _write(Path(NAME), text)
    if as_json:
        _print_json(examined, dry_run)
        return 0
    _print(examined)
    if dry_run:
        output.echo("")
        output.echo(text.rstrip())
        return 0
    output.echo(f"\nWrote {NAME}, which every verb reads in this folder. Next:")
    if examined.labelled and not examined.labelled.labels.keys() - {"none"}:
        output.echo("  dicast judge --judge direct     verdicts; they cannot be measured without labels")
        return 0
    output.echo("  dicast check              what these labels can show")
    output.echo("  dicast compile direct     a judge fitted to them, and tested" + ("" if lm else " (--lm MODEL)"))
    return 0


def _write(path: Path, text: str) -> None:
    from ..errors import DeclarationError

    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise DeclarationError(
            f"{path}: cannot be written ({error.strerror or error}). Work in a folder of yours, and name the file from "
            "there; --dry-run prints the text."
        ) from None


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _asked(question: "OpenQuestion") -> Any:
    """The answer that the user chooses; None where the input ends."""
    from . import render

    render.say(question.text)
    for number, answer in enumerate(question.answers, start=1):
        render.console.print(f"  {number}  {answer.text}")
    try:
        chosen = click.prompt("Which", type=click.IntRange(1, len(question.answers)))
    except click.Abort as ended:
        if isinstance(ended.__context__, KeyboardInterrupt):
            raise
        return None
    return question.answers[chosen - 1]


def _refused(file: Path, question: "OpenQuestion", as_json: bool) -> int:
    """Say what is not decided, with a ready line for each answer; the exit code."""
    if as_json:
        answers = [{"text": answer.text, "options": answer.options} for answer in question.answers]
        options.print_json({"question": question.text, "answers": answers})
        return ERROR
    output.error(f"dicast: {file}: {question.text} State which:")
    for answer in question.answers:
        output.error(f"  {answer.text}")
        output.error(f"    dicast init {shlex.quote(str(file))} {answer.options}")
    return ERROR


def _print(examined: "Examined") -> None:
    """What was understood, in one screen."""
    from ..data.guessing import Guess
    from . import render

    guessed, labelled, project = examined.guess, examined.labelled, examined.project
    assert isinstance(guessed, Guess)
    assert labelled
    assert project
    render.say(f"{examined.path}: {', '.join(examined.file)}", style="bold")
    rows = []
    listed = [*[name for name in SHOWN if name in guessed.fields], *[n for n in guessed.fields if n not in SHOWN]]
    for ours in listed:
        theirs = guessed.fields[ours]
        named = theirs if isinstance(theirs, str) else ", ".join(theirs)
        rows.append([ours, named or "(none)", guessed.evidence.get(ours, "no such column: empty" if not named else "")])
    render.console.print(render.table(["field", "column", "why"], rows))
    if guessed.kind == "scores":
        rows_text = f"scale: {project.scale} (--scale LO..HI says another)"
        render.say(rows_text)
    if examined.joined:
        render.say(f"rows: {examined.joined}; joined by {', '.join(project.join)}")
    if guessed.unused:
        render.say(f"no field: {', '.join(guessed.unused)} (kept beside the case, for --by)")
    for note in guessed.notes:
        render.say(f"note: {note}")
    _print_labelled(labelled, "group" in guessed.fields)


def _print_labelled(labelled: "Labelled", has_group: bool) -> None:
    from ..data.counting import cases_text
    from . import render

    part = ", the first ones" if labelled.is_part else ""
    labels = ", ".join(f"{count:,} {name}" for name, count in labelled.labels.items())
    render.say(f"cases: {labelled.cases:,}{part}; labels: {labels}")
    if undecided := labelled.labels.get("none", 0) if labelled.voted else 0:
        render.say(f"note: {cases_text(undecided)} without a majority or a vote: no label")
    by = "that column" if has_group else "equal query"
    render.say(f"groups: {labelled.groups:,}, by {by}; a split divides none")
    if labelled.voted:
        share = labelled.agreed / labelled.voted
        render.say(f"people: {labelled.voted:,} cases have several votes; all agree in {share:.0%} of them")
    elif labelled.labels.keys() - {"none"}:
        render.say("people: one label a case, so no human ceiling; several people's labels of a case would give one")
    if labelled.bad:
        rows = "row" if labelled.bad == 1 else "rows"
        render.say(
            f"bad: {labelled.bad:,} {rows} cannot be read, {labelled.first_bad} --skip-bad leaves them out",
            style="yellow",
        )


def _print_json(examined: "Examined", dry_run: bool) -> None:
    from dataclasses import asdict

    from ..data.guessing import Guess

    guessed = examined.guess
    assert isinstance(guessed, Guess)
    assert examined.project
    assert examined.labelled
    options.print_json(
        {
            "project": examined.project.model_dump(mode="json", exclude_defaults=True),
            "written": not dry_run,
            "kind": guessed.kind,
            "evidence": guessed.evidence,
            "unused": guessed.unused,
            "notes": guessed.notes,
            "labelled": asdict(examined.labelled),
        }
    )
