"""The batch runner: cases in, `verdicts.jsonl` out, streaming, and safe against a kill at any moment.

A run folder holds `manifest.json` (which judge judged which cases) and `verdicts.jsonl` (one `Judged` a line, in order
of completion, written through). Running again continues: cases that have a verdict are skipped, an unfinished last
line is cut off, and cases that failed for a reason that may pass are judged again. Calls that were answered before a
kill come from the answer store, so they are not paid for twice.
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from ..data import Case, Judged, Verdict
from ..data.text_digest import case_text_digest
from ..errors import DeclarationError, Infrastructure, Internal, RunError, Unreadable, UnscoredReason
from ..parsing import explain, parse_record_json
from .jsonl import ResumableJsonl, rewriting
from .last_lines import LastLines
from .odd_cases import LenientJudge, failure_of
from .parallel import stream
from .run_identity import judge_digest

DELETE = "Delete the line; the case is judged again."
REASONS: tuple[str, ...] = get_args(UnscoredReason)
RETRIED = frozenset({"infrastructure", "budget", "internal", "unreadable"})  # say little about the case itself


def retried_reasons(text: str | None) -> frozenset[str]:
    """The reasons of unscored verdicts that are judged again: always `RETRIED`, and those of a list.

    Args:
        text: reasons with commas, or "all".

    Raises:
        DeclarationError: no text, or a word in it that is no reason.

    Example:
        >>> sorted(retried_reasons("parse_failure") - RETRIED)
        ['parse_failure']
    """
    if text is not None and not isinstance(text, str):
        raise DeclarationError(f"retry: {text!r} is not a text. Write it as in 'parse_failure,refusal'; or 'all'.")
    named = frozenset(name.strip() for name in (text or "").split(",") if name.strip())
    if unknown := sorted(named - {"all", *REASONS}):
        raise DeclarationError(f"retry: {unknown[0]!r} is no reason. Give some of {', '.join(REASONS)}; or all.")
    return frozenset(REASONS) if "all" in named else RETRIED | named


class RunFolder(ResumableJsonl):
    """A run's files, and which cases have a verdict.

    Args:
        path: the folder.
        retried: reasons of unscored verdicts that are judged again.
        among: ids of the cases of which they are; None: of all.
    """

    def __init__(self, path: Path, *, retried: frozenset[str] = RETRIED, among: frozenset[str] | None = None) -> None:
        super().__init__(
            path / "verdicts.jsonl", path / "manifest.json", path / ".lock", location=path, content="a run"
        )
        self.path, self.retried, self.among = path, retried, among
        self.repeated = 0  # lines of a case that has a later line, counted as the file is read
        self.without_digest = 0  # verdicts of an earlier version, likewise

    @property
    def verdicts(self) -> Path:
        return self.lines

    @property
    def judge_digest(self) -> str:
        """What every verdict of the folder carries."""
        return judge_digest(self.read_manifest()["identity"])

    def judged(self) -> Iterator[Judged]:
        """The verdicts, one a case: of several lines of one case the last counts.

        Raises:
            RunError: no manifest, no verdicts, a damaged line, or a line of another judge.
        """
        expected = self.judge_digest
        if not self.lines.exists():
            raise RunError(f"{self.path}: has no verdicts.jsonl, so it is not a run folder. Name the --out of a run.")
        lines = LastLines(self.lines, "case_id")
        self.repeated, self.without_digest = lines.repeated, 0
        for number, line in lines:
            where = f"{self.lines} line {number}: not a verdict"
            judged = parse_record_json(Judged, line, where, error=RunError, advice=DELETE)
            if judged.judge_digest not in ("", expected):
                raise RunError(
                    f"{self.lines} line {number}: the verdict of case {judged.case_id!r} is of another judge or model "
                    f"({judged.judge_digest}) than the manifest names ({expected}). Delete the line, or bring the "
                    "manifest back."
                )
            self.without_digest += not judged.case_digest
            yield judged

    def finished(self) -> Iterator[tuple[str, str]]:
        """The id of each case with a verdict that stays, and the digest of the case."""
        return ((judged.case_id, judged.case_digest) for judged in self.judged() if not self._is_retried(judged))

    def drop_retried(self) -> None:
        """Take the verdicts that are judged again out of the file; it is exchanged whole."""
        if not self.has_lines() or not any(map(self._is_retried, self.judged())):
            return
        with rewriting(self.lines) as file:
            for judged in self.judged():
                if not self._is_retried(judged):
                    file.write(judged.model_dump_json().encode() + b"\n")

    def _is_retried(self, judged: Judged) -> bool:
        return judged.reason in self.retried and (self.among is None or judged.case_id in self.among)

    def changed(self, case: Case) -> str:
        before = next(judged for judged in self.judged() if judged.case_id == case.id)
        return _changed(before, case)

    def read_manifest(self) -> dict[str, Any]:
        if not self.manifest.exists() and self.has_lines():
            raise RunError(
                f"{self.path}: has verdicts but no manifest.json, so it is not known which judge gave them. Bring the "
                "manifest back, or give another --out."
            )
        if not self.manifest.exists():
            raise RunError(f"{self.path}: has no manifest.json, so it is not a run folder. Name the --out of a run.")
        return super().read_manifest()


def _changed(judged: Judged, case: Case) -> str:
    """What a verdict's line says of its case that is not so now, in words."""
    now = Judged.of(case, judged)
    for name in ("aspect", "label", "votes", "systems"):
        if getattr(judged, name) != getattr(now, name):
            return f"its {name} was {_plain(getattr(judged, name))} and is {_plain(getattr(now, name))}"
    if judged.lengths != now.lengths:
        return f"its texts had {list(judged.lengths)} characters and have {list(now.lengths)}"
    return "it has another query, history, profile, group, text or scale"


def _plain(value: Any) -> Any:
    """A label as its value, for a message."""
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    if hasattr(value, "lo"):
        return f"{', '.join(f'{score:g}' for score in value.values)} on {value.lo:g}..{value.hi:g}"
    return repr(value.value) if hasattr(value, "value") else repr(value)


def read_manifest(folder: Path) -> dict[str, Any]:
    """A run's manifest; raises RunError when the folder holds no run, or one of an unknown format."""
    return RunFolder(folder).read_manifest()


def read_verdicts(folder: Path) -> Iterator[Judged]:
    """The verdicts of a run, one a case and at a time; raises RunError as `RunFolder.judged`."""
    return RunFolder(folder).judged()


def run_cases(
    judge: Callable[[Case], Verdict],
    cases: Iterable[Case],
    folder: RunFolder,
    *,
    workers: int,
    on_verdict: Callable[[Judged], None],
    stop: threading.Event | None = None,
) -> None:
    """Judge the cases that have no verdict yet and write each verdict as it comes.

    Args:
        workers: cases in flight; memory holds at most twice as many.
        stop: once set, no new case starts, and the cases in flight are finished and written.

    Raises:
        BudgetSpent: the budget is used up; finished verdicts are written.
        Infrastructure, Unreadable, Internal: nothing works (`StopRule`); finished verdicts are written.
        DeclarationError: a model that cannot be used, or no case that can be judged; likewise.
    """
    folder.drop_retried()
    lenient, finished, of_judge = LenientJudge(judge), 0, folder.judge_digest
    earlier, stop = len(folder.done), stop or threading.Event()

    def line_of(case: Case) -> Judged:
        verdict = lenient(case)
        digests = {"case_digest": case.digest, "text_digest": case_text_digest(case), "judge_digest": of_judge}
        try:
            return Judged.of(case, verdict, **digests)
        except ValidationError as error:  # a verdict that is not of this case's kind
            problem = f"the judge's verdict does not fit the case: {explain(error)}"
            unscored = Verdict(case_id=case.id, status="unscored", reason="internal", detail=problem)
            return Judged.of(case, unscored, **digests)

    judged_cases = stream(line_of, folder.missing(cases), workers=workers, stop=stop, failed=failure_of)
    with folder.append() as file:
        try:
            for case, judged in judged_cases:
                folder.add(file, case.id, judged.model_dump_json())
                finished += 1
                on_verdict(judged)
        except (Infrastructure, Unreadable, Internal):
            lenient.check(finished, earlier)
            raise
    if not stop.is_set():
        lenient.check(finished, earlier)
