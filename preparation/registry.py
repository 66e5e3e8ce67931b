"""The registry of preparations; the modules of this package register themselves, those of others by an entry point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..errors import DeclarationError
from ..judging import registry as judges
from ..judging.registry import Program, program_of
from ..registry import Registry
from .base import Chain
from .set_preparation import SetPreparation

Builder = TypeVar("Builder", bound=Callable[..., Any])


PREPARATIONS: Registry[Program] = Registry("preparation", ".preparation", "dicast.preparations", convert=program_of)


def register(name: str, *, summary: str, source: str, inputs: str, calls: str) -> Callable[[Builder], Builder]:
    """A decorator that registers a preparation; see `Program`.

    Raises:
        DeclarationError: a built-in preparation has the name.
    """
    return judges.register(name, summary=summary, source=source, inputs=inputs, calls=calls, registry=PREPARATIONS)


@dataclass(frozen=True)
class Pipeline:
    """Preparations in their order.

    Attributes:
        name: their names, with commas.
        of_set: the first, where it builds the cases out of the whole set.
        of_cases: the others, which rewrite each case.
    """

    name: str
    of_set: SetPreparation | None
    of_cases: Chain

    def settings(self) -> dict[str, Any]:
        """The parameters of all, by name."""
        return (self.of_set.settings() if self.of_set else {}) | self.of_cases.settings()


def build_pipeline(names: str, **settings: Any) -> Pipeline:
    """The preparations that `names` lists, as in `histories,anonymise`, in this order.

    Raises:
        DeclarationError: an unknown or repeated preparation, a preparation of a whole set that is not the first, an
            unknown parameter, or a value that it cannot take.
    """
    listed = [name.strip() for name in names.split(",")]
    programs = [PREPARATIONS.find(name, f"Use one or more of {', '.join(PREPARATIONS.names())}.") for name in listed]
    repeated = next((name for number, name in enumerate(listed) if name in listed[:number]), None)
    if repeated is not None:
        raise DeclarationError(f"preparation {repeated!r}: named twice in {names!r}. Name it once.")
    steps = Chain([program.build() for program in programs]).set(**settings).steps
    late = next((step for step in steps[1:] if isinstance(step, SetPreparation)), None)
    if late is not None:
        raise DeclarationError(
            f"preparation {late.name!r}: builds its cases out of a whole set, so that it can only be the first, but "
            f"--with is {names!r}. Put it first, or prepare twice: the second time from the first file."
        )
    of_set = steps[0] if isinstance(steps[0], SetPreparation) else None
    return Pipeline(",".join(listed), of_set, Chain(steps[1:] if of_set else steps))


def build_preparation(names: str, **settings: Any) -> Chain:
    """The preparations of single cases that `names` lists; see `build_pipeline`.

    Raises:
        DeclarationError: also for a preparation of a whole set, which `dicast.prepare` runs.
    """
    pipeline = build_pipeline(names, **settings)
    if pipeline.of_set is not None:
        raise DeclarationError(
            f"preparation {pipeline.of_set.name!r}: builds its cases out of a whole set. Use dicast.prepare, or its "
            "`build`."
        )
    return pipeline.of_cases
