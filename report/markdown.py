"""The report's figures as GitHub-flavoured Markdown: the headline, every table, and no plot."""

import re
from collections.abc import Iterator, Sequence

from ..evaluation.results import Comparison, ConfusionTable, LabelRow
from .formatting import THIN, lead_of, named, p_value, told
from .headline import headline
from .run_report import RunReport
from .sections import Table, compared, parts

_SPECIAL = re.compile(r"([\\`*_\[\]|~]|:(?=//))")


def markdown(runs: Sequence[RunReport], comparisons: Sequence[Comparison] = (), *, title: str, now: str) -> str:
    """The report as Markdown; the same input gives the same text.

    Args:
        runs: the first leads; the others stand beside it.
        comparisons: paired tests between them.
        now: when the report was made, as it should be read.
    """
    top = headline(runs, lead_of(runs[0]) if runs else None)
    blocks = [f"# {plain(title)}", f"**{plain(top.words)}.** {plain(' '.join(top.sentences))}", plain(now)]
    for part in parts(runs):
        tables = [*(_figures(table, len(runs) > 1) for table in part.tables)]
        if part.key == "trust" and (tests := tests_table(comparisons)):
            tables.append(tests)
        if part.key == "wrong":
            tables += _mistakes(runs)
        if tables:
            blocks += [f"## {part.question}", *tables]
    if runs:
        blocks += ["## How to reproduce it", "\n".join(f"- {code(run.evaluation.signature)}" for run in runs)]
        blocks.append("Intervals are 95 %. Cases without a verdict are counted, and never taken as wrong.")
    return "\n\n".join(blocks).replace(THIN, " ") + "\n"


def _figures(table: Table, several: bool) -> str:
    rows = []
    for line in table.lines:
        for cell in line.cells:
            note = " ".join(filter(None, [line.what, cell.note]))
            rows.append([line.name, *([cell.run] if several else []), cell.value, cell.interval, cell.n, note])
    return f"### {table.title}\n\n" + tabled(
        ["measure", *(["run"] if several else []), "value", "95 %", "n", "meaning"], rows
    )


def tests_table(comparisons: Sequence[Comparison]) -> str:
    """Every test of every comparison; empty when there is none."""
    rows = [
        [
            f"{one.first} against {one.second}",
            named(test.name),
            difference,
            ends,
            p_value(test.p),
            p_value(test.p_holm),
            f"{one.cases:,}",
            test.note,
        ]
        for one, test, difference, ends in compared(comparisons)
    ]
    head = ["runs", "test", "difference", "95 %", "p", "p (Holm)", "n", "note"]
    return "### Comparisons\n\n" + tabled(head, rows) if rows else ""


def _mistakes(runs: Sequence[RunReport]) -> Iterator[str]:
    for run in runs:
        of = f": {plain(run.name)}" if len(runs) > 1 else ""
        if run.evaluation.confusion is not None:
            yield f"### What the judge says where people say …{of}\n\n" + _confusion(run.evaluation.confusion)
        if run.evaluation.labels:
            yield f"### Label by label{of}\n\n" + _labels(run.evaluation.labels)


def _confusion(table: ConfusionTable) -> str:
    rows = [[label, *(f"{n:,}" for n in counts)] for label, counts in zip(table.labels, table.counts, strict=True)]
    return tabled(["people ↓, judge →", *table.labels], rows)


def _labels(rows: Sequence[LabelRow]) -> str:
    shown = [
        [
            one.label,
            told(one.precision, "percent"),
            told(one.recall, "percent"),
            told(one.f1),
            f"{one.support:,}",
            f"{one.predicted:,}",
        ]
        for one in rows
    ]
    return tabled(["label", "precision", "recall", "F1", "people say it", "judge says it"], shown)


def tabled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain words."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(one if index == 1 else plain(one) for one in line)} |" for index, line in enumerate(lines)
    )


def plain(text: str) -> str:
    """The text with nothing in it that Markdown or HTML would read, on one line."""
    line = " ".join(text.splitlines())
    return _SPECIAL.sub(r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;")


def code(text: str) -> str:
    """A code span; longer fences than any inside."""
    line = " ".join(text.split())
    fence = _fence(line, 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def block(text: str, language: str) -> str:
    """A block of code, its lines as they are; nothing in it can end it."""
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
