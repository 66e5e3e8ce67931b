"""Progress on a terminal: a bar; elsewhere a line now and then."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.cells import cell_len
from rich.columns import Columns
from rich.console import RenderableType
from rich.measure import measure_renderables
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.progress import TimeRemainingColumn as Remaining
from rich.text import Text

from ...data import Judged
from ...engines.weights import OnProgress
from ...evaluation.running_counts import RunningCounts
from ...workflows.progress import Progress
from .console import errors

RESULT_STEPS = ("test",)  # steps of a compilation whose words are its result
LINE_EVERY = 30.0  # seconds between progress lines where there is no terminal


class NotedBar(Bar):
    """A bar with a note beside it, or below it where the terminal is too narrow for both."""

    def get_renderables(self) -> Iterator[RenderableType]:
        """The bar of each task, and its note."""
        for task in self.tasks:
            bar, note = self.make_tasks_table([task]), Text(task.fields.get("note", ""), overflow="ellipsis")
            room = self.console.width - measure_renderables(self.console, self.console.options, [bar]).maximum
            if room > cell_len(note.plain):
                yield Columns([bar, note])
            else:
                yield bar
                yield Padding(note, (0, 0, 0, 2))


class BarProgress(Progress):
    """A bar that is shown from `start` on, and one for downloads before it.

    Attributes:
        started: whether cases are being processed.
    """

    def __init__(self, description: str, *, quiet: bool, transient: bool = False) -> None:
        self.started, self.quiet, self.done = False, quiet, 0
        self.total: int | None = None
        self._line_at = self._since = time.monotonic()
        self._downloads: Any = None
        self._bar = NotedBar(
            TextColumn(description, markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            console=errors, disable=quiet or not errors.is_terminal, transient=transient,
        )  # fmt: skip

    def download(self, name: str, done: int, total: int) -> None:
        if self._downloads is None:
            self._downloads = download_progress()
            self._show_download = self._downloads.__enter__()
        self._show_download(name, done, total)

    def start(self, total: int | None, done: int) -> None:
        self._end_downloads()
        self.started, self.total, self.done = True, total, done
        self._line_at = self._since = time.monotonic()
        self._bar.start()
        self._task = self._bar.add_task("", total=total, completed=done, note="")

    def notice(self, text: str) -> None:
        errors.print(text, soft_wrap=True)

    def advance(self, note: str, line: str) -> None:
        """One case more: `note` beside the bar, or where there is no terminal `line` with it, now and then."""
        self.done += 1
        self._bar.update(self._task, completed=self.done, note=note)
        if not self.quiet and not errors.is_terminal and time.monotonic() - self._line_at > LINE_EVERY:
            self._line_at = time.monotonic()
            errors.print(f"{line} {self.done}{f' of {self.total}' if self.total else ''}: {note}")

    def _end_downloads(self) -> None:
        if self._downloads is not None:
            self._downloads.__exit__(None, None, None)
            self._downloads = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_downloads()
        self._bar.stop()


class RunProgress(BarProgress):
    """Progress of a run, with speed, time left, tokens, cost and accuracy so far."""

    shows_accuracy = True

    def __init__(self, *, quiet: bool, transient: bool = False) -> None:
        super().__init__("judging", quiet=quiet, transient=transient)
        self.counts = RunningCounts()

    def verdict(self, judged: Judged) -> None:
        if not self.started:
            self.start(None, 0)
        self.counts.add(judged)
        self.advance(self.note() + self.left(), "judged")

    def note(self) -> str:
        usage, minutes = self.counts.usage, max((time.monotonic() - self._since) / 60, 1e-9)
        pace = self.counts.cases / minutes
        parts = [
            f"{pace:.{0 if pace >= 10 else 1}f}/min",
            f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.1f}k tokens",
        ]
        if usage.cost is not None:
            parts.append(f"${usage.cost:.4f}")
        if self.counts.labelled and self.shows_accuracy:
            parts.append(f"accuracy {self.counts.correct / self.counts.labelled:.2f}")
        if unscored := sum(self.counts.unscored.values()):
            parts.append(f"{unscored} unscored")
        return ", ".join(parts)

    def left(self) -> str:
        """By the mean time of all cases of this call: those of several workers end together, then none for long."""
        if self.total is None or not self.counts.cases:
            return ""
        seconds = (self.total - self.done - 1) * (time.monotonic() - self._since) / self.counts.cases
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"


class Compiling(RunProgress):
    """Progress of a compilation: a line a step, and a bar of the verdicts recorded meanwhile.

    These are of several judges before any head is fitted, so that their accuracy so far would say nothing.
    """

    shows_accuracy = False

    def __init__(self, *, quiet: bool) -> None:
        super().__init__(quiet=quiet, transient=True)

    def step(self, name: str, text: str) -> None:
        if not self.quiet and name not in RESULT_STEPS:
            errors.print(Text.assemble((name, "bold"), "  ", text), soft_wrap=not errors.is_terminal)


class ExperimentProgress(RunProgress):
    """Progress over all runs of an experiment: its estimate, a line a run, and a bar of all cases."""

    def step(self, name: str, text: str) -> None:
        if not self.quiet:
            errors.print(Text.assemble((name, "bold"), "  ", text), soft_wrap=True)


class PrepareProgress(BarProgress):
    """Progress of a preparation, with the failures so far."""

    def __init__(self, *, quiet: bool, doing: str = "preparing", done: str = "prepared") -> None:
        super().__init__(doing, quiet=quiet)
        self._done = done

    def prepared(self, failures: int) -> None:
        from ...engines.ledger import current_ledger

        ledger = current_ledger()
        tokens = 0 if ledger is None else ledger.total.prompt_tokens + ledger.total.completion_tokens
        self.advance(f"{tokens / 1000:.1f}k tokens" + (f", {failures} failed" if failures else ""), self._done)


@contextmanager
def download_progress(quiet: bool = False) -> Iterator[OnProgress]:
    """A progress bar in bytes, as `get_weights` and the catalogue report it."""
    with Bar(
        TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"),
        Remaining(),
        console=errors, transient=True, disable=quiet or not errors.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("fetching", total=None)
        yield lambda name, done, total: bar.update(task, description=name, completed=done, total=total)
