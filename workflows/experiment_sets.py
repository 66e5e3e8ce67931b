"""The sets of an experiment: on this machine, prepared where the file says so, or missing with where to get them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..catalog import DATA_SETS
from ..data.rows import parse_scale
from ..errors import DataError, DeclarationError
from ..experiments import Experiment
from ..experiments.results import MissingSet
from ..experiments.spec import ExperimentSet
from ..parsing import explain
from .case_source import CaseSource
from .project import project_reading

OPTIONS = tuple(field.name for field in fields(CaseSource) if field.name not in ("source", "root"))


@dataclass(frozen=True)
class CaseSample:
    """Which cases of a set are judged; as of `dicast.run`."""

    limit: int | None = None
    seed: int | None = None
    limit_groups: int | None = None


@dataclass(frozen=True)
class FoundSet:
    """A set whose cases are on this machine.

    Attributes:
        spec: as the experiment declares it.
        source: what is judged, or first prepared.
    """

    name: str
    spec: ExperimentSet
    source: CaseSource


def find_sets(
    experiment: Experiment, root: Path | None, replaced: Mapping[str, str]
) -> tuple[dict[str, FoundSet], list[MissingSet]]:
    """The sets of an experiment that are on this machine, by name, and the missing ones.

    Args:
        root: the folder of public sets; None for $DICAST_DATA.
        replaced: set: the file or set that takes its place.

    Raises:
        DeclarationError: a name that is neither a set of the catalogue nor a file, and of which the experiment does not
            say where it is fetched; an option that no source has; or a set of `replaced` that the experiment lacks.
    """
    if unknown := set(replaced) - set(experiment.content.sets):
        name = min(unknown)
        raise DeclarationError(
            f"experiment {experiment.name!r}: there is no set {name!r}. {_near(name, list(experiment.content.sets))}"
        )
    sets, missing = {}, []
    for name, spec in experiment.sets.items():
        if spec.corrected:
            continue
        try:
            sets[name] = FoundSet(name, spec, _source(experiment, name, spec, root, replaced.get(name)))
        except DataError as error:
            get = " ".join(spec.fetch.split())
            if name in replaced or (not get and (spec.cases or name) not in DATA_SETS):
                raise
            missing.append(MissingSet(name=name, why=str(error), get=get or f"dicast data get {spec.cases or name}"))
    for name, spec in experiment.sets.items():
        lacking = {absent.name: absent for absent in missing}
        if spec.corrected and (base := experiment.content.runs[spec.corrected].sets[0]) in lacking:
            missing.append(lacking[base].model_copy(update={"name": name}))
    return sets, missing


def with_options(source: CaseSource, options: Mapping[str, Any], who: str) -> CaseSource:
    """The source with options that a file declares; `scale` is written as in 1..5.

    Raises:
        DeclarationError: an option that no source has, or a value that it cannot take.
    """
    if unknown := [name for name in options if name not in OPTIONS]:
        raise DeclarationError(f"{who}: there is no option {unknown[0]!r}. {_near(unknown[0], list(OPTIONS))}")
    try:
        scale = {"scale": parse_scale(str(options["scale"]))} if "scale" in options else {}
        return TypeAdapter(CaseSource).validate_python({**source.__dict__, **options, **scale})
    except ValidationError as error:
        raise DeclarationError(f"{who}: {explain(error)}") from None
    except ValueError as error:
        raise DeclarationError(f"{who}: scale {error}.") from None


def _source(
    experiment: Experiment, name: str, spec: ExperimentSet, root: Path | None, replaced: str | None
) -> CaseSource:
    """The source of a set; raises DataError where there is no such file or set."""
    who = f"experiment {experiment.name!r}, set {name!r}"
    text = replaced or spec.cases or name
    if replaced is None and text not in DATA_SETS:
        text = next((str(path) for path in _places(experiment, text, root) if path.is_file()), text)
    source = with_options(_read_as_project(experiment, text) or CaseSource(text, root), spec.options, who)
    try:
        source.path()
    except DataError as error:
        close = get_close_matches(text, DATA_SETS.names(), n=1) if text not in DATA_SETS else []
        raise DataError(f"{who}: {error}" + (f" Did you mean {close[0]!r}?" if close else "")) from None
    return source


def _read_as_project(experiment: Experiment, text: str) -> CaseSource | None:
    """A file as dicast.toml reads it, that of the experiment's folder or else of the working folder; else None."""
    if text in DATA_SETS:
        return None
    folders = (experiment.folder, Path())
    readings = (project_reading(text, folder) for folder in folders if folder is not None)
    return next((reading for reading in readings if reading is not None), None)


def _places(experiment: Experiment, text: str, root: Path | None) -> list[Path]:
    """Where a file is looked for before the working folder: beside the experiment's file, in the folder of sets."""
    data = os.environ.get("DICAST_DATA")
    folders = (experiment.folder, root, Path(data).expanduser() if data else None)
    return [folder / text for folder in folders if folder is not None]


def _near(name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(known) or 'none'}."
