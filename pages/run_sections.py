"""The questions of a run page with the sections of measures that answer them; the HTML and the Markdown share both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..evaluation.results import Measure, PairedTest, RunComparison
from ..evaluation.sections import section_title
from .formatting import count_of, format_interval, format_measure, readable
from .run_report import RunReport

AGREEMENT = ("agreement", "categories", "people", "baselines", "correlation", "choice")


@dataclass(frozen=True)
class IntervalBar:
    """A small drawing of an interval: positions in percent of its width; `null_value` is where there is no effect."""

    low: float
    width: float
    at: float
    null_value: float | None


@dataclass(frozen=True)
class MeasureCell:
    """A measure of one run, as text."""

    run: str
    value: str
    interval: str
    bar: IntervalBar | None
    n: str
    note: str


@dataclass(frozen=True)
class MeasureLine:
    """One measure, with a cell for every run that has it."""

    name: str
    description: str
    cells: tuple[MeasureCell, ...]

    def of_run(self, run: str) -> MeasureCell | None:
        """The cell of a run; None if the run lacks the measure."""
        return next((cell for cell in self.cells if cell.run == run), None)

    @property
    def shared_n(self) -> str:
        """The number of cases, where it is the same for all runs; else empty."""
        counts = {cell.n for cell in self.cells}
        return counts.pop() if len(counts) == 1 else ""


@dataclass(frozen=True)
class MeasureTable:
    """The measures of one section."""

    title: str
    lines: tuple[MeasureLine, ...]

    @property
    def has_bars(self) -> bool:
        return any(cell.bar for line in self.lines for cell in line.cells)

    @property
    def has_intervals(self) -> bool:
        return any(cell.interval for line in self.lines for cell in line.cells)


@dataclass
class Part:
    """One question of the page, with the keys of the sections that answer it."""

    key: str
    question: str
    short: str
    sections: tuple[str, ...]
    tables: list[MeasureTable] = field(default_factory=list)


def parts(runs: Sequence[RunReport]) -> list[Part]:
    """All parts in reading order, including empty ones; unknown sections are in the last part."""
    result = [
        Part(
            "trust",
            "Can I trust it?",
            "Agreement",
            ("agreement", "categories", "people", "baselines", "correlation", "choice"),
        ),
        Part("certainty", "Does it know how sure it is?", "Certainty", ("calibration", "selective")),
        Part("errors", "Where do judge and people disagree?", "Errors", ()),
        Part("subgroups", "Where is it worst?", "Subgroups", ()),
        Part("bias", "Is it biased?", "Bias", ("bias",)),
        Part("systems", "Does it rank systems as people do?", "Systems", ("systems", "powered")),
        Part("evidence", "Is its evidence good?", "Evidence", ("readout", "findings", "explanations")),
        Part("cost", "What does it cost?", "Cost", ("cost",)),
    ]
    known = {section for part in result for section in part.sections}
    others = dict.fromkeys(name for run in runs for name in run.evaluation.sections if name not in known)
    result.append(Part("more", "What else was measured?", "More", tuple(others)))
    for part in result:
        tables = (_table(section, runs) for section in part.sections)
        part.tables = [table for table in tables if table.lines]
    return result


def main_test(comparison: RunComparison) -> PairedTest | None:
    """The test by which two runs are first compared: of accuracy, else of a correlation; None without one."""
    return next((test for test in comparison.tests if test.p is not None and test.name != "Brier"), None)


def rows_of_tests(
    comparisons: Sequence[RunComparison], *, by_field: bool = False
) -> Iterator[tuple[RunComparison, PairedTest, str, str]]:
    """Every test, of all cases or those by field, with its comparison, and its difference and interval as text."""
    for comparison in comparisons:
        for test in comparison.subgroups if by_field else comparison.tests:
            difference = test.difference
            if test.p is not None:  # a difference has a sign; a measure without a test may be a proportion
                difference = difference.model_copy(update={"null_value": 0.0})
            yield comparison, test, format_measure(difference), format_interval(difference)


def _table(section: str, runs: Sequence[RunReport]) -> MeasureTable:
    by_name: dict[str, list[tuple[str, Measure]]] = {}
    for run in runs:
        for measure in run.evaluation.sections.get(section, ()):
            by_name.setdefault(measure.name, []).append((run.name, measure))
    lines = (
        MeasureLine(
            readable(name),
            next((measure.description for _, measure in measures if measure.description), ""),
            tuple(_cell(run, measure) for run, measure in measures),
        )
        for name, measures in by_name.items()
    )
    return MeasureTable(section_title(section), tuple(lines))


def _cell(run: str, measure: Measure) -> MeasureCell:
    interval, bar = format_interval(measure), _bar(measure)
    return MeasureCell(run, format_measure(measure), interval, bar, count_of(measure), measure.note)


def _bar(measure: Measure) -> IntervalBar | None:
    """On 0..1, or on both sides of 0 if the measure can be negative; None without an interval, or beyond 1."""
    value, low, high = measure.value, measure.low, measure.high
    if value is None or low is None or high is None:
        return None
    reach = max(abs(value), abs(low), abs(high))
    if reach > 1:
        return None
    is_signed = measure.null_value == 0 or low < 0
    start, end = ((-0.5, 0.5) if reach <= 0.5 else (-1.0, 1.0)) if is_signed else (0.0, 1.0)
    null_value = 0.0 if is_signed else measure.null_value

    def position(x: float) -> float:
        return round(100 * (x - start) / (end - start), 2)

    null_position = None if null_value is None else position(null_value)
    return IntervalBar(position(low), round(position(high) - position(low), 2), position(value), null_position)
