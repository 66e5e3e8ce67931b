"""The registry of preparations; the modules of this package register themselves, those of others by an entry point."""

from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import DeclarationError
from ..judging import registry as judges
from ..judging.registry import Program, program_of
from ..registry import Registry
from .base import Chain

Builder = TypeVar("Builder", bound=Callable[..., Any])


PREPARATIONS: Registry[Program] = Registry("preparation", ".preparation", "dicast.preparations", convert=program_of)


def register(name: str, *, summary: str, source: str, inputs: str, calls: str) -> Callable[[Builder], Builder]:
    """A decorator that registers a preparation; see `Program`.

    Raises:
        DeclarationError: a built-in preparation has the name.
    """
    return judges.register(name, summary=summary, source=source, inputs=inputs, calls=calls, registry=PREPARATIONS)


def build_preparation(names: str, **settings: Any) -> Chain:
    """The preparations that `names` lists, as in `anonymise,summarise`, in this order.

    Raises:
        DeclarationError: an unknown or repeated preparation, an unknown parameter, or a value that it cannot take.
    """
    listed = [name.strip() for name in names.split(",")]
    programs = [PREPARATIONS.find(name, f"Use one or more of {', '.join(PREPARATIONS.names())}.") for name in listed]
    repeated = next((name for number, name in enumerate(listed) if name in listed[:number]), None)
    if repeated is not None:
        raise DeclarationError(f"preparation {repeated!r}: named twice in {names!r}. Name it once.")
    return Chain([program.build() for program in programs]).set(**settings)
