"""Themes of a run as the page shows them: words, how often the judge is right, and cases to read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..evaluation.themes import LEAST, Theme
from . import markdown
from .case_browser import CaseRow
from .formatting import format_interval, format_measure, format_p_value, format_percent
from .run_report import RunReport, ThemesOf

MOST_EXAMPLES = 3
TITLES: dict[ThemesOf, str] = {"requests": "Themes of the cases", "reasons": "Themes of the reasons"}
WHAT: dict[ThemesOf, str] = {"requests": "cases about", "reasons": "cases whose reasons speak of"}
NOTE = (
    f"Texts that share words are put together by k-means, which does not see the labels, from {LEAST} different texts "
    "on. p is of accuracy against that on all other cases, adjusted for all themes of this table (Holm)."
)


@dataclass(frozen=True)
class ThemeRow:
    """One theme; `examples` are (number of the case on the page, its id)."""

    words: str
    n: str
    accuracy: str
    interval: str
    others: str
    p: str
    is_different: bool
    examples: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class ThemeTable:
    """The themes of one kind of texts of a run."""

    run: str
    title: str
    summary: str
    rows: tuple[ThemeRow, ...]


def theme_tables(run: RunReport, cases: Sequence[CaseRow] = ()) -> list[ThemeTable]:
    """The tables of a run's themes; none where no theme is tested, as of a judge that is always right.

    Args:
        cases: on the page; a theme links to its wrong ones that are among them.
    """
    numbers = {row.judged.case_id: row.number for row in cases if row.run == run.name}
    return [
        ThemeTable(run.name, TITLES[of], _summary(of, themes), tuple(_row(theme, numbers) for theme in themes))
        for of, themes in run.themes.items()
        if any(theme.p is not None for theme in themes)
    ]


def theme_blocks(runs: Sequence[RunReport]) -> Iterator[str]:
    """The themes of all runs as Markdown."""
    heads = ["theme", "n", "accuracy", "95 %", "all others", "p (Holm)"]
    for run in runs:
        for table in theme_tables(run):
            name = f": {markdown.escape(run.name)}" if len(runs) > 1 else ""
            rows = [[row.words, row.n, row.accuracy, row.interval, row.others, row.p] for row in table.rows]
            yield f"### {table.title}{name}\n\n{table.summary}\n\n{markdown.table(heads, rows)}\n\n{NOTE}"


def is_different(theme: Theme) -> bool:
    """Whether the test shows another accuracy than elsewhere."""
    return theme.p is not None and theme.p < 0.05


def _summary(of: ThemesOf, themes: Sequence[Theme]) -> str:
    """Where the judge is shown to be worse or better than elsewhere, in a sentence."""
    shown = [theme for theme in themes if is_different(theme)]
    if not shown:
        return "No theme is shown to differ from the others."
    worst = [theme for theme in shown if (theme.accuracy.value or 0.0) < (theme.others.value or 0.0)]
    theme, word = (worst[0], "less") if worst else (shown[-1], "more")
    right, others = (format_percent(measure.value or 0.0) for measure in (theme.accuracy, theme.others))
    p = format_p_value(theme.p)
    p = p if p.startswith("<") else f"= {p}"
    words = ", ".join(theme.words[:4])
    return f"The judge is right {word} often on {WHAT[of]} “{words}”: {right} against {others} elsewhere (p {p})."


def _row(theme: Theme, numbers: Mapping[str, int]) -> ThemeRow:
    listed = [(numbers[case], case) for case in theme.case_ids if case in numbers]
    return ThemeRow(
        words=", ".join(theme.words),
        n=f"{theme.accuracy.n:,}",
        accuracy=format_measure(theme.accuracy),
        interval=format_interval(theme.accuracy),
        others=format_measure(theme.others),
        p=format_p_value(theme.p),
        is_different=is_different(theme),
        examples=tuple(listed[:MOST_EXAMPLES]),
    )
