"""Options that several commands share."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click

from ..data import Case, Rejects, Scores, Winner, read_cases
from ..data.readers import HUB, file_digest
from ..data.rows import Scale
from ..errors import DeclarationError

Function = TypeVar("Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
lm_option = click.option(
    "--lm", help="provider/model for all stages, or role=provider/model,... [default: local/qwen2.5-coder-1.5b]"
)


def load_environment() -> None:
    """Read `.env` of the working folder; what is set already stays."""
    from dotenv import load_dotenv

    load_dotenv(Path.cwd() / ".env")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


def parse_scale(_: click.Context, __: click.Parameter, text: str) -> Scale:
    low, dots, high = text.partition("..")
    try:
        scale = (float(low), float(high))
    except ValueError:
        scale = (0, 0)
    if not dots or not scale[0] < scale[1]:
        raise click.BadParameter(f"{text!r} is no scale. Write LO..HI, as in 1..5.")
    return scale


def parse_fields(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [pair.partition("=") for text in texts for pair in text.split(",")]
    for ours, equals, theirs in pairs:
        if not (ours and equals and theirs):
            raise click.BadParameter(f"{ours + equals + theirs!r}: write OURS=THEIRS, as in response_a=chosen.")
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


scale_option = click.option(
    "--scale", default="1..5", callback=parse_scale, show_default=True, help="Scale of scores that name none."
)


def case_options(function: Function) -> Function:
    """--cases, --data, --fields, --scale, --aspect, --skip-bad."""
    folder = click.Path(path_type=Path, file_okay=False)
    options = [
        click.option(
            "--cases",
            "source",
            required=True,
            help="A .jsonl, .csv or .parquet file (.gz too), hf:NAME[:SPLIT], or a set of `dicast data list`.",
        ),
        click.option("--data", "root", type=folder, help="Folder of public sets [default: $DICAST_DATA]."),
        click.option("--fields", multiple=True, callback=parse_fields, help="Other column names: OURS=THEIRS,..."),
        scale_option,
        click.option("--aspect", help="Only cases of this aspect."),
        click.option("--skip-bad", is_flag=True, help="Write bad rows to a rejects file and go on."),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def open_cases(
    source: str,
    *,
    root: Path | None,
    fields: dict[str, str],
    scale: Scale,
    aspect: str | None,
    rejects: Rejects | None,
) -> tuple[Iterator[Case], str]:
    """The cases of a file or of a catalogue set, and a digest of the data (the name for what has none)."""
    from ..data import catalog

    if source in catalog.CATALOG:
        cases = catalog.read(source, root=root)
        digest = _digest(catalog.locate(source, root))
    else:
        cases = read_cases(source, fields=fields, scale=scale, rejects=rejects)
        if not source.startswith(HUB) and not Path(source).exists() and os.sep not in source and "." not in source:
            raise DeclarationError(f"--cases {source!r}: no such file and no such set. See: dicast data list")
        digest = _digest(Path(source)) if Path(source).is_file() else source
    return (case for case in cases if aspect is None or case.aspect == aspect), digest


def is_tie(case: Case) -> bool:
    """The human label says that neither of the two is better."""
    match case.label:
        case Winner(value="tie"):
            return True
        case Scores(values=(first, second)):
            return first == second
    return False


def _digest(path: Path) -> str:
    """SHA-256 of a file, or of the digests of a folder's files in order of their names."""
    if path.is_file():
        return file_digest(path)
    digests = [file_digest(file) for file in sorted(path.rglob("*")) if file.is_file()]
    return hashlib.sha256("".join(digests).encode()).hexdigest()
