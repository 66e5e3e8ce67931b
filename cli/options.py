"""Options that several commands share."""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..data import Case, Rejects, read_cases, rows
from ..data.readers import HUB, file_digest
from ..data.refusal_detection import has_refusal
from ..data.rows import Scale
from ..errors import DataError

COUNT_UP_TO = 32 * 2**20  # bytes: about two seconds of reading

Function = TypeVar("Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON to standard output.")
lm_option = click.option(
    "--lm", help="provider/model for all stages, or role=provider/model,... [default: local/qwen2.5-coder-1.5b]"
)


class NameChoice(click.ParamType[str]):
    """One of some names, which are computed only when a value is parsed or the help is shown.

    Args:
        names: gives the names, as those of a registry.
    """

    name = "name"

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self.names = names

    @property
    def _choice(self) -> "click.Choice[str]":
        return click.Choice(tuple(self.names()))

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        return self._choice.get_metavar(param, ctx)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        return self._choice.get_missing_message(param, ctx)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return self._choice.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return self._choice.shell_complete(ctx, param, incomplete)


def load_environment() -> None:
    """Read `.env` of the working folder; what is set already stays."""
    from dotenv import load_dotenv

    load_dotenv(Path.cwd() / ".env")


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


def parse_scale(_: click.Context, __: click.Parameter, text: str) -> Scale:
    try:
        return rows.parse_scale(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


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
    """--cases, --data, --fields, --scale, --aspect, --max-chars, --skip-bad."""
    return case_options_of(required=True)(function)


def case_options_of(*, required: bool) -> Callable[[Function], Function]:
    """The same, --cases `required` or not."""
    folder = click.Path(path_type=Path, file_okay=False)
    options = [
        click.option(
            "--cases",
            "source",
            required=required,
            help="A .jsonl, .csv or .parquet file (.gz too), hf:NAME[:SPLIT], or a set of `dicast data list`.",
        ),
        click.option("--data", "root", type=folder, help="Folder of public sets [default: $DICAST_DATA]."),
        click.option("--fields", multiple=True, callback=parse_fields, help="Other column names: OURS=THEIRS,..."),
        scale_option,
        click.option("--aspect", help="Only cases of this aspect."),
        click.option("--max-chars", type=click.IntRange(1), help="Only cases of at most so many characters in all."),
        click.option("--skip-bad", is_flag=True, help="Write bad rows to a rejects file and go on."),
    ]

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated


@dataclass(frozen=True)
class CaseSource:
    """Where cases come from and which of them count, as the command line says it."""

    source: str
    root: Path | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    scale: Scale = (1, 5)
    aspect: str | None = None
    max_chars: int | None = None
    no_ties: bool = False
    no_refusals: bool = False

    @property
    def stem(self) -> str:
        """The name of the file or set, without endings, for what is made of it."""
        return Path(self.source.replace(":", "-")).name.split(".")[0]

    def told(self) -> dict[str, Any]:
        """As JSON, for a run's manifest; paths are absolute."""
        file, root = Path(self.source), self.root or os.environ.get("DICAST_DATA")
        return asdict(self) | {
            "source": str(file.absolute()) if file.is_file() else self.source,
            "root": str(Path(root).absolute()) if root else None,
            "scale": list(self.scale),
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "CaseSource":
        """Read back from a manifest."""
        root = Path(told["root"]) if told["root"] else None
        return cls(**{**told, "root": root, "scale": tuple(told["scale"])})

    def cases(self, rejects: Rejects | None = None) -> Iterator[Case]:
        """The cases, one at a time; bad rows go to `rejects`, or the first one raises."""
        from ..catalog import catalog

        self.path()
        if self.source in catalog.CATALOG:
            cases = catalog.read(self.source, root=self.root)
        else:
            cases = read_cases(self.source, fields=self.fields, scale=self.scale, rejects=rejects)
        wanted = (case for case in cases if self.aspect is None or case.aspect == self.aspect)
        wanted = (case for case in wanted if self.max_chars is None or characters(case) <= self.max_chars)
        wanted = (case for case in wanted if not (self.no_refusals and has_refusal(case)))
        return (case for case in wanted if not (self.no_ties and is_tie(case)))

    def path(self) -> Path | None:
        """Where the data lies; None on the hub.

        Raises:
            DeclarationError: neither a file, nor a set of the catalogue, nor on the hub.
        """
        from ..catalog import catalog

        if self.source in catalog.CATALOG:
            return catalog.locate(self.source, self.root)
        if self.source.startswith(HUB):
            return None
        if Path(self.source).is_file():
            return Path(self.source)
        told = (
            "there is no such file" if os.sep in self.source or "." in self.source else "no such file and no such set"
        )
        raise DataError(
            f"--cases {self.source}: {told}. Give a .jsonl, .csv or .parquet file, hf:NAME, or a set: dicast data list"
        )

    def digest(self) -> str:
        """SHA-256 of the data; the name for what is on the hub."""
        path = self.path()
        if path is None:
            return self.source
        if path.is_file():
            return file_digest(path)
        digests = [file_digest(file) for file in sorted(path.rglob("*")) if file.is_file()]
        return hashlib.sha256("".join(digests).encode()).hexdigest()

    def count(self) -> int | None:
        """How many cases there are; None where counting would take long."""
        path = self.path()
        if path is None or (path.is_file() and path.stat().st_size > COUNT_UP_TO):
            return None
        with tempfile.TemporaryDirectory() as folder, Rejects(Path(folder) / "rejects") as rejects:
            return sum(1 for _ in self.cases(rejects))


def characters(case: Case) -> int:
    """Of the request, the turns before it, and all candidates."""
    texts = (case.query, *(turn.text for turn in case.history), *(candidate.text for candidate in case.candidates))
    return sum(map(len, texts))


def is_tie(case: Case) -> bool:
    """The human label says that neither of the two is better."""
    return case.label is not None and case.label.winner == "tie"
