"""`dicast data`: public human-labelled sets."""

from pathlib import Path

import click

from . import options, output


@click.group("data")
def command() -> None:
    """List, fetch and find public human-labelled sets.

    \b
    Example:
      dicast data list
      dicast data get pandalm
      dicast data get pandalm --from ~/Downloads/testset-v1.json
    """


@command.command("list")
@options.json_option
def list_sets(as_json: bool) -> None:
    """The catalogue: sizes, labels, licences, sources and cautions."""
    from ..catalog import DATA_SETS
    from . import render

    if as_json:
        options.print_json([entry.to_json() | {"path": _path(entry.name)} for entry in DATA_SETS])
        return
    for entry in DATA_SETS:
        path = _path(entry.name)
        count = "" if entry.size is None else f"{entry.size:,} "
        text = f"{entry.title}: {count}{entry.kind} rows"
        stored = (f", stored in {path}" if path else "", "green")
        render.console.print(render.heading(entry.name, text).append(*stored))
        about = f"judged as: {entry.task}" + (f", by {', '.join(entry.aspects)}" if entry.aspects else "")
        lines = [entry.labels, about, f"{entry.licence}; {entry.source}", *entry.cautions]
        for line in lines:
            render.console.print(render.indented(line), style="dim")


@command.command("get")
@click.argument("name", shell_complete=options.completion.sets)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="Your copy: the original file or folder, or converted rows.",
)
def get_set(name: str, source: Path | None) -> None:
    """Fetch a set from its public repository, or take your copy; print its path."""
    from .. import catalog

    output.echo(catalog.get(name, source))


@command.command("path")
@click.argument("name", shell_complete=options.completion.sets)
@click.option(
    "--data",
    "root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of public sets [default: $DICAST_DATA].",
)
def set_path(name: str, root: Path | None) -> None:
    """Print the path of a set."""
    from .. import catalog

    output.echo(catalog.locate(name, root))


def _path(name: str) -> str | None:
    """Where the set is stored; None before it is fetched."""
    from .. import catalog
    from ..errors import DataError

    try:
        return str(catalog.locate(name))
    except DataError:
        return None
