"""Which runs an experiment needs: for every cell and model one, equal ones once, each with its folder."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..engines.models import Roles
from ..errors import DeclarationError
from ..experiments import Experiment
from ..experiments.cells import Cell, JudgeRun
from .case_source import CaseSource
from .experiment_sets import CaseSample, with_options
from .judge_spec import JudgeSpec

LONGEST_NAME = 60  # characters of a folder's name, before its digest


@dataclass(frozen=True)
class PlannedRun:
    """A run of a judge over cases, and its folder.

    Attributes:
        corrected: the folder of the run whose rewritten texts the cases are; they are written when it is complete.
    """

    title: str
    judge: JudgeSpec
    source: CaseSource
    sample: CaseSample
    folder: Path
    corrected: Path | None = None


@dataclass(frozen=True)
class PlannedCell:
    """A cell with one model.

    Attributes:
        model: the model string; empty for a judge without stages.
        runs: one, or one for each repetition; () where the set is missing.
    """

    cell: Cell
    model: str
    runs: tuple[PlannedRun, ...]


def plan(
    experiment: Experiment,
    sources: Mapping[str, CaseSource],
    models: Sequence[str | None],
    folder: Path,
    samples: Mapping[str, CaseSample],
) -> list[PlannedCell]:
    """The cells of an experiment with their runs, in the order of the file.

    Args:
        sources: set: its cases; without the missing sets.
        models: model strings as of --lm; None for the default model.
        folder: of the experiment.
        samples: set: which of its cases are judged.

    Raises:
        DeclarationError: a judge, a parameter or an option that does not exist.
    """
    cells = []
    bases: dict[tuple[str, str | None], PlannedRun] = {}
    for cell in experiment.cells:
        base_run = experiment.content.sets[cell.set].corrected
        who = f"experiment {experiment.name!r}, {cell.title}"
        seen: set[str] = set()
        for lm in models:
            specs, model = _judges(cell.runs, lm, who)
            if model in seen:
                continue  # a judge without stages is the same for every model
            seen.add(model)
            base, source = bases.get((base_run, lm)), sources.get(cell.set)
            if base is not None:
                source = CaseSource(str(folder / "sets" / f"{cell.set}-{base.folder.name}.jsonl"))
            runs = [
                _planned(cell, run, spec, source, samples.get(cell.set, CaseSample()), folder, who)
                for run, spec in zip(cell.runs, specs, strict=True)
                if source is not None
            ]
            if base is not None:
                runs = [replace(run, corrected=base.folder) for run in runs]
            if runs:
                bases[cell.run, lm] = runs[0]
            cells.append(PlannedCell(cell, model, tuple(runs)))
    return cells


def distinct_runs(cells: Sequence[PlannedCell]) -> list[PlannedRun]:
    """The runs of all cells, equal ones once."""
    return [*{run.folder: run for cell in cells for run in cell.runs}.values()]


def _judges(runs: Sequence[JudgeRun], lm: str | None, who: str) -> tuple[list[JudgeSpec], str]:
    """The judges of the runs of a cell, without a model where they ask none, and the models that answer."""
    specs: list[JudgeSpec] = []
    model = ""
    for run in runs:
        role_lm = Roles.parse(lm)[run.role] if lm and run.role != "judge" else lm
        spec = JudgeSpec(run.judge, role_lm, dict(run.settings), samples=run.samples, pool=run.pool)
        try:
            model = spec.models()
        except DeclarationError as error:
            raise type(error)(f"{who}: {error}") from None
        specs.append(spec if model else replace(spec, lm=None))
    return specs, model


def _planned(
    cell: Cell, run: JudgeRun, judge: JudgeSpec, source: CaseSource, sample: CaseSample, folder: Path, who: str
) -> PlannedRun:
    source = with_options(source, run.options, who)
    sampled = sample if sample.seed is not None else CaseSample()  # without a seed a run with more cases continues
    content = [judge.__dict__, source.to_json() | {"root": None}, sampled.__dict__]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:8]
    values = [f"{axis}-{value}" for axis, value in run.settings.items()]
    words = "-".join([run.judge if "/" not in run.judge else Path(run.judge).stem, cell.set, *values])
    name = re.sub(r"[^a-z0-9.]+", "-", words.lower()).strip("-.")[:LONGEST_NAME]
    return PlannedRun(cell.title, judge, source, sample, folder / "runs" / f"{name}-{digest}")
