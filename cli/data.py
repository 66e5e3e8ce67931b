"""`dicast data`: public human-labelled sets."""

from pathlib import Path

import click

from . import options


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
    from dataclasses import asdict

    from ..catalog import catalog
    from . import render

    if as_json:
        options.print_json(
            [asdict(entry) | {"here": _here(entry.name) is not None} for entry in catalog.CATALOG.values()]
        )
        return
    for entry in catalog.CATALOG.values():
        here = _here(entry.name)
        render.console.print(f"[bold]{entry.name}[/]  {entry.title}: {entry.size:,} {entry.kind} rows", end="")
        render.console.print(f", here: {here}" if here else "", style="green", markup=False)
        lines = [entry.labels, f"{entry.licence}; {entry.source}", *entry.cautions]
        for line in lines:
            render.console.print(render.indented(line), style="dim", markup=False)


@command.command("get")
@click.argument("name")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="Your copy: the original file or folder, or converted rows.",
)
def get_set(name: str, source: Path | None) -> None:
    """Fetch a set from its public repository, or take your copy; print where it lies."""
    from ..catalog import catalog

    click.echo(catalog.get(name, source))


@command.command("path")
@click.argument("name")
@click.option(
    "--data",
    "root",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of public sets [default: $DICAST_DATA].",
)
def set_path(name: str, root: Path | None) -> None:
    """Print where a set lies."""
    from ..catalog import catalog

    click.echo(catalog.locate(name, root))


def _here(name: str) -> Path | None:
    from ..catalog import catalog
    from ..errors import DataError

    try:
        return catalog.locate(name)
    except DataError:
        return None
