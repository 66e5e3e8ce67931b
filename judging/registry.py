"""The registry of judges: `register` adds a program, `PROGRAMS` finds it, `new_judge` builds it.

The modules of `dicast/programs` register themselves; judges of other packages are found by the entry-point group
`dicast.judges`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..errors import DeclarationError
from ..registry import Registry
from .judge import Judge

YAML_SUFFIXES, JUDGE_SUFFIX = (".yaml", ".yml"), ".judge.json"

Builder = TypeVar("Builder", bound=Callable[..., Any])


@dataclass(frozen=True)
class Program:
    """A registered judge or preparation.

    Attributes:
        name: as users choose it.
        build: makes a new one; takes no required argument.
        summary: one line for `dicast list`.
        source: the paper, or "-".
        inputs: what it takes, such as "pairs, single texts; a profile".
        calls: LM calls of one case with the default parameters, in words.
    """

    name: str
    build: Callable[..., Any]
    summary: str
    source: str
    inputs: str
    calls: str


def program_of(name: str, loaded: Any) -> Program:
    """The program of an entry point: a `Program`, or a class or function without required arguments that builds one."""
    if isinstance(loaded, Program):
        return loaded
    summary = (loaded.__doc__ or "").strip().partition("\n")[0]
    return Program(name, loaded, summary or "of another package", loaded.__module__, "see its package", "-")


PROGRAMS: Registry[Program] = Registry("judge", ".programs", "dicast.judges", convert=program_of)


def register(
    name: str,
    *,
    summary: str,
    source: str,
    inputs: str,
    calls: str,
    settings: Mapping[str, Any] | None = None,
    registry: Registry[Program] = PROGRAMS,
) -> Callable[[Builder], Builder]:
    """A decorator that registers a judge class, or a function that makes a judge; see `Program`.

    Args:
        settings: arguments of the class, so that one class may be registered under several names.

    Raises:
        DeclarationError: a built-in judge has the name.

    Example: docs/extending.md, "A judge".
    """

    def add(builder: Builder) -> Builder:
        build = partial(builder, **settings) if settings else builder
        registry.add(name, Program(name, build, summary, source, inputs, calls), module=builder.__module__)
        return builder

    return add


def new_judge(name: str) -> Judge:
    """A judge of a registered program with its default parameters.

    Raises:
        DeclarationError: there is no such program, its package cannot be loaded, or it gives no judge.
    """
    judge = PROGRAMS.find(
        name, f"Use one of {', '.join(PROGRAMS.names())}, or a .yaml or a {JUDGE_SUFFIX} file."
    ).build()
    if not isinstance(judge, Judge):
        raise DeclarationError(
            f"judge {name!r}: its package gives a {type(judge).__name__}, not a judge. Return a dicast.Judge."
        )
    return judge


def is_judge_file(name: str) -> bool:
    """Whether the name is that of a YAML file or of a judge file."""
    return name.endswith((*YAML_SUFFIXES, JUDGE_SUFFIX))


def judge_title(name: str) -> str:
    """The judge's name, or the stem of its file."""
    if not is_judge_file(name):
        return name
    return Path(name).name.removesuffix(JUDGE_SUFFIX) if name.endswith(JUDGE_SUFFIX) else Path(name).stem
