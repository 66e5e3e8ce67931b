"""What the commands that run over cases share: limits, parameters, models made ready, and a manifest's facts."""

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..data import Case
    from .options import CaseSource


def prepare_models(judge: Any, *others: str) -> None:
    """Make every model ready before the first case, with a progress bar for a download; `others` are of the recipe."""
    from ..engines.cache import configure_cache
    from ..engines.models import prepare
    from . import render

    configure_cache()
    for model in dict.fromkeys([*(stage.model for stage in judge.stages()), *others]):
        with render.download_progress() as progress:
            prepare(model, progress)


def read_sample(
    source: "CaseSource", folder: Path, limit: int | None, seed: int | None, *, skip_bad: bool
) -> "list[Case]":
    """The cases, of which a seed draws `limit`; with `skip_bad` bad rows go into the folder's rejects file, which is
    told.

    Raises:
        DataError: no case.
    """
    from ..data import Rejects
    from ..data.split import sample
    from ..errors import DataError

    if skip_bad:
        folder.mkdir(parents=True, exist_ok=True)
        with Rejects(folder / "rejects.jsonl") as rejects:
            cases = list(sample(source.cases(rejects), limit, seed))
        if rejects.count:
            click.echo(f"{rejects.count:,} bad rows are in {rejects.path}", err=True)
    else:
        cases = list(sample(source.cases(), limit, seed))
    if not cases:
        raise DataError(f"--cases {source.source}: holds no case, or none that the options leave. Give others.")
    return cases


def fresh(cases: "list[Case]", judge: str) -> "list[Case]":
    """The cases that a judge file was not made of; those that are left out are told.

    Raises:
        DataError: none is left.
    """
    from ..errors import DataError
    from ..judging.judge_file import read
    from ..judging.registry import JUDGE_SUFFIX
    from ..optimizers.fingerprints import exclude_seen

    if not judge.endswith(JUDGE_SUFFIX):
        return cases
    left = exclude_seen(cases, read(judge).training.get("cases"))
    if not left:
        raise DataError(f"--cases: {judge} was made of all these {len(cases):,} cases. Give some that are new to it.")
    if len(left) < len(cases):
        told = f"{judge} was made of {len(cases) - len(left):,} of these {len(cases):,} cases; they are left out."
        click.echo(told, err=True)
    return left


def parse_budget(text: str | None) -> Any:
    from ..engines.ledger import Budget

    try:
        return Budget.parse(text or "")
    except ValueError as error:
        raise click.BadParameter(f"--budget {error}") from None


def parse_settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """NAME=VALUE pairs; a value that reads as JSON (3, 0.5, true) is that, any other is text."""
    import json

    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"--set {text!r}: write NAME=VALUE.")
        try:
            settings[name] = json.loads(value)
        except json.JSONDecodeError:
            settings[name] = value
    return settings


def default_workers(judge: Any) -> int:
    """Cases judged at once by default, as the judge's engines say."""
    from ..engines import models

    return models.default_workers(stage.model for stage in judge.stages())


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("dicast", "dspy", "litellm", "pydantic")}
