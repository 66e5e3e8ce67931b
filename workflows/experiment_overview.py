"""What the experiments are, and which of their sets are on this machine."""

from pathlib import Path

from pydantic import Field

from ..data.case import Record
from ..errors import DeclarationError
from ..experiments import Experiment, shipped_experiments
from ..experiments.results import MissingSet
from ..judging import build
from ..judging.registry import PROGRAMS, is_judge_file
from .experiment_sets import find_sets


class Overview(Record):
    """An experiment in short."""

    name: str = Field(description="what `dicast experiment run` takes")
    title: str = Field(description="what is measured")
    place: str = Field(description="paper and table or figure; empty: an experiment of a user's")
    cells: int = Field(description="combinations of runs, sets and values")
    at_hand: tuple[str, ...] = Field(description="sets on this machine")
    missing: tuple[MissingSet, ...] = Field(description="the others, with where to get them")
    calls: dict[str, str] = Field(description="judge: LM calls of a case with default parameters, in words")


def overview(root: Path | None = None) -> list[Overview]:
    """The experiments of the papers, by name.

    Args:
        root: the folder of public sets; None for $DICAST_DATA.
    """
    return [overview_of(experiment, root) for experiment in shipped_experiments()]


def overview_of(experiment: Experiment, root: Path | None = None) -> Overview:
    """One experiment in short; raises DeclarationError for a set that is neither known nor fetched from anywhere."""
    at_hand, missing = find_sets(experiment, root, {})
    judges = dict.fromkeys(run.judge for cell in experiment.cells for run in cell.runs)
    return Overview(
        name=experiment.name,
        title=experiment.content.title,
        place=experiment.place,
        cells=len(experiment.cells),
        at_hand=tuple(at_hand),
        missing=tuple(missing),
        calls={judge: _calls(judge) for judge in judges},
    )


def _calls(judge: str) -> str:
    if is_judge_file(judge):
        return "1 a criterion and order" if build(judge).seats() else "0"
    try:
        return PROGRAMS.find(judge).calls
    except DeclarationError as error:
        return str(error)
