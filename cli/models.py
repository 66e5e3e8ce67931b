"""`dicast models`: local models."""

from pathlib import Path

import click

from . import options, output


@click.group("models")
def command() -> None:
    """List, fetch and find local models.

    \b
    Example:
      dicast models list
      dicast models get qwen2.5-coder-1.5b
      dicast models get qwen2.5-coder-1.5b --from ~/Downloads/model.gguf
    """


@command.command("list")
@options.json_option
def list_models(as_json: bool) -> None:
    """The catalogue, which models are fetched, and the disk that files cut for reading states take."""
    from ..engines import weights
    from ..engines.states.cut_gguf import cuts_of
    from ..evidence.reward_models import REWARD_MODELS
    from . import render

    rows = [
        {
            "model": f"local/{entry.name}",
            "mib": round(entry.size / 2**20),
            "fetched": weights.weights_path(entry.name).is_file(),
            "states_mib": round(sum(path.stat().st_size for path in cuts_of(weights.weights_path(entry.name))) / 2**20),
            "licence": entry.licence,
            "note": entry.note,
            "sha256": entry.sha256,
        }
        for entry in weights.CATALOG.values()
    ]
    if as_json:
        options.print_json(rows)
        return
    columns = ["model", "mib", "fetched", "states_mib", "licence", "note"]
    shown = [[("yes" if row[name] else "no") if name == "fetched" else row[name] for name in columns] for row in rows]
    render.console.print(render.table(["model", "MiB", "fetched", "states MiB", "licence", "note"], shown))
    render.console.print("Any GGUF file of yours: local//path/to/model.gguf", style="dim")
    render.console.print(
        "By torch, also of the hub: transformers/qwen2.5-coder-1.5b, transformers/OWNER/NAME", style="dim"
    )
    render.console.print(f"Reward models, as --set evidence=reward=NAME: {', '.join(REWARD_MODELS)}", style="dim")


@command.command("get")
@click.argument("name", shell_complete=options.completion.models)
@click.option("--from", "source", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A local copy.")
def get_model(name: str, source: Path | None) -> None:
    """Fetch a model, check its SHA-256 and print its path."""
    from ..engines import weights
    from . import render

    with render.download_progress() as progress:
        path = weights.get_weights(name.removeprefix("local/"), source=source, progress=progress)
    output.echo(path)


@command.command("path")
@click.argument("name", shell_complete=options.completion.models)
def model_path(name: str) -> None:
    """Print the path of a fetched model."""
    from ..engines import weights
    from ..errors import ModelError

    path = weights.weights_path(name.removeprefix("local/"))
    if not path.is_file():
        raise ModelError(f"local/{name.removeprefix('local/')}: not fetched yet. Run: dicast models get {name}")
    output.echo(path)
