"""The import graph of the package, read from its sources: modules, lines, rooms and the imports between them.

python tests/support/import_graph.py [FOLDER]    prints the table of rooms, upward imports and a circle
"""

import ast
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

# The floors of the house, the ground first: a room imports only rooms that come before it.
ROOMS = tuple(
    "redaction errors paths parsing _version registry data signatures stats engines catalog evaluation text_metrics "  # noqa: SIM905
    "evidence judging programs preparation reproduction optimizers distillation experiments pages workflows testing "
    "cli".split()
)
NOT_ROOMS = {"tests", "benchmarks", "docs", "build"}


@dataclass(frozen=True)
class ImportGraph:
    """Modules by dotted name within the package, each with its file; edges are relative imports."""

    root: Path

    @cached_property
    def modules(self) -> dict[str, Path]:
        files = (path for path in self.root.rglob("*.py") if not _is_excluded(path.relative_to(self.root)))
        return {_name(path.relative_to(self.root)): path for path in sorted(files)}

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        """For each module, the modules and packages that it imports, imports inside functions included."""
        return {name: self._imports_of(path) for name, path in self.modules.items()}

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """For each module, the modules that import it."""
        result: dict[str, set[str]] = {name: set() for name in self.modules}
        for name, targets in self.imports.items():
            for target in targets - {name}:
                result[target].add(name)
        return result

    @cached_property
    def lines(self) -> Counter[str]:
        """Lines of Python by room."""
        counts: Counter[str] = Counter()
        for name, path in self.modules.items():
            counts[room_of(name)] += len(path.read_text(encoding="utf-8").splitlines())
        return counts

    def upward(self) -> list[str]:
        """Imports of a room by a room that comes before it; the package face and `python -m dicast` may import all."""
        return [
            f"{name} imports {target}"
            for name, targets in self.imports.items()
            if room_of(name) in ROOMS
            for target in sorted(targets)
            if room_of(target) in ROOMS and ROOMS.index(room_of(target)) > ROOMS.index(room_of(name))
        ]

    def circle(self) -> list[str]:
        """Modules of which each imports the one before it, the first of them twice; [] where there is no circle."""
        try:
            TopologicalSorter({name: targets - {name} for name, targets in self.imports.items()}).prepare()
        except CycleError as error:
            return list(error.args[1])
        return []

    def single_importer(self) -> list[str]:
        """Modules that exactly one other module imports."""
        return [name for name, importers in self.importers.items() if len(importers) == 1]

    def _imports_of(self, path: Path) -> set[str]:
        package = path.relative_to(self.root).parts[:-1]
        targets = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = [*package[: len(package) - node.level + 1], *(node.module or "").split(".")]
                source = ".".join(filter(None, base))
                members = {".".join(filter(None, [source, alias.name])) for alias in node.names}
                targets |= {member if member in self.modules else source for member in members}
        return targets & self.modules.keys()


def room_of(module: str) -> str:
    """The first part of a module's name; empty for the package face."""
    return module.partition(".")[0]


def _name(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _is_excluded(path: Path) -> bool:
    return path.parts[0] in NOT_ROOMS or any(part.startswith(".") for part in path.parts)


def main() -> None:
    graph = ImportGraph(Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2]).resolve())
    total = graph.lines.total()
    print(f"{len(graph.modules)} modules, {total:,} lines, {len(graph.single_importer())} modules with one importer")
    for room, lines in graph.lines.most_common():
        modules = sum(room_of(name) == room for name in graph.modules)
        print(f"{room or 'package face':14} {modules:4} modules {lines:7,} lines {100 * lines / total:5.1f} %")
    print("upward imports:", *(graph.upward() or ["none"]), sep="\n  ")
    print("circle:", " < ".join(graph.circle()) or "none")


if __name__ == "__main__":
    main()
