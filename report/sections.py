"""The parts of a report, each a question, and the tables of figures in them; the page and the Markdown share both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..evaluation.results import Comparison, Measure, PairedTest
from ..evaluation.sections import section_title
from .formatting import MISSING, figure, interval, named
from .run_report import RunReport


@dataclass(frozen=True)
class Bar:
    """An interval drawn small: places in percent of the width; `neutral` is where no bias, or no difference, is."""

    low: float
    width: float
    at: float
    neutral: float | None


@dataclass(frozen=True)
class Cell:
    """One run's figure."""

    run: str
    value: str
    interval: str
    bar: Bar | None
    n: str
    note: str


@dataclass(frozen=True)
class Line:
    """One measure with a cell for every run that has it."""

    name: str
    what: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """The figures of one section."""

    title: str
    lines: tuple[Line, ...]

    @property
    def drawn(self) -> bool:
        """Whether any interval is drawn."""
        return any(cell.bar for line in self.lines for cell in line.cells)

    @property
    def bounded(self) -> bool:
        """Whether any figure has an interval."""
        return any(cell.interval for line in self.lines for cell in line.cells)


@dataclass
class Part:
    """One question of the report with the sections that answer it."""

    key: str
    question: str
    short: str
    sections: tuple[str, ...]
    tables: list[Table] = field(default_factory=list)


def parts(runs: Sequence[RunReport]) -> list[Part]:
    """All parts in reading order, those without tables too; sections that nobody knows stand in the last."""
    found = [
        Part("trust", "Can I trust it?", "Trust", ("agreement", "people", "baselines", "correlation", "choice")),
        Part("sure", "How sure is it?", "Certainty", ("calibration", "selective")),
        Part("wrong", "Where is it wrong?", "Mistakes", ()),
        Part("biased", "Is it biased?", "Bias", ("bias",)),
        Part("systems", "Does it rank systems as people do?", "Systems", ("systems",)),
        Part("reasons", "Are its reasons good?", "Reasons", ("findings", "explanations")),
        Part("cost", "What does it cost?", "Cost", ("cost",)),
    ]
    known = {section for part in found for section in part.sections}
    others = dict.fromkeys(name for run in runs for name in run.evaluation.sections if name not in known)
    found.append(Part("also", "What else was measured?", "More", tuple(others)))
    for part in found:
        part.tables = [table for section in part.sections if (table := _table(section, runs)).lines]
    return found


def compared(comparisons: Sequence[Comparison]) -> Iterator[tuple[Comparison, PairedTest, str, str]]:
    """Every test of every comparison, with its difference and interval as they are told."""
    for comparison in comparisons:
        for test in comparison.tests:
            difference = test.difference
            if test.p is not None:  # a difference, told with its sign; what is not tested may be a plain share
                difference = difference.model_copy(update={"null_value": 0.0})
            yield comparison, test, figure(difference), interval(difference)


def counted(measure: Measure) -> str:
    """The cases that a figure is of, and their independent groups when those are fewer."""
    if not measure.n:
        return MISSING
    groups = measure.groups
    return f"{measure.n:,}" + (f" in {groups:,} groups" if groups is not None and groups < measure.n else "")


def _table(section: str, runs: Sequence[RunReport]) -> Table:
    found: dict[str, list[tuple[str, Measure]]] = {}
    for run in runs:
        for measure in run.evaluation.sections.get(section, ()):
            found.setdefault(measure.name, []).append((run.name, measure))
    lines = (
        Line(
            named(name),
            next((one.description for _, one in each if one.description), ""),
            tuple(_cell(run, one) for run, one in each),
        )
        for name, each in found.items()
    )
    return Table(section_title(section), tuple(lines))


def _cell(run: str, measure: Measure) -> Cell:
    return Cell(run, figure(measure), interval(measure), _bar(measure), counted(measure), measure.note)


def _bar(measure: Measure) -> Bar | None:
    """Shares and the like on 0..1, what can be negative on both sides of 0; None for figures beyond 1."""
    value, low, high = measure.value, measure.low, measure.high
    if value is None or low is None or high is None:
        return None
    reach = max(abs(value), abs(low), abs(high))
    if reach > 1:
        return None
    both = measure.null_value == 0 or low < 0
    start, end = ((-0.5, 0.5) if reach <= 0.5 else (-1.0, 1.0)) if both else (0.0, 1.0)
    neutral = 0.0 if both else measure.null_value

    def at(figure: float) -> float:
        return round(100 * (figure - start) / (end - start), 2)

    return Bar(at(low), round(at(high) - at(low), 2), at(value), None if neutral is None else at(neutral))
