"""Experiment files: those that come with dicast, and those of a user."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import DeclarationError
from ..parsing import parse_record, parse_yaml, read_text
from .cells import Cell, cells_of
from .spec import ExperimentFile, ExperimentSet

SUFFIXES = (".yaml", ".yml")
ADVICE = "docs/experiments.md describes the fields."


@dataclass(frozen=True)
class Experiment:
    """An experiment by name.

    Attributes:
        name: the stem of its file.
        text: of the file.
        folder: of a user's file, where the files that it names are looked for first; None for one of dicast.
        only: the sets that are judged; () for all.
    """

    name: str
    content: ExperimentFile
    text: str
    folder: Path | None = None
    only: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> list[Cell]:
        return [cell for cell in cells_of(self.name, self.content) if cell.set in self.sets]

    @property
    def sets(self) -> Mapping[str, ExperimentSet]:
        """The sets that are judged, by name, with those that they are rewritten from."""
        if not self.only:
            return self.content.sets
        rewritten = [run for name in self.only if (run := self.content.sets[name].corrected)]
        names = {*self.only, *(name for run in rewritten for name in self.content.runs[run].sets)}
        return {name: spec for name, spec in self.content.sets.items() if name in names}

    def of_sets(self, names: Sequence[str]) -> "Experiment":
        """The experiment on these of its sets; raises DeclarationError for a set that it lacks."""
        for name in names:
            if name not in self.content.sets:
                known = ", ".join(self.content.sets)
                raise DeclarationError(f"experiment {self.name!r}: there is no set {name!r}. It has: {known}.")
        return replace(self, only=tuple(names))

    @property
    def place(self) -> str:
        """Paper and place, as in "arXiv 2405.12163, Table 3"; empty for an experiment of a user's."""
        return ", ".join(filter(None, (self.content.paper, self.content.place)))


def shipped_experiments() -> list[Experiment]:
    """The experiments of the papers, by name."""
    return [_experiment(path.stem, path.read_text("utf-8")) for path in _shipped()]


def find_experiment(name: str | Path) -> Experiment:
    """An experiment of dicast by its name, or of a user's by its file.

    Raises:
        DeclarationError: there is no such experiment, or its file declares none.
    """
    if str(name).endswith(SUFFIXES):
        return read_experiment(Path(name))
    paths = {path.stem: path for path in _shipped()}
    if str(name) not in paths:
        close = get_close_matches(str(name), list(paths), n=1)
        advice = f"Did you mean {close[0]!r}?" if close else "dicast experiment list has all; a file ends in .yaml."
        raise DeclarationError(f"experiment {str(name)!r}: there is no such experiment. {advice}")
    return _experiment(str(name), paths[str(name)].read_text("utf-8"))


def read_experiment(path: Path) -> Experiment:
    """The experiment of a user's file.

    Raises:
        DeclarationError: the file declares none, or another than dicast's of the same name, whose folder it would take.
    """
    text = read_text(path, f"experiment {path}", error=DeclarationError)
    if any(shipped.stem == path.stem and shipped.read_text("utf-8") != text for shipped in _shipped()):
        raise DeclarationError(f"experiment {path}: dicast has its own {path.stem!r}. Give your file another name.")
    return _experiment(path.stem, text, path)


def _shipped() -> Iterator[Path]:
    folder = Path(str(files(__package__).joinpath("files")))
    return iter(sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES))


def _experiment(name: str, text: str, path: Path | None = None) -> Experiment:
    where = f"experiment {path or name}"
    value = parse_yaml(text, where, error=DeclarationError, advice=ADVICE)
    value = _with_printed_decimals(value, parse_yaml(text, where, error=DeclarationError, strings=True))
    content = parse_record(ExperimentFile, value, where, error=DeclarationError, advice=ADVICE)
    experiment = Experiment(name, content, text, path and path.parent)
    _ = experiment.cells  # what the file names without declaring it is an error of the file
    return experiment


def _with_printed_decimals(value: Any, written: Any) -> Any:
    """The content with printed figures as texts, so that 0.630 keeps its zero."""
    rows = value.get("printed") if isinstance(value, dict) else None
    if not isinstance(rows, list):
        return value
    texts = written["printed"]
    return value | {
        "printed": [
            row | {"values": text["values"]} if isinstance(row, dict) and "values" in row else row
            for row, text in zip(rows, texts, strict=True)
        ]
    }
