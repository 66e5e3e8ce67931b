"""Blocks of GitHub-flavoured Markdown from untrusted text: tables, code, and the table of comparisons."""

import re
from collections.abc import Sequence

from ..evaluation.results import RunComparison, unshared_lines
from .formatting import format_p_value, readable
from .run_sections import rows_of_tests

_SPECIAL = re.compile(r"([\\`*_\[\]|~]|:(?=//))")


def comparisons(compared: Sequence[RunComparison], *, by_field: bool = False) -> str:
    """The table of all tests, of all cases or those by field; empty if there is none."""
    rows = [
        [
            f"{comparison.first} against {comparison.second}",
            readable(test.name),
            difference,
            interval,
            format_p_value(test.p),
            format_p_value(test.p_holm),
            f"{test.difference.n:,}",
            test.note,
        ]
        for comparison, test, difference, interval in rows_of_tests(compared, by_field=by_field)
    ]
    heads = ["runs", "test", "difference", "95 %", "p", "p (Holm)", "n", "note"]
    lines = [escape(line) for comparison in compared for line in unshared_lines(comparison)]
    if by_field:
        return f"### Comparisons by field\n\n{table(heads, rows)}" if rows else ""
    return "\n\n".join(["### Comparisons", table(heads, rows), *lines]) if rows else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain text."""
    lines = [heads, *rows]
    head, *body = (f"| {' | '.join(map(escape, line))} |" for line in lines)
    return "\n".join([head, f"| {' | '.join(['---'] * len(heads))} |", *body])


def escape(text: str) -> str:
    """The text on one line, without anything that Markdown or HTML would interpret."""
    line = " ".join(text.splitlines())
    return _SPECIAL.sub(r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;")


def code(text: str) -> str:
    """A code span; its fence is longer than any fence in the text."""
    line = " ".join(text.split())
    fence = _fence(line, 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def block(text: str, language: str) -> str:
    """A code block; nothing in the text can end it."""
    fence = _fence(text, 3)
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
