"""The tables of a compilation as plain words; the page and the Markdown share them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..evaluation.results import Evaluation, Measure
from .compilation import Attempt, Compilation, Contender, Search
from .formatting import MISSING, figure, interval, named, told

COLUMNS = ("accuracy", "agreement", "kappa", "nDCG", "spearman", "pearson", "kendall", "log-loss", "ECE")
LOWER = ("log-loss", "ECE")
READS_NOTHING = ("majority", "longer", "human ceiling")
MEANING = {
    "uncompiled": "the program as it was given, without a head",
    "head": "with a head on its evidence",
    "head and prompts": "with better prompts, and a head",
    "compiled": "all that was learnt",
    "majority": "always the most frequent label",
    "longer": "the longer text",
    "human ceiling": "one annotator against the others",
}


@dataclass(frozen=True)
class Cell:
    """A figure with what stands below it: its interval, or its meaning."""

    value: str
    under: str = ""


@dataclass(frozen=True)
class Row:
    """The first cell names the row; `tone` sets it off, or back."""

    cells: tuple[Cell, ...]
    tone: str = ""


@dataclass(frozen=True)
class Grid:
    """A table: a heading a column, the first of names; `wordy` ones hold words, the others figures."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    note: str = ""
    wordy: bool = False


def test_grid(one: Compilation) -> Grid:
    """The judges side by side on the test part, and what reads nothing, or people, reach there."""
    names = [name for name in COLUMNS if _known(one.compiled.evaluation, name)]
    sections = one.compiled.evaluation.sections
    floor = [each for key in ("baselines", "people") for each in sections.get(key, ()) if each.name in READS_NOTHING]
    rows = [_judge_row(judge, names, judge.name == one.tested.after) for judge in one.tested.judges]
    rows += [_reference_row(each, names, "spearman" if "spearman" in names else "accuracy") for each in floor]
    said = "Below each figure its 95 % interval. Calls and tokens count what the cache answered."
    heads = tuple(named(name) + (" ↓" if name in LOWER else "") for name in names)
    n = max((judge.evaluation.labelled for judge in one.tested.judges), default=0)
    return Grid(f"The test part, {n:,} cases", ("Judge", *heads, "Calls", "Tokens"), tuple(rows), said)


def structure_grid(search: Search) -> Grid:
    """What was tried, each with its figure on the cases that select and its cost."""
    rows = tuple(
        Row(
            (
                Cell(str(each.number), each.what),
                Cell(_outcome(each), each.detail),
                Cell(figure(each.figure), interval(each.figure)),
                Cell(told(each.calls)),
                Cell(told(None if each.tokens is None else round(each.tokens))),
                Cell(f"{each.cases:,}", f"{each.unscored:,} unscored" if each.unscored else ""),
            ),
            _tone(each),
        )
        for each in search.attempts
    )
    name = named(search.attempts[0].figure.name)
    lower = "" if search.higher else " ↓"
    note = "Figures are of the cases that chose, so the best of them promises too much; the test part says its worth."
    return Grid("Every structure", ("Trial", "Outcome", name + lower, "Calls", "Tokens", "Cases"), rows, note)


def prompts_grid(search: Search) -> Grid:
    """The wordings that were tried."""
    rows = tuple(
        Row(
            (
                Cell(str(each.number), each.what),
                Cell("chosen" if each.chosen else "", each.detail),
                Cell(figure(each.figure)),
                Cell(f"{each.cases:,}", f"{each.unscored:,} unscored" if each.unscored else ""),
            ),
            _tone(each),
        )
        for each in search.attempts
    )
    name = named(search.attempts[0].figure.name) + ("" if search.higher else " ↓")
    note = "Figures are of the select part; a dash is a wording that did not judge all of it."
    return Grid("Every wording", ("Wording", "Outcome", name, "Judged"), rows, note)


def settings_grid(search: Search) -> Grid:
    """The settings of the structure that was taken, those that changed first."""
    changed = sorted(search.settings, key=lambda each: each[1] == each[2])
    rows = tuple(
        Row((Cell(name), Cell(after), Cell("" if before == after else before)), "" if before != after else "faint")
        for name, before, after in changed
    )
    return Grid("The structure that was taken", ("Setting", "Now", "Before"), rows, wordy=True)


def weights_rows(weights: Mapping[str, float]) -> list[tuple[str, float]]:
    """Weights, the greatest first."""
    return sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))


def _judge_row(judge: Contender, names: Sequence[str], is_compiled: bool) -> Row:
    found = [judge.evaluation.measure(name) for name in names]
    figures = [Cell(MISSING) if one is None else Cell(figure(one), interval(one)) for one in found]
    missing = judge.evaluation.cases - judge.evaluation.scored
    said = MEANING.get(judge.name, "a plain judge beside it") + (f"; {missing:,} unscored" if missing else "")
    tokens = None if judge.tokens is None else round(judge.tokens)
    cost = (Cell(told(judge.calls)), Cell(told(tokens)))
    return Row((Cell(judge.name, said), *figures, *cost), "marked" if is_compiled else "")


def _reference_row(one: Measure, names: Sequence[str], column: str) -> Row:
    cells = [Cell(figure(one), interval(one)) if name == column else Cell("") for name in names]
    return Row((Cell(one.name, MEANING[one.name]), *cells, Cell(""), Cell("")), "faint")


def _known(evaluation: Evaluation, name: str) -> bool:
    found = evaluation.measure(name)
    return found is not None and found.value is not None


def _outcome(one: Attempt) -> str:
    if one.chosen:
        return "chosen"
    return "on the front" if one.front else "" if one.status == "complete" else one.status


def _tone(one: Attempt) -> str:
    return "marked" if one.chosen else "faint" if one.status != "complete" else ""


def facts_grid(one: Compilation) -> Iterator[Grid]:
    """How the judge was made."""
    if one.facts:
        rows = tuple(Row((Cell(name), Cell(words))) for name, words in one.facts)
        yield Grid("What was asked for", ("", ""), rows, wordy=True)
