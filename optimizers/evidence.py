"""The verdicts of a compilation: each judge's on each part, judged once and kept; heads decide offline."""

import copy
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import Case, Judged
from ..programs.head import Head
from ..programs.judge import Judge
from .record import OnVerdict, identity, record
from .spending import Spending


class Interrupted(Exception):
    """Somebody asked to stop; what is done is kept, and the same command goes on."""


@dataclass
class Telling:
    """Where a compilation tells how far it is."""

    step: Callable[[str, str], None] = lambda name, told: None
    on_verdict: OnVerdict | None = None
    stop: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Evidence:
    """What judges said of the cases of one compilation.

    Args:
        folder: holds a run folder for each judge and part.
        workers: cases at once.
    """

    folder: Path
    spending: Spending
    telling: Telling
    workers: int

    def of(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The judge's own verdicts, without head and threshold.

        Raises:
            Interrupted: it was stopped before all were judged.
            BudgetSpent, Infrastructure: see `engines.runner.run_cases`.
        """
        bare = plain(judge)
        folder = self.folder / f"{part}-{digest(identity(bare))}"
        with self.spending.recording() as counted:

            def on_verdict(judged: Judged) -> None:
                counted(judged)
                if self.telling.on_verdict is not None:
                    self.telling.on_verdict(judged)

            found = record(bare, cases, folder, workers=self.workers, on_verdict=on_verdict, stop=self.telling.stop)
        if len(found) < len(cases):
            raise Interrupted
        return found

    def decided(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The verdicts as the judge's head decides them; none is abstained."""
        verdicts = self.of(judge, cases, part)
        if judge.head is None:
            return verdicts
        return [Judged.of(case, judge.head(case, one)) for case, one in zip(cases, verdicts, strict=True)]


def plain(judge: Judge) -> Judge:
    """A copy without head and threshold: what evidence is recorded of."""
    bare: Judge = judge.deepcopy()
    bare.head, bare.threshold = None, None
    return bare


def with_head(judge: Judge, head: Head) -> Judge:
    """A copy with this head."""
    headed = plain(judge)
    headed.head = copy.deepcopy(head)
    return headed


def digest(told: Mapping[str, Any]) -> str:
    """Twelve hex digits that tell two of these apart."""
    return hashlib.sha256(repr(sorted(told.items())).encode()).hexdigest()[:12]


def digest_of(cases: Iterable[Case]) -> str:
    """SHA-256, in hex, of labelled cases in their order: which judge learnt from which cases."""
    told = "\n".join(case.model_dump_json() for case in cases)
    return hashlib.sha256(told.encode()).hexdigest()


def seen_cases(cases: Sequence[Case]) -> str:
    """What a judge file keeps of its cases, in a line: `digest_of` all, then twelve hex digits of each."""
    return " ".join([digest_of(cases), *sorted(map(_shown, cases))])


def seen_among(cases: Sequence[Case], told: str) -> int:
    """How many of the cases are among those of a judge file's line, whatever their order, ids and labels."""
    whole, *each = told.split() or [""]
    seen = set(each)
    return len(cases) if digest_of(cases) == whole else sum(_shown(case) in seen for case in cases)


def _shown(case: Case) -> str:
    """Twelve hex digits of what a judge is shown of a case, its candidates in either order."""
    about = case.model_dump_json(include={"query", "history", "profile", "aspect"})
    return digest({"about": about, "texts": sorted(candidate.text for candidate in case.candidates)})
