"""The evidence of a compilation: each judge runs once over each part, and its verdicts are stored.

Heads are fitted to stored verdicts without a call. Verdicts are stored in run folders like those of `dicast judge`: a
kill loses nothing, `dicast evaluate` reads them, and a second run continues.

No result is computed from evidence that a server left incomplete. Cases that failed at the server are asked again at
once, in up to `ROUNDS` rounds; if more than `FEW` still fail, `Incomplete` ends the call before the step, and the next
call asks them. Evidence with fewer failures is used, with a line that says so, and is never asked again: it stays what
the results were computed from, and the test part is looked at once.
"""

import copy
import hashlib
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..data import Case, Judged, Verdict
from ..engines.batch import RETRIED, RunFolder, run_cases
from ..errors import ExecutionError, Infrastructure, Internal, Unreadable
from ..judging.block_base import Vectors
from ..judging.heads import Head
from ..judging.judge import Judge
from ..judging.judge_record import to_record
from ..judging.models_beside import by_weights, models_by_weights
from ..paths import private_folder
from .cost_account import CostAccount
from .fingerprints import digest
from .head.fit import HeadFit, fit
from .head.person_offer import personal

OnVerdict = Callable[[Judged], None]
PASSING = frozenset({"infrastructure", "budget"})  # reasons that say nothing of the judge
ROUNDS = 3  # in which cases that failed at the server are asked again within one call; fewer where a round helps none
FEW = 0.05  # of the cases, but at least one, may have failed at the server for good
LOST = {
    "infrastructure": "failed at the server",
    "budget": "had no budget left",
    "internal": "failed inside the judge",
    "unreadable": "are unreadable",
}


class Incomplete(Infrastructure):
    """Too many cases failed at the server to make a result of the others; the same call asks them again."""


class Interrupted(Exception):
    """The user stopped the compilation; finished work is stored, and the same command continues.

    Args:
        best: the best judge so far, if it is better than the judge of the finished steps.
    """

    def __init__(self, best: Judge | None = None) -> None:
        super().__init__("interrupted")
        self.best = best


@dataclass
class ProgressCallbacks:
    """How a compilation reports its progress, and how it is stopped.

    Attributes:
        step: called with the name of a step and a line about it.
        on_verdict: called with each new verdict, from any thread.
        stop: when set, no further case is judged.
    """

    step: Callable[[str, str], None] = lambda name, text: None
    on_verdict: OnVerdict | None = None
    stop: threading.Event = field(default_factory=threading.Event)

    def without(self, name: str) -> "ProgressCallbacks":
        """The same callbacks for an inner work that repeats the step `name`, which is already reported."""
        return replace(self, step=lambda step, text: None if step == name else self.step(step, text))


@dataclass(frozen=True)
class Evidence:
    """The verdicts of the judges of one compilation.

    Args:
        folder: holds a run folder for each judge and part.
        workers: cases in flight.
        as_read: by id, the cases as the user gave them, where the steps see them in joined groups.
    """

    folder: Path
    account: CostAccount
    progress: ProgressCallbacks
    workers: int
    as_read: Mapping[str, Case] = field(default_factory=dict)
    _verdicts: dict[Path, dict[str, Judged]] = field(default_factory=dict, repr=False)

    def of(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The judge's verdicts without head and threshold; the same at every call.

        Raises:
            Interrupted: the compilation was stopped before all cases were judged.
            Incomplete: too many cases failed at the server.
            Infrastructure: the server failed at every case; or see `engines.batch.run_cases`.
            Unreadable, Internal: no case could be read or judged.
            BudgetSpent: see there.
        """
        judge = without_head(judge)
        folder = self.folder / f"{part}-{digest(identity(judge))}"
        verdicts = self._verdicts.setdefault(folder, {})
        if any(case.id not in verdicts for case in cases):
            for judged in self._complete(judge, cases, folder):
                verdicts.setdefault(judged.case_id, judged)
        return [_in_group(verdicts[case.id], case.split_key) for case in cases]

    def _complete(self, judge: Judge, cases: Sequence[Case], folder: Path) -> list[Judged]:
        """The verdicts, of which at most a few failed at the server; asked in rounds."""
        recorded, new = self._record(judge, cases, folder)
        failed = _failures(recorded)
        for _ in range(ROUNDS if new else 0):
            if not failed:
                break
            recorded, _ = self._record(judge, cases, folder, PASSING)
            before, failed = failed, _failures(recorded)
            if failed == before:
                break
        if not _is_usable(recorded):
            raise _failure_of(judge, recorded)
        for reason, n in Counter(judged.reason for judged in recorded if judged.reason in LOST).items():
            self.progress.step(
                "evidence", f"{judge.name}: {n:,} of {len(cases):,} cases {LOST[str(reason)]} and stay unscored"
            )
        return recorded

    def _record(
        self, judge: Judge, cases: Sequence[Case], folder: Path, retried: frozenset[str] | None = None
    ) -> tuple[list[Judged], int]:
        """The verdicts, and how many of them are new."""
        private_folder(self.folder)
        new = 0
        with self.account.recording() as count:

            def on_verdict(judged: Judged) -> None:
                nonlocal new
                new += 1
                count(judged)
                if self.progress.on_verdict is not None:
                    self.progress.on_verdict(judged)

            cases_as_read = [self.as_read.get(case.id, case) for case in cases]
            recorded = record(
                judge,
                cases_as_read,
                folder,
                self.workers,
                retried=retried,
                on_verdict=on_verdict,
                stop=self.progress.stop,
            )
        if len(recorded) < len(cases):
            raise Interrupted
        return recorded, new

    def with_head(self, judge: Judge, cases: Sequence[Case], part: str) -> list[Judged]:
        """The verdicts after the judge's head, without abstention."""
        return self.headed(judge, cases, self.of(judge, cases, part))

    def headed(self, judge: Judge, cases: Sequence[Case], verdicts: list[Judged]) -> list[Judged]:
        """These verdicts, which have no head, after the judge's head."""
        if judge.head is None:
            return verdicts
        vectors: Sequence[Mapping[str, Vectors] | None] = vectors_of(judge, cases, verdicts) or [None] * len(cases)
        return [
            Judged.of(case, judge.head(self.as_read.get(case.id, case), judged, read))
            for case, judged, read in zip(cases, verdicts, vectors, strict=True)
        ]


def vectors_of(judge: Judge, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[Mapping[str, Vectors]] | None:
    """What the judge's sources of evidence give of each case, (candidates, width) by name; nothing of a case without a
    verdict. None for a judge without sources. They were read, and stored, when the case was judged."""
    if not judge.sources():
        return None
    return [
        judge.read_vectors(case) if verdict.status != "unscored" else {}
        for case, verdict in zip(cases, verdicts, strict=True)
    ]


def fit_head(
    judge: Judge,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    seed: int,
    folds: int = 5,
    length: bool = False,
    as_read: Sequence[Case] | None = None,
    costs: Mapping[str, float] | None = None,
) -> HeadFit:
    """The head of the judge's verdicts and of its sources of evidence; see `head.fit.fit`.

    Args:
        judge: without a head.
        cases: labelled.
        verdicts: one per case.
        seed: of the folds.
        folds: see there.
        length: see there.
        as_read: the cases as the user gave them, for weights of people (`head.person_offer.personal`); None: without.
        costs: see there.
    """
    sources = [source for source in judge.sources() if source.width > 1]  # single numbers are in the verdicts
    specs = {source.name: source.spec for source in sources}
    vectors = vectors_of(judge, cases, verdicts) if sources else None
    fitted = fit(cases, verdicts, seed=seed, folds=folds, length=length, sources=specs, vectors=vectors, costs=costs)
    if as_read is None or vectors is None:
        return fitted
    return personal(fitted, as_read, verdicts, vectors, seed=seed)


def record(
    judge: Judge,
    cases: Sequence[Case],
    folder: Path,
    workers: int,
    *,
    retried: frozenset[str] | None = None,
    on_verdict: OnVerdict,
    stop: threading.Event | None = None,
) -> list[Judged]:
    """The verdicts of these cases, in their order; cases whose verdict the folder holds are not judged again.

    A folder belongs to one judge. Cases may be added later. If `stop` was set, the cases that were not judged are
    missing.

    Args:
        retried: reasons of unscored verdicts of these cases that are judged again, as far as the server lets; None: if
            verdicts are missing, those that do not pass; else if too many failed, `RETRIED`; else none.

    Raises:
        RunError: the folder holds verdicts of another judge or model, or of another case under a known id.
        BudgetSpent, Infrastructure: see `engines.batch.run_cases`; finished verdicts are stored.
    """
    run = RunFolder(folder, among=frozenset(case.id for case in cases))
    with run.locked():
        run.open({"identity": identity(judge) | {"models": judge.resolved_models()}, "scale": judge.score_scale})
        stored, first = _stored(run, cases), retried is None
        if retried is None:
            retried = RETRIED - PASSING
            if len(stored) == len(cases):
                retried = frozenset() if _is_usable(stored) else RETRIED
        run.retried = retried
        run.read_done()
        try:
            run_cases(judge, cases, run, workers=workers, on_verdict=on_verdict, stop=stop)
        except Infrastructure:
            if first:
                raise
            repeated = {judged.case_id for judged in _stored(run, cases)}
            with run.append() as file:
                for judged in stored:
                    if judged.case_id not in repeated:
                        run.add(file, judged.case_id, judged.model_dump_json())
        return _stored(run, cases)


def _stored(run: RunFolder, cases: Sequence[Case]) -> list[Judged]:
    verdicts = {judged.case_id: judged for judged in run.judged()} if run.verdicts.exists() else {}
    return [verdicts[case.id] for case in cases if case.id in verdicts]


def identity(judge: Judge) -> dict[str, Any]:
    """What evidence depends on: all that a judge file holds of the judge but its head and threshold; files that its
    settings name, and weights in a file or folder, count by their content."""
    content = models_by_weights(to_record(judge)).model_dump_json(exclude={"head", "threshold"})
    return {
        "judge": judge.name,
        "settings": judge.settings(),
        "lm": " + ".join(dict.fromkeys(by_weights(seat.model) for seat in judge.seats())) or "none",
        "data": hashlib.sha256(content.encode()).hexdigest(),
    }


def without_head(judge: Judge) -> Judge:
    """A copy without head and threshold."""
    plain_judge: Judge = judge.deepcopy()
    plain_judge.head, plain_judge.threshold = None, None
    return plain_judge


def with_head(judge: Judge, head: Head) -> Judge:
    """A copy with this head and without a threshold."""
    headed = without_head(judge)
    headed.head = copy.deepcopy(head)
    return headed


def _in_group(judged: Judged, group: str) -> Judged:
    return judged if judged.group == group else judged.model_copy(update={"group": group})


def _failures(verdicts: Sequence[Judged]) -> int:
    """How many cases failed at the server."""
    return sum(judged.reason in PASSING for judged in verdicts)


def _is_usable(verdicts: Sequence[Judged]) -> bool:
    """Whether results may be computed from the verdicts of a part."""
    if verdicts and all(judged.reason in RETRIED for judged in verdicts):
        return False
    return _failures(verdicts) <= max(1, FEW * len(verdicts))


def _failure_of(judge: Judge, verdicts: Sequence[Judged]) -> ExecutionError:
    """Why no result can be computed from the verdicts."""
    lost = [judged for judged in verdicts if judged.reason in RETRIED]
    if len(lost) == len(verdicts):
        kinds: tuple[type[ExecutionError], ...] = (Infrastructure, Unreadable, Internal)
        kind = next((kind for kind in kinds if kind.reason == lost[0].reason), Infrastructure)
        return kind(f"judge {judge.name!r}: no case could be judged; the first one: {lost[0].detail}")
    first = next(judged for judged in lost if judged.reason in PASSING)
    return Incomplete(
        f"judge {judge.name!r}: {_failures(verdicts):,} of {len(verdicts):,} cases failed at the server, such as "
        f"{first.case_id!r}: {first.detail.rstrip('.')}. No result was computed from the others. Run again to "
        "ask them, or leave them out if they fail each time."
    )
