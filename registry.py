"""Named things that a user can choose, and add: judges, metrics, objectives, prompt optimizers, engines, preparations.

A registry holds one kind of thing by name. Built-in entries register themselves: every module of the registry's package
is imported the first time that a name is asked for, so a new entry is one new file. Entries of other packages are found
by an entry-point group, as in `[project.entry-points."dicast.judges"]`; a notebook or a script may register its own.
"""

import difflib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from threading import RLock
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from .errors import DeclarationError

Entry = TypeVar("Entry")


_registries: WeakSet["Registry[Any]"] = WeakSet()


def reset_plugins() -> None:
    """Make every registry look for plug-ins again, after a package was installed in this process."""
    for registry in _registries:
        registry.reset()


class Registry(Generic[Entry]):
    """Entries by name: built-in ones by module, whichever was imported first, then those of other packages.

    Args:
        kind: what one entry is called in messages, such as "judge".
        package: the package, relative to dicast, whose modules register the built-in entries, such as ".programs";
            None where the module that owns the registry registers all of them.
        group: the entry-point group of plug-ins, such as "dicast.judges".
        convert: makes an entry of what an entry point loads, given its name; the identity by default.
    """

    def __init__(
        self,
        kind: str,
        package: str | None,
        group: str,
        *,
        convert: Callable[[str, Any], Entry] = lambda _, loaded: loaded,
    ) -> None:
        self.kind, self.package, self.group, self.convert = kind, package, group, convert
        self._built_in: dict[str, Entry] = {}
        self._modules: dict[str, str] = {}  # of the built-in entries
        self._added: dict[str, Entry] = {}
        self._plugins: dict[str, Entry | Exception] | None = None
        self._imported = package is None
        self._lock = RLock()
        _registries.add(self)

    def add(self, name: str, entry: Entry, *, module: str | None = None) -> Entry:
        """Register an entry.

        Args:
            module: the module that defines it; None, or one of dicast, for a built-in entry. An entry of any other
                module may be registered again, so that a notebook's cell can run twice.

        Raises:
            DeclarationError: the name is that of a built-in entry.
        """
        is_built_in = module is None or module.partition(".")[0] == __package__
        if name in (self._built_in if is_built_in else self.built_in()):
            raise DeclarationError(f"{self.kind} {name!r}: registered twice. Choose another name.")
        (self._built_in if is_built_in else self._added)[name] = entry
        if is_built_in:
            self._modules[name] = module or ""
        return entry

    def remove(self, name: str) -> None:
        """Forget an entry that `add` registered from outside dicast."""
        self._added.pop(name, None)

    def built_in(self) -> Mapping[str, Entry]:
        """The entries of this package by name."""
        with self._lock:
            if not self._imported:
                self._imported = True
                package = import_module(str(self.package), __package__)
                for module in sorted(module.name for module in pkgutil.iter_modules(package.__path__)):
                    import_module(f"{package.__name__}.{module}")
                self._built_in = {name: self._built_in[name] for name in sorted(self._built_in, key=self._module_of)}
        return self._built_in

    def _module_of(self, name: str) -> str:
        return self._modules[name]

    def plugins(self) -> Mapping[str, Entry | Exception]:
        """The entries of other packages by name; an entry that cannot be loaded is its error."""
        built_in = self.built_in()
        with self._lock:
            if self._plugins is None:
                self._plugins = {point.name: self._loaded(point, built_in) for point in entry_points(group=self.group)}
        return self._plugins

    def _loaded(self, point: Any, built_in: Mapping[str, Entry]) -> Entry | Exception:
        if point.name in built_in:
            return DeclarationError(f"{point.value} has the name of a built-in {self.kind}; rename it")
        try:
            loaded = point.load()  # a module may register its entries itself while it is imported
            return self._added.get(point.name) or self.convert(point.name, loaded)
        except Exception as error:  # the import of another package may fail in any way, and must not break ours
            return error

    def others(self) -> Mapping[str, Entry | Exception]:
        """The plug-ins, and what was registered from outside dicast, by name."""
        plugins = self.plugins()
        return {**plugins, **self._added}

    def find(self, name: str, hint: str = "") -> Entry:
        """The entry of this name.

        Args:
            hint: ends the message when there is none and no similar name.

        Raises:
            DeclarationError: there is no such entry, or its package cannot be loaded.
        """
        entry = self.built_in().get(name) or self.others().get(name)
        if isinstance(entry, Exception):
            raise DeclarationError(
                f"{self.kind} {name!r}: its package cannot be loaded ({entry}). Fix or remove the package."
            )
        if entry is None:
            close = difflib.get_close_matches(name, self.names(), n=1)
            advice = f"Did you mean {close[0]!r}?" if close else hint or f"Use one of {', '.join(self.names())}."
            raise DeclarationError(f"{self.kind} {name!r}: there is no such {self.kind}. {advice}")
        return entry

    def names(self) -> list[str]:
        """All names, those of plug-ins that cannot be loaded included."""
        return [*self.built_in(), *self.others()]

    def __iter__(self) -> Iterator[Entry]:
        """The entries that can be used."""
        yield from self.built_in().values()
        yield from (entry for entry in self.others().values() if not isinstance(entry, Exception))

    def __contains__(self, name: object) -> bool:
        return name in self.built_in() or name in self.others()

    def reset(self) -> None:
        """Forget what was registered from outside dicast, and look for plug-ins again at the next look-up."""
        with self._lock:
            self._plugins = None
            self._added.clear()
