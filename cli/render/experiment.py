"""Experiments on a terminal: in short, whole, and the table of printed figures and ours."""

from collections.abc import Iterator
from typing import Any

from ...experiments import Experiment
from ...experiments.results import ExperimentResult
from ...pages.experiment_table import HEADS, rows_of
from ...workflows.experiment_overview import Overview
from .console import heading, indented, table
from .judgment import spent


def overview_lines(row: Overview) -> Iterator[str]:
    """Where an experiment is printed, and its sets."""
    at_hand = f"sets: {', '.join(row.at_hand)}" if row.at_hand else "no set at hand"
    missing = f"; missing: {', '.join(lacking.name for lacking in row.missing)}" if row.missing else ""
    yield f"{row.place or 'an experiment of yours'}; {row.cells:,} cell{'s' * (row.cells != 1)}; {at_hand}{missing}"


def experiment(experiment: Experiment, row: Overview) -> Iterator[Any]:
    """Everything that a file says, in reading order."""
    content = experiment.content
    yield heading(experiment.name, content.title)
    yield from map(indented, overview_lines(row))
    for lacking in row.missing:
        yield indented(f"missing {lacking.name}, to get it: {lacking.get}")
    yield heading("\nsets")
    for name, spec in content.sets.items():
        values = {**spec.options, **spec.settings}
        words = [
            f"cases {spec.cases or name}",
            f"prepared by {spec.prepare}" if spec.prepare else "",
            _settings(values),
        ]
        yield indented(f"{name}: {'; '.join(filter(None, words))}")
    yield heading("\nruns")
    for name, run in content.runs.items():
        axes = [f"{axis} = {', '.join(map(str, values))}" for axis, values in run.over.items()]
        axes += [f"{axis} = {', '.join(map(str, values))}, repeated" for axis, values in run.repeat.items()]
        words = [f"{run.judge} on {', '.join(run.sets)}", _settings({**run.settings, **run.options}), *axes]
        words += [f"{run.samples} samples, {run.pool}"] if run.samples > 1 else []
        words += [f"calls {row.calls[run.judge]}"] if run.judge in row.calls else []
        yield indented(f"{name}: {'; '.join(filter(None, words))}")
    yield heading(
        "\nmeasures", ", ".join(dict.fromkeys(spec.shown for cell in experiment.cells for spec in cell.measures))
    )
    rows = [
        [cell.title, measure, f"{value:f}", system, place or content.place]
        for cell in experiment.cells
        for measure, figures in cell.printed.items()
        for system, value, place in figures
    ]
    if rows:
        yield heading("\nprinted", content.source)
        yield indented(table(["cell", "measure", "printed", "system", "place"], rows))
    if content.not_at_hand:
        yield f"\nnot at hand: {content.not_at_hand}"
    if content.differs:
        yield heading("\ndiffers")
        yield from map(indented, content.differs)


def experiment_result(result: ExperimentResult) -> Iterator[Any]:
    """The table, what is missing, what differs, and what it cost; of a dry run the estimate."""
    yield heading(result.name, ", ".join(filter(None, (result.title, result.place))))
    if result.status == "dry run":
        yield f"{result.estimate.words}."
        yield from (f"{note}." for note in result.estimate.notes)
    else:
        yield table(HEADS, rows_of(result.lines, several_models=len(result.models) > 1))
    for lacking in result.missing:
        yield f"missing {lacking.name}, to get it: {lacking.get}"
    if result.not_at_hand:
        yield f"not at hand: {result.not_at_hand}"
    for sentence in result.differs:
        yield f"differs: {sentence}"
    if result.status != "dry run":
        yield f"usage: {spent(result.usage)}"


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
