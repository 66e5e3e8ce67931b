"""How results look on a terminal: the consoles, progress, plain tables; judgments and summaries have their modules."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..data import Judged
from ..engines.engine import OnProgress
from ..evaluation.running_counts import RunningCounts
from .figures import interval_text
from .judgment import judgment, outcome, spent
from .summary import summary

__all__ = [
    "LINE_EVERY",
    "Compiling",
    "RunProgress",
    "console",
    "download_progress",
    "errors",
    "indented",
    "interval_text",
    "judgment",
    "outcome",
    "say",
    "spent",
    "summary",
    "table",
]

PIPE_WIDTH = 160  # columns where the output is no terminal
console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
errors = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else PIPE_WIDTH)
TOLD_AT_THE_END = ("test",)  # steps of a compilation whose words are its result
LINE_EVERY = 30.0  # seconds between progress lines where there is no terminal


class RunProgress:
    """Progress of a run: a bar with rate, time left, tokens, cost and accuracy so far; lines without a terminal."""

    def __init__(self, total: int | None, done: int, *, quiet: bool, transient: bool = False) -> None:
        self.counts, self.started, self.quiet, self.done, self.total = (
            RunningCounts(),
            time.monotonic(),
            quiet,
            done,
            total,
        )
        self._told = self.started
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
            console=errors, disable=quiet or not errors.is_terminal, transient=transient,
        )  # fmt: skip
        self._task = self._bar.add_task("judging", total=total, completed=done, note="")

    def add(self, judged: Judged) -> None:
        self.counts.add(judged)
        self.done += 1
        self._bar.update(self._task, completed=self.done, note=self.note())
        if not self.quiet and not errors.is_terminal and time.monotonic() - self._told > LINE_EVERY:
            self._told = time.monotonic()
            errors.print(f"judged {self.done}{f' of {self.total}' if self.total else ''}: {self.note()}{self.left()}")

    def note(self) -> str:
        usage, minutes = self.counts.usage, max((time.monotonic() - self.started) / 60, 1e-9)
        per_minute = self.counts.cases / minutes
        parts = [
            f"{per_minute:.0f}/min",
            f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.1f}k tokens",
        ]
        if usage.cost is not None:
            parts.append(f"${usage.cost:.4f}")
        if self.counts.labelled:
            parts.append(f"accuracy {self.counts.correct / self.counts.labelled:.2f}")
        if unscored := sum(self.counts.unscored.values()):
            parts.append(f"{unscored} unscored")
        return ", ".join(parts)

    def left(self) -> str:
        if self.total is None or not self.counts.cases:
            return ""
        seconds = (self.total - self.done) * (time.monotonic() - self.started) / self.counts.cases
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, value, trace)


class Compiling:
    """Progress of a compilation: a line a step, and a bar of the verdicts recorded meanwhile."""

    def __init__(self, *, quiet: bool) -> None:
        self._progress = RunProgress(None, 0, quiet=quiet, transient=True)
        self._quiet = quiet

    def step(self, name: str, told: str) -> None:
        if not self._quiet and name not in TOLD_AT_THE_END:
            errors.print(Text.assemble((name, "bold"), "  ", told), soft_wrap=not errors.is_terminal)

    def add(self, judged: Judged) -> None:
        self._progress.add(judged)

    def __enter__(self) -> Self:
        self._progress.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.__exit__(kind, value, trace)


@contextmanager
def download_progress(quiet: bool = False) -> Iterator[OnProgress]:
    """A progress bar in bytes, as `get_weights` and the catalogue report it."""
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(),
        console=errors, transient=True, disable=quiet or not errors.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("fetching", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


def say(sentence: str, style: str = "") -> None:
    """A sentence of a result: wrapped between words on a terminal, one line elsewhere."""
    console.print(sentence, style=style, markup=False, soft_wrap=not console.is_terminal)


def table(columns: list[str], rows: list[list[Any]]) -> Table:
    """A plain table."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(str(cell) for cell in row))
    return made


def indented(renderable: Any) -> Padding:
    return Padding(renderable, (0, 0, 0, 2))
