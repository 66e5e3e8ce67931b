"""The kinds of values that options take, and several options as one decorator."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from .completion import offered
from .known_names import names_of

Function = TypeVar("Function", bound=Callable[..., Any])


class NameChoice(click.ParamType[str]):
    """One of some names, which are computed only when a value is parsed or the help is shown.

    Args:
        names: gives the names, as those of a registry.
        kind: what a shell offers, a kind of `known_names.names_of`; nothing is imported for it.
    """

    name = "name"

    def __init__(self, names: Callable[[], Iterable[str]], kind: str) -> None:
        self.names, self.kind = names, kind

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
        return offered(names_of(self.kind), incomplete)


class NameList(NameChoice):
    """One of some names, or several with commas; the command checks them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)


class FloatRange(click.FloatRange):
    """A number of a range; NaN is not in any."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        return self.fail(f"{value!r} is not a number.", param, ctx) if math.isnan(number) else number


class OutPath(click.Path):
    """A file or folder to write; its name is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return super().convert(value, param, ctx) if str(value) else self.fail("the name is empty.", param, ctx)


class RunPath(click.Path):
    """A run that exists: a folder, a file, or rows of a file as in verdicts.jsonl:judge=gpt-4o."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..errors import RunError
        from ..workflows.run_names import parse_run_name

        try:
            parse_run_name(str(value))
        except RunError as error:
            self.fail(str(error), param, ctx)
        return str(value)


FOLDER = OutPath(path_type=Path, file_okay=False)
RUN = RunPath(exists=True)


def together(*options: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """One decorator of several options, in this order."""

    def decorated(function: Function) -> Function:
        for option in reversed(options):
            function = option(function)
        return function

    return decorated
