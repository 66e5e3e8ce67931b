"""How results look on a terminal: tables, one whole judgment, progress."""

import math
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ..data import Case, Finding, Judged, Usage, Verdict
from ..engines.weights import Progress as OnProgress
from ..evaluation import Proportion, Tally

PIPE_WIDTH = 160  # columns where the output is no terminal
console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)
errors = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else PIPE_WIDTH)

MEASURES = {
    "accuracy": "the verdict equals the human label",
    "agreement": "both orders, each taken alone, name the human winner",
    "consistency": "both orders, each taken alone, name the same winner",
    "coverage": "cases with a verdict",
}
LINE_EVERY = 30.0  # seconds between progress lines where there is no terminal


def share(proportion: Proportion) -> str:
    """`.825 [.750, .882]`; a dash when nothing was counted."""
    if not proportion.n:
        return "-"
    low, high = proportion.interval
    return f"{proportion.value:.3f} [{low:.3f}, {high:.3f}]"


def spent(usage: Usage) -> str:
    money = f", ${usage.cost:.4f}" if usage.cost is not None else ""
    tokens = f"{usage.prompt_tokens:,} prompt + {usage.completion_tokens:,} generated tokens"
    return f"{usage.calls:,} calls ({usage.cached:,} more from the cache), {tokens}{money}"


def summary(tally: Tally) -> Table:
    """The table at the end of a run."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "value [95 % CI]", "n", "what"):
        table.add_column(name, justify="right" if name == "n" else "left")
    for name, meaning in MEASURES.items():
        measure: Proportion = getattr(tally, name)
        if measure.n:
            table.add_row(name, share(measure), f"{measure.n:,}", meaning)
    for name, value in tally.correlations().items():
        told = "constant scores" if math.isnan(value) else f"{value:.3f}"
        table.add_row(name, told, f"{len(tally.pairs):,}", "judge's scores against people's, all texts")
    for reason, count in tally.reasons.most_common():
        table.add_row("unscored", reason, f"{count:,}", "counted in coverage alone")
    return table


def judgment(case: Case, verdict: Verdict) -> Panel:
    """One judgment, whole: the case, every finding, corrections and the verdict."""
    root = Tree(Text("judgment"), guide_style="dim", hide_root=True)
    root.add(Text.assemble(("request  ", "bold"), case.query))
    for index, candidate in enumerate(case.candidates):
        root.add(Text.assemble((f"{name_of(index, case)}  ", "bold"), candidate.text))
    by_criterion: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        by_criterion.setdefault(finding.criterion, []).append(finding)
    for criterion, findings in by_criterion.items():
        branch = root.add(Text(criterion, style="cyan"))
        if findings[0].guideline:
            branch.add(Text(findings[0].guideline, style="dim"))
        for finding in findings:
            branch.add(_evidence(finding))
    for correction in verdict.corrections:
        root.add(Text.assemble((f"{name_of(correction.candidate, case)} corrected  ", "bold green"), correction.text))
    root.add(Text(outcome(case, verdict), style="bold"))
    return Panel(root, title=case.id, title_align="left", border_style="dim")


def name_of(index: int, case: Case) -> str:
    return "text" if len(case.candidates) == 1 else "ab"[index] if case.is_pair else str(index)


def outcome(case: Case, verdict: Verdict) -> str:
    """The verdict in one line, with the human label when there is one."""
    if verdict.status != "scored":
        return f"{verdict.status}: {verdict.reason or ''} {verdict.detail}".rstrip()
    parts = [] if verdict.winner is None else [f"winner {verdict.winner}"]
    if verdict.scores:
        parts.append("scores " + " ".join(f"{score:.2f}" for score in verdict.scores))
    if verdict.certainty is not None:
        parts.append(f"certainty {verdict.certainty:.2f}")
    if verdict.consistent is not None:
        parts.append("both orders agree" if verdict.consistent else "the orders disagree")
    if case.label is not None:
        parts.append(f"people say {getattr(case.label, 'value', None) or getattr(case.label, 'values', '')}")
    return ", ".join(parts)


def _evidence(finding: Finding) -> Text:
    shown = {"ab": "shown a, b: ", "ba": "shown b, a: ", None: ""}[finding.order]
    read = " ".join(f"{score:.2f}" for score in finding.scores or ())
    if finding.distribution:
        read += " ".join(f"{label} {p:.2f}" for label, p in sorted(finding.distribution.items()))
    coverage = f"  (coverage {finding.coverage:.2f})" if finding.coverage is not None else ""
    return Text.assemble(
        shown, (read, "bold"), f"  {finding.explanation}" if finding.explanation else "", (coverage, "dim")
    )


class RunProgress:
    """Progress of a run: a bar with rate, time left, tokens, cost and accuracy so far; lines without a terminal."""

    def __init__(self, total: int | None, done: int, *, quiet: bool) -> None:
        self.tally, self.started, self.quiet, self.done, self.total = Tally(), time.monotonic(), quiet, done, total
        self._told = self.started
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
            TimeRemainingColumn(), TextColumn("{task.fields[note]}"),
            console=errors, disable=quiet or not errors.is_terminal,
        )  # fmt: skip
        self._task = self._bar.add_task("judging", total=total, completed=done, note="")

    def add(self, judged: Judged) -> None:
        self.tally.add(judged)
        self.done += 1
        self._bar.update(self._task, completed=self.done, note=self.note())
        if not self.quiet and not errors.is_terminal and time.monotonic() - self._told > LINE_EVERY:
            self._told = time.monotonic()
            errors.print(f"judged {self.done}{f' of {self.total}' if self.total else ''}: {self.note()}{self.left()}")

    def note(self) -> str:
        usage, minutes = self.tally.usage, max((time.monotonic() - self.started) / 60, 1e-9)
        rate = self.tally.cases / minutes
        parts = [
            f"{rate:.0f}/min",
            f"{(usage.prompt_tokens + usage.completion_tokens) / 1000:.1f}k tokens",
        ]
        if usage.cost is not None:
            parts.append(f"${usage.cost:.4f}")
        if self.tally.accuracy.n:
            parts.append(f"accuracy {self.tally.accuracy.value:.2f}")
        if unscored := sum(self.tally.reasons.values()):
            parts.append(f"{unscored} unscored")
        return ", ".join(parts)

    def left(self) -> str:
        if self.total is None or not self.tally.cases:
            return ""
        seconds = (self.total - self.done) * (time.monotonic() - self.started) / self.tally.cases
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, value, trace)


@contextmanager
def download_progress(quiet: bool = False) -> Iterator[OnProgress]:
    """A progress bar in bytes, as `get_weights` and the catalogue report it."""
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"), TimeRemainingColumn(),
        console=errors, transient=True, disable=quiet or not errors.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("fetching", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


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
