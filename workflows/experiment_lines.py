"""The lines of an experiment's table: every measure of every cell, computed from run folders as `evaluate` does."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from ..errors import DeclarationError, RunError
from ..evaluation.results import Evaluation, Measure
from ..experiments.cells import Cell
from ..experiments.measure_address import fields_of, figures_at, near_names
from ..experiments.measure_names import is_declared
from ..experiments.results import MissingSet, Printed, ResultLine
from ..experiments.spec import MeasureSpec
from .evaluations import evaluate
from .experiment_plan import PlannedCell, PlannedRun
from .run_results import open_run

NOT_RUN = "not run yet"
FAILED = "failed"
UNSCORED = "no case was scored"
UNDEFINED = "not defined on these cases"
UNKNOWN = f"{UNDEFINED}, or there is no such figure"
OF_THESE_CASES = ("by", "texts", "judge_systems")  # options that cases may lack what they need for


def result_lines(
    cells: Sequence[PlannedCell], missing: Sequence[MissingSet], folder: Path, failures: Mapping[Path, str]
) -> Iterator[ResultLine]:
    """The lines of all cells in their order.

    Args:
        missing: the sets that are not on this machine.
        folder: of the experiment; run folders are named below it.
        failures: run folder: why it could not be judged.
    """
    lines = list(_all_lines(cells, missing, folder, failures))
    measured = {line.address for line in lines if line.ours is not None}
    for line in lines:
        is_known = line.address in measured and line.note.startswith(UNKNOWN)
        yield line.model_copy(update={"note": UNDEFINED + line.note.removeprefix(UNKNOWN)}) if is_known else line


def _all_lines(
    cells: Sequence[PlannedCell], missing: Sequence[MissingSet], folder: Path, failures: Mapping[Path, str]
) -> Iterator[ResultLine]:
    absent = {lacking.name for lacking in missing}
    evaluations = _Evaluations()
    for planned in cells:
        cell = planned.cell
        for spec in cell.measures:
            base = ResultLine(
                cell=cell.title, run=cell.run, set=cell.set, axes=dict(cell.axes), model=planned.model,
                measure=spec.shown, address=spec.name, unit=spec.unit,
                folders=tuple(str(run.folder.relative_to(folder)) for run in planned.runs),
            )  # fmt: skip
            failed = [failures[run.folder] for run in planned.runs if run.folder in failures]
            if failed:
                yield from _unrun(cell, spec, base, f"{FAILED}: {failed[0]}")
            elif cell.set in absent:
                yield from _unrun(cell, spec, base, f"not run: {cell.set} is missing")
            else:
                try:
                    yield from _lines(planned, spec, base, evaluations)
                except DeclarationError as error:  # options of the measuring that these cases cannot be measured with
                    yield from _unrun(cell, spec, base, f"{FAILED}: {error}")


@dataclass
class _Evaluations:
    """The evaluations of run folders, each computed once for equal options."""

    known: dict[str, "_Computed | DeclarationError | None"] = field(default_factory=dict)

    def of(self, planned: PlannedRun, cell: Cell, address: str) -> "_Computed | None":
        """The evaluation of a run for one figure; None where no case is judged yet.

        Raises DeclarationError as `evaluate` does, for what the file says of all figures of the cell."""
        by = [*cell.measuring.by, *fields_of(address)]
        chosen = cell.measuring.model_dump(exclude_none=True, exclude_unset=True)
        options: dict[str, Any] = chosen | {"by": tuple(dict.fromkeys(by))}
        key = f"{planned.folder} {sorted(options.items(), key=lambda item: item[0])}"
        if key not in self.known:
            try:
                self.known[key] = self._evaluated(planned, options, is_by_address=bool(fields_of(address)))
            except DeclarationError as error:
                self.known[key] = error
        known = self.known[key]
        if isinstance(known, DeclarationError):
            raise known
        return known

    def _evaluated(self, planned: PlannedRun, options: Mapping[str, Any], *, is_by_address: bool) -> "_Computed | None":
        verdicts = planned.folder / "verdicts.jsonl"
        if not verdicts.is_file() or not verdicts.stat().st_size:
            return None
        run = open_run(planned.folder)
        needs_cases = bool(options.get("texts") or options["by"])
        try:
            return _Computed(evaluate(run, cases=planned.source if needs_cases else None, **options))
        except DeclarationError as error:  # of an option that these cases do not take: the other figures are measured
            rest = evaluate(run, **{name: value for name, value in options.items() if name not in OF_THESE_CASES})
            if is_by_address or isinstance(error, RunError) or not rest.labelled:
                return _Computed(rest, error)
            raise


@dataclass(frozen=True)
class _Computed:
    """An evaluation, and why its options were left out, if these cases do not take them."""

    evaluation: Evaluation
    problem: DeclarationError | None = None

    def why_undefined(self, address: str) -> str:
        """The note of a line whose figure the evaluation does not have."""
        if self.problem is not None and not isinstance(self.problem, RunError) and self.evaluation.labelled:
            return f"{UNKNOWN}: {self.problem}"
        if self.problem is not None:
            return f"{UNDEFINED}: {self.problem}"
        if is_declared(address):
            return f"{UNDEFINED}: {_reason(self.evaluation, address)}"
        near = near_names(self.evaluation, address)
        return UNKNOWN + (f"; near: {', '.join(near)}" if near else "")


def _reason(evaluation: Evaluation, address: str) -> str:
    """What the figure lacks, as far as the counts of the evaluation say it."""
    if not evaluation.labelled:
        return "no scored case has a label of people"
    if address.startswith("strata."):
        return "no pair of this difficulty, of texts with two different human scores each"
    if " by input" in address:
        return "fewer than two inputs with texts that judge and people score differently"
    if fields_of(address):
        return "no labelled case has this value"
    groups = f" of {evaluation.groups:,} inputs" if evaluation.groups < evaluation.scored else ""
    return f"{evaluation.scored:,} scored, {evaluation.labelled:,} labelled{groups} do not give it"


def _lines(
    planned: PlannedCell, spec: MeasureSpec, base: ResultLine, evaluations: _Evaluations
) -> Iterator[ResultLine]:
    computed = [evaluations.of(run, planned.cell, spec.name) for run in planned.runs]
    results = [result for result in computed if result is not None]
    known = [result.evaluation for result in results]
    if not known:
        yield from _unrun(planned.cell, spec, base, NOT_RUN)
        return
    if not any(evaluation.scored for evaluation in known):
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in known[0].unscored.items())
        yield from _unrun(planned.cell, spec, base, f"{UNSCORED}: {reasons}")
        return
    named: dict[str, list[Measure]] = {}
    for evaluation in known:
        for figure in figures_at(evaluation, spec.name):
            named.setdefault(figure.name if "*" in spec.name else spec.shown, []).append(figure)
    note = _limits(known, len(computed))
    if not named:
        yield from _unrun(planned.cell, spec, base, results[0].why_undefined(spec.name))
    for name, figures in named.items():
        values = tuple(figure.value for figure in figures if figure.value is not None)
        yield base.model_copy(
            update={
                "measure": name,
                "printed": _printed(planned.cell, spec, name),
                "ours": mean_of_runs(figures),
                "spread": stdev(values) if len(values) > 1 else None,
                "repeated": values if len(computed) > 1 else (),
                "note": note,
            }
        )


def _limits(known: Sequence[Evaluation], runs: int) -> str:
    """What the figures of a cell leave out: repeated runs that are not judged yet, and cases without a verdict."""
    cases, scored = (sum(getattr(evaluation, name) for evaluation in known) for name in ("cases", "scored"))
    limits = [f"{len(known)} of {runs} runs"] if len(known) < runs else []
    return ", ".join([*limits, *([f"{cases - scored:,} of {cases:,} cases unscored"] if scored < cases else [])])


def mean_of_runs(figures: Sequence[Measure]) -> Measure:
    """One figure as it is; the mean of several runs over the same cases, each with its interval.

    The ends of the interval are the means of theirs: the standard error of a mean of figures is at most the mean of
    their standard errors, whatever their correlation, so that it covers at least what each does.
    """
    if len(figures) == 1:
        return figures[0]
    defined = [figure for figure in figures if figure.value is not None]
    if not defined:
        return figures[0]
    ends = [(figure.low, figure.high) for figure in defined if figure.low is not None and figure.high is not None]
    bounded = len(ends) == len(defined)
    return defined[0].model_copy(
        update={
            "value": fmean(figure.value for figure in defined if figure.value is not None),
            "low": fmean(low for low, _ in ends) if bounded else None,
            "high": fmean(high for _, high in ends) if bounded else None,
            "n": min(figure.n for figure in defined),
            "effective_n": None,
            "design_effect": None,
        }
    )


def check_lines(lines: Sequence[ResultLine]) -> None:
    """Raises RunError for a run that failed, a measure that no run has, or where nothing was scored."""
    failed = [line for line in lines if line.note.startswith(FAILED)]
    if failed:
        raise RunError(f"{failed[0].cell}: {failed[0].note.removeprefix(FAILED + ': ')} What is judged is kept.")
    measured = {line.address for line in lines if line.ours is not None}
    for line in sorted(lines, key=lambda line: "near:" not in line.note):
        if line.address not in measured and line.note.startswith(UNKNOWN):
            raise RunError(
                f"measure {line.address!r}: {line.note}. Correct the experiment, or give more cases; what is judged is "
                "kept."
            )
    if not measured and (unscored := [line for line in lines if line.note.startswith(UNSCORED)]):
        raise RunError(f"{unscored[0].cell}: {unscored[0].note}. dicast evaluate of its run folder says more.")


def _unrun(cell: Cell, spec: MeasureSpec, base: ResultLine, note: str) -> Iterator[ResultLine]:
    """The line of a measure without a figure of ours; of a pattern one for each printed name."""
    names = [name for name in cell.printed if "*" in spec.name and name not in (spec.name, spec.shown)] or [spec.shown]
    for name in names:
        yield base.model_copy(update={"measure": name, "printed": _printed(cell, spec, name), "note": note})


def _printed(cell: Cell, spec: MeasureSpec, name: str) -> tuple[Printed, ...]:
    keys = dict.fromkeys([name, spec.name] if name == spec.shown else [name])
    figures = [figure for key in keys for figure in cell.printed.get(key, ())]
    return tuple(Printed(system=system, value=value, place=place) for system, value, place in figures)
