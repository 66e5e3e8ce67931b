"""Engines: the ways to reach a model, by model string. A new engine is one file that registers itself.

Engines of other packages are found by the entry-point group `dicast.engines`; they are asked before the built-in ones.
"""

from typing import TYPE_CHECKING, Any

from ..errors import DeclarationError
from ..registry import Registry
from .model_string import ModelString
from .weights import OnProgress

if TYPE_CHECKING:
    from .lm import Transport


class Engine:
    """A way to reach models. A subclass says which model strings it serves, and connects to their models.

    Attributes:
        name: the registry's name.
        summary: what it is, in a line.
        example: a model string that it serves.
        workers: cases judged at once by default.
        in_turn: whether the questions of a case are asked one after another, so that each reads on from what the one
            before has left; where answers are waited for on a network, they are asked at once.
    """

    name: str = ""
    summary: str = ""
    example: str = ""
    workers: int = 16
    in_turn: bool = False

    def matches(self, model: ModelString) -> bool:
        """Whether this engine serves the model; by default, whether the provider is the engine's name."""
        return model.provider == self.name

    def identity(self, model: ModelString) -> str:
        """What the answer cache and run manifests call the model: it must change when answers can, and hold no key."""
        return model.identity

    def connect(self, model: ModelString, *, trusted: bool) -> "Transport":
        """The transport of requests to the model.

        Args:
            trusted: the user has named the model's address, so that the user's keys may be sent to it.

        Raises:
            ModelError: a model that cannot be reached at all.
        """
        raise NotImplementedError

    def prepare(self, model: ModelString, progress: OnProgress) -> None:
        """Make the model ready before the first case, such as by a download; raises ModelError."""


def _instance(name: str, loaded: Any) -> Engine:
    """The engine of an entry point, which names an Engine class or object."""
    engine = loaded() if isinstance(loaded, type) else loaded
    if not isinstance(engine, Engine):
        raise DeclarationError(f"engine {name!r}: is a {type(engine).__name__}. Name a subclass of dicast's Engine.")
    return engine


ENGINES: Registry[Engine] = Registry("engine", ".engines.providers", "dicast.engines", convert=_instance)


def register(engine: type[Engine]) -> type[Engine]:
    """Class decorator: register a built-in engine under its name."""
    ENGINES.add(engine.name, engine(), module=engine.__module__)
    return engine


def engine_of(model: ModelString) -> Engine:
    """The engine that serves a model: that of another package, else a built-in one.

    Raises:
        DeclarationError: none does, or the package of the engine of this provider's name cannot be loaded.
    """
    plugins = ENGINES.plugins()
    if isinstance(plugins.get(model.provider), Exception):
        ENGINES.find(model.provider)  # raises
    usable = [engine for engine in plugins.values() if isinstance(engine, Engine)]
    for engine in [*usable, *ENGINES.built_in().values()]:
        if engine.matches(model):
            return engine
    raise DeclarationError(f"model {model.identity!r}: no engine serves it. There are: {', '.join(ENGINES.names())}.")
