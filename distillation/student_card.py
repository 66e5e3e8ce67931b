"""The card of a distilled student: its training, its data, its seeds, and what people's labels said of it."""

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .._version import __version__
from ..engines.jsonl import write_whole
from ..evaluation.results import Measure
from ..parsing import parse_record_json, read_text
from .acceptance import STUDENT, TEACHER, Acceptance
from .model_card import CARD, model_card, read_set_card
from .training_figures import TrainingFigures
from .training_folder import TrainingFolder
from .training_recipe import TrainingRecipe

PACKAGES = ("torch", "transformers", "peft", "trl", "accelerate")
SHOWN = ("accuracy", "both-orders accuracy", "kappa", "log-loss", "ECE", "spearman")
BASELINES = ("chance", "majority", "longer", "human ceiling")


def write_student_card(
    training: Path,
    recipe: TrainingRecipe,
    set_folder: Path,
    acceptance: Acceptance,
    *,
    name: str,
    teacher: str,
    seed: int,
) -> Path:
    """Write README.md into the student's folder; the path.

    Args:
        training: the folder of the training.
        set_folder: of the rows that it learnt.
        name: of the student.
        teacher: the judge that taught it, with its models.
        seed: of the split of the labelled cases.

    Raises:
        RunError: the disk is full.
        DataError: figures or data card are damaged.
    """
    results = {"teacher": teacher, **dict(_results(acceptance)), "seed of the split": str(seed)}
    return write_training_card(training, recipe, set_folder, name=name, results=results)


def write_training_card(
    training: Path, recipe: TrainingRecipe, set_folder: Path, *, name: str, results: Mapping[str, str] | None = None
) -> Path:
    """Write README.md into the folder of a student, whether it was tested or not; the path.

    Args:
        results: what a test said, a line each; None: not tested.

    Raises:
        RunError, DataError: as of `write_student_card`.
    """
    folder = TrainingFolder(training)
    figures = parse_record_json(TrainingFigures, read_text(folder.figures), str(folder.figures))
    versions = {"dicast": __version__, **dict(_versions())}
    text = model_card(name, recipe, figures, versions=versions, set_card=read_set_card(set_folder), results=results)
    path = folder.student / CARD
    write_whole(path, text)
    return path


def _results(acceptance: Acceptance) -> Iterator[tuple[str, str]]:
    yield "outcome", f"{acceptance.summary}; n = {acceptance.n:,} cases that no part of it was fitted to"
    for check in acceptance.checks:
        yield f"check against {check.other}", check.sentence
    for name in (STUDENT, TEACHER):
        evaluation = acceptance.judge(name).evaluation
        measures = [measure for title in SHOWN if (measure := evaluation.measure(title)) is not None]
        yield name, ", ".join(map(_measured, measures))
    for measure in acceptance.reference_measures:
        if measure.name in BASELINES:
            yield measure.name, _measured(measure)


def _measured(measure: Measure) -> str:
    """As in "accuracy 0.721 [0.654, 0.788]"."""
    value = "-" if measure.value is None else f"{measure.value:.3f}"
    interval = "" if measure.low is None or measure.high is None else f" [{measure.low:.3f}, {measure.high:.3f}]"
    return f"{measure.name} {value}{interval}"


def _versions() -> Iterator[tuple[str, str]]:
    for package in PACKAGES:
        try:
            yield package, version(package)
        except PackageNotFoundError:
            continue
