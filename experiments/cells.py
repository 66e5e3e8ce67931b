"""The cells of an experiment: every run with every combination of its set and axes, and the printed figures of each.

A value belongs where its axis says: `judge`, `samples` and `pool` to the judge, fields of `Measuring` to the
measuring, names in `OF_SETS` to how the cases are read, every other one to the judge's parameters.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from typing import Any

from pydantic import ValidationError

from ..errors import DeclarationError
from ..parsing import explain
from .spec import MOST_SAMPLES, ExperimentFile, ExperimentRun, MeasureSpec, Measuring, Value

OF_JUDGE = ("judge", "samples", "pool")
OF_SETS = ("aspect", "no_ties", "refusals", "not_by", "max_chars", "scale")
MOST_RUNS = 1000  # of a file: sets times values


@dataclass(frozen=True)
class JudgeRun:
    """One run of a judge over a set: what decides its verdicts, but for the models.

    Attributes:
        options: how the cases are read, beside what the set says.
        role: the role of --lm that answers.
    """

    judge: str
    set: str
    settings: Mapping[str, Any]
    samples: int
    pool: str
    options: Mapping[str, Any]
    role: str


@dataclass(frozen=True)
class Cell:
    """What becomes one line for each measure.

    Attributes:
        run: the name of the run.
        axes: of the cell, `set` included where the run has several.
        runs: one, or one for each repetition.
        printed: measure as the file names it: (system, figure, place).
    """

    run: str
    set: str
    axes: Mapping[str, Value]
    runs: tuple[JudgeRun, ...]
    measuring: Measuring
    measures: tuple[MeasureSpec, ...]
    printed: Mapping[str, tuple[tuple[str, Decimal, str], ...]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        values = [_words(axis, value) for axis, value in self.axes.items()]
        return ", ".join([self.run, *values])

    @property
    def values(self) -> dict[str, Value]:
        """What printed figures are matched by."""
        return {"run": self.run, "set": self.set, **self.axes}


def cells_of(name: str, content: ExperimentFile) -> list[Cell]:
    """All cells in the order of the file.

    Raises:
        DeclarationError: a set, measure, cell or axis that the file does not declare, or more than `MOST_RUNS` runs.
    """
    count = sum(
        len(spec.sets) * prod(map(len, (*spec.over.values(), *spec.repeat.values()))) for spec in content.runs.values()
    )
    if count > MOST_RUNS:
        raise DeclarationError(
            f"experiment {name!r}: {count:,} runs, and at most {MOST_RUNS:,} are made. Name fewer values."
        )
    cells = [cell for run, spec in content.runs.items() for cell in _cells(name, content, run, spec)]
    _check_corrected(name, content, cells)
    _check_figure(name, content, cells)
    for number, figures in enumerate(content.printed, start=1):
        where = f"experiment {name!r}, printed {number}"
        matched = [place for place, cell in enumerate(cells) if _matches(cell, figures.at)]
        if not matched:
            at = ", ".join(f"{axis}={value}" for axis, value in figures.at.items())
            raise DeclarationError(f"{where}: no cell has {at}. {_values_of(cells, figures.at)}")
        for place in matched:
            cell = cells[place]
            known = {spec.name for spec in cell.measures} | {spec.shown for spec in cell.measures}
            if unknown := [measure for measure in figures.values if not _is_known(measure, known)]:
                raise DeclarationError(f"{where}: {cell.run} has no measure {unknown[0]!r}. {_near(unknown[0], known)}")
            added = {
                measure: (
                    *cell.printed.get(measure, ()),
                    *((system, value, figures.place) for system, value in by.items()),
                )
                for measure, by in figures.values.items()
            }
            cells[place] = replace(cell, printed={**cell.printed, **added})
    return cells


def _check_corrected(name: str, content: ExperimentFile, cells: list[Cell]) -> None:
    """Raises DeclarationError for a set of rewritten texts whose run is not one earlier run alone."""
    for set_name, spec in content.sets.items():
        if not spec.corrected:
            continue
        who, places = f"experiment {name!r}, set {set_name!r}", [cell.run for cell in cells]
        if spec.corrected not in content.runs:
            raise DeclarationError(f"{who}: there is no run {spec.corrected!r}. {_near(spec.corrected, content.runs)}")
        users = [place for place, cell in enumerate(cells) if cell.set == set_name]
        is_single = places.count(spec.corrected) == 1 and len(cells[places.index(spec.corrected)].runs) == 1
        if not is_single or (users and min(users) <= places.index(spec.corrected)):
            raise DeclarationError(
                f"{who}: the run {spec.corrected!r} must be of one set, without `over` and `repeat`, and before the "
                "runs that judge its texts."
            )


def _check_figure(name: str, content: ExperimentFile, cells: list[Cell]) -> None:
    """Raises DeclarationError for a plot over an axis, or of a measure, that no cell has."""
    if content.figure is None:
        return
    who, axes = f"experiment {name!r}, figure", {axis for cell in cells for axis in cell.axes}
    if content.figure.over not in axes:
        raise DeclarationError(
            f"{who}: no run has {content.figure.over!r} in `over`. {_near(content.figure.over, axes)}"
        )
    known = {shown for cell in cells for spec in cell.measures for shown in (spec.name, spec.shown)}
    if unknown := [measure for measure in content.figure.measures if not _is_known(measure, known)]:
        raise DeclarationError(f"{who}: no run has the measure {unknown[0]!r}. {_near(unknown[0], known)}")


def _cells(name: str, content: ExperimentFile, run: str, spec: ExperimentRun) -> Iterator[Cell]:
    who = f"experiment {name!r}, run {run!r}"
    if unknown := [name for name in spec.sets if name not in content.sets]:
        raise DeclarationError(f"{who}: there is no set {unknown[0]!r}. {_near(unknown[0], content.sets)}")
    specs = spec.measures if spec.measures is not None else content.measures
    if not specs:
        raise DeclarationError(f"{who}: no measure is named. Give `measures`, of the run or of the experiment.")
    measures = tuple(_with_unit(measure, content) for measure in specs)
    if repeated_names := [title for title, count in Counter(spec.shown for spec in measures).items() if count > 1]:
        raise DeclarationError(
            f"{who}: {repeated_names[0]!r} names two measures. Give each its own `title`, or keep one."
        )
    for of_set in spec.sets:
        for values in _combinations(spec.over):
            repeated = [_run(who, spec, of_set, {**values, **more}) for more in _combinations(spec.repeat)]
            measuring = _measuring(who, content.measuring, spec.measuring, values)
            axes = {**({"set": of_set} if len(spec.sets) > 1 else {}), **values}
            yield Cell(run, of_set, axes, tuple(repeated), measuring, measures)


def _run(who: str, spec: ExperimentRun, of_set: str, values: Mapping[str, Value]) -> JudgeRun:
    settings, options = dict(spec.settings), dict(spec.options)
    of_judge: dict[str, Any] = {"judge": spec.judge, "samples": spec.samples, "pool": spec.pool}
    for axis, value in values.items():
        if axis in OF_JUDGE:
            of_judge[axis] = value
        elif axis in OF_SETS:
            options[axis] = value
        elif axis not in Measuring.model_fields:
            settings[axis] = value
    if type(samples := of_judge["samples"]) is not int or not 1 <= samples <= MOST_SAMPLES:
        raise DeclarationError(f"{who}: samples is {samples!r}. Give whole numbers from 1 to {MOST_SAMPLES}.")
    if not isinstance(of_judge["judge"], str):
        raise DeclarationError(f"{who}: judge is {of_judge['judge']!r}. Give names of `dicast list`, or files.")
    return JudgeRun(set=of_set, settings=settings, options=options, role=spec.model, **of_judge)


def _measuring(who: str, general: Measuring, specific: Measuring, values: Mapping[str, Value]) -> Measuring:
    chosen = general.model_dump(exclude_unset=True) | specific.model_dump(exclude_unset=True)
    try:
        return Measuring(**chosen | {axis: value for axis, value in values.items() if axis in Measuring.model_fields})
    except ValidationError as error:
        raise DeclarationError(f"{who}: {explain(error)} Change the values of the axis.") from None


def _with_unit(measure: MeasureSpec, content: ExperimentFile) -> MeasureSpec:
    return measure if "unit" in measure.model_fields_set else measure.model_copy(update={"unit": content.unit})


def _combinations(axes: Mapping[str, tuple[Value, ...]]) -> Iterator[dict[str, Value]]:
    return (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))


def _matches(cell: Cell, at: Mapping[str, Value]) -> bool:
    values = cell.values
    return all(axis in values and _same(values[axis], value) for axis, value in at.items())


def _is_known(measure: str, known: set[str]) -> bool:
    """Whether a cell has this measure, or a pattern of names that it fits."""
    return measure in known or any("*" in name and "[" not in name and fnmatchcase(measure, name) for name in known)


def _same(value: Value, other: Value) -> bool:
    return value == other and isinstance(value, bool) == isinstance(other, bool)


def _values_of(cells: list[Cell], at: Mapping[str, Value]) -> str:
    """The values of the first axis of which none is meant, as advice."""
    for axis, value in at.items():
        known = list(dict.fromkeys(str(cell.values[axis]) for cell in cells if axis in cell.values))
        if not known:
            return f"No run has an axis {axis!r}. {_near(axis, {name for cell in cells for name in cell.values})}"
        if str(value) not in known:
            return f"The values of {axis} are {', '.join(known)}."
    return "Each of these values occurs, but not together."


def _near(name: str, known: Any) -> str:
    close = get_close_matches(name, sorted(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else f"It has: {', '.join(sorted(known)) or 'none'}."


def _words(axis: str, value: Value) -> str:
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return shown if axis in ("set", "judge") else f"{axis}={shown}"
