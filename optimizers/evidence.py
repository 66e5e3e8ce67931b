"""The verdicts of a compilation: each judge's on each part, judged once and kept; heads decide offline."""

import copy
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import Case, Judged
from ..errors import Infrastructure
from ..judging.heads import Head
from ..judging.judge import Judge
from .cost_account import Spending
from .record_run import OnVerdict, identity, record


class Interrupted(Exception):
    """Somebody asked to stop; what is done is kept, and the same command goes on.

    Args:
        best: the best judge so far, where there is one beyond what the steps before have given.
    """

    def __init__(self, best: Judge | None = None) -> None:
        super().__init__("interrupted")
        self.best = best


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
    _known: dict[Path, dict[str, Judged]] = field(default_factory=dict, repr=False)

    def of(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The judge's own verdicts, without head and threshold; whenever they are asked for, the same.

        Raises:
            Interrupted: it was stopped before all were judged.
            Infrastructure: the server failed at every case, twice; or see `engines.batch.run_cases`.
            BudgetSpent: see there.
        """
        bare = plain(judge)
        folder = self.folder / f"{part}-{digest(identity(bare))}"
        known = self._known.setdefault(folder, {})
        if any(case.id not in known for case in cases):
            found = self._recorded(bare, cases, folder)
            if any(_of_the_server(judged) for judged in found):
                found = self._recorded(bare, cases, folder)  # which asks those again
            if found and all(map(_of_the_server, found)):
                raise Infrastructure(found[0].detail)
            for judged in found:
                known.setdefault(judged.case_id, judged)
        return [known[case.id] for case in cases]

    def _recorded(self, bare: Judge, cases: Sequence[Case], folder: Path) -> list[Judged]:
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


def _of_the_server(judged: Judged) -> bool:
    return judged.reason == "infrastructure"


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


def unseen(cases: Sequence[Case], told: object) -> list[Case]:
    """The cases that are not among those of a judge file's line, whatever their order, ids and labels."""
    if not isinstance(told, str):
        return list(cases)
    whole, *each = told.split() or [""]
    seen = set(each)
    return [] if digest_of(cases) == whole else [case for case in cases if _shown(case) not in seen]


def _shown(case: Case) -> str:
    """Twelve hex digits of what a judge is shown of a case, its candidates in either order."""
    about = case.model_dump_json(include={"query", "history", "profile", "aspect"})
    return digest({"about": about, "texts": sorted(candidate.text for candidate in case.candidates)})
