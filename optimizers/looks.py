"""Looks: which cases decided a test before, so that a compilation's outcome holds however often its cases are tested.

A look is the decisive test of a compilation: the compiled judge against the uncompiled one on some cases. Each is noted
in a ledger on this machine (`engines.history_file`), and in the judge file, so that compiling that judge file again
elsewhere counts it. Cases are noted by digests of their texts, which ids, order, case and white space do not change.
The very same test, the same verdicts on the same labelled cases, is the same look: a resumed compilation has one.

A test counts the earlier looks that share any case with it, and `stats.repeated_looks` adjusts its p-value for them.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import Field, ValidationError

from ..data import Case, Judged
from ..data.case import Record
from ..data.counting import cases_text, ordinal
from ..data.text_digest import case_text_digest
from ..engines.history_file import add_to_history, read_history

LEDGER = "tests.jsonl"
MOST_NAMED = 3  # earlier looks in a sentence


class Look(Record):
    """One decisive test, as the ledger and a judge file hold it."""

    test: str = Field(description="digest of the objective, the labelled cases, and both judges' verdicts on them")
    date: str = Field(description="of the test, UTC, as 2026-11-01")
    judge: str = Field(description="the program that was compiled")
    objective: str = Field(description="what was tested")
    cases: str = Field(description="digests of the texts of the tested cases, with spaces between them")

    @property
    def digests(self) -> frozenset[str]:
        return frozenset(self.cases.split())

    @property
    def line(self) -> str:
        """The look in words."""
        return f"{self.date} {self.judge}, {self.objective} on {cases_text(len(self.digests))}"


class EarlierLook(Record):
    """An earlier test that shares cases with this one."""

    date: str = Field(description="of the test, UTC")
    judge: str = Field(description="the program that was compiled")
    objective: str = Field(description="what was tested")
    shared: int = Field(description="tested cases that both tests have")


class Looks(Record):
    """How often the cases of a test were tested before."""

    number: int = Field(description="of this test among those that share a case with it; 1: the first")
    cases: int = Field(description="cases of this test, texts that occur twice counted once")
    seen: int = Field(description="of these, cases that an earlier test had")
    earlier: tuple[EarlierLook, ...] = Field(description="the oldest first")
    problem: str = Field(default="", description="why the ledger could not be written; empty if it was")

    @property
    def sentence(self) -> str:
        """How often these cases were tested, in words; empty at the first test."""
        if self.number == 1:
            return ""
        named = [f"{look.date} {look.judge}" for look in self.earlier[-MOST_NAMED:]]
        more = ["..."] if len(self.earlier) > MOST_NAMED else []
        return (
            f"{ordinal(self.number)} test of these cases ({self.seen:,} of {self.cases:,} were tested before: "
            f"{', '.join([*more, *named])})"
        )


def look_at(
    cases: Sequence[Case], verdicts: Sequence[Sequence[Judged]], *, judge: str, objective: str, date: str | None = None
) -> Look:
    """The look of a test.

    Args:
        cases: of the test part, in any order.
        verdicts: of each of the two judges, of these cases.
        judge: the program that is compiled.
        date: None: today.
    """
    rows = sorted(
        json.dumps([digest, *map(_tested, judged)])
        for digest, *judged in zip(map(case_text_digest, cases), *verdicts, strict=True)
    )
    test = hashlib.sha256(json.dumps([objective, rows]).encode()).hexdigest()[:16]
    day = date or datetime.now(UTC).date().isoformat()
    digests = " ".join(sorted({case_text_digest(case) for case in cases}))
    return Look(test=test, date=day, judge=judge, objective=objective, cases=digests)


def note_look(look: Look, known: Iterable[Look] = ()) -> tuple[Looks, tuple[Look, ...]]:
    """How often the cases of a look were tested before, and the looks that a judge file keeps; the ledger notes it.

    Args:
        known: looks of the judge file that is compiled again, the oldest first.

    Returns:
        The counts; and the earlier looks that share a case with this one, followed by this one.
    """
    entry = look.model_dump()
    added = add_to_history(LEDGER, entry, is_same=lambda other: other.get("test") == look.test)
    earlier: dict[str, Look] = {}
    for other in (*known, *read_looks(added.before)):
        if other.test == look.test:
            break
        if other.digests & look.digests:
            earlier.setdefault(other.test, other)
    seen = frozenset().union(*(other.digests for other in earlier.values())) & look.digests
    looks = Looks(
        number=len(earlier) + 1,
        cases=len(look.digests),
        seen=len(seen),
        earlier=tuple(
            EarlierLook(
                date=other.date,
                judge=other.judge,
                objective=other.objective,
                shared=len(other.digests & look.digests),
            )
            for other in earlier.values()
        ),
        problem=added.problem,
    )
    return looks, (*earlier.values(), look)


def ledger() -> list[Look]:
    """All looks that this machine has noted, the oldest first."""
    return read_looks(read_history(LEDGER))


def read_looks(content: object) -> list[Look]:
    """The looks among the entries of a ledger, or of a training record; what is no look is passed over."""
    looks = []
    for entry in content if isinstance(content, list | tuple) else ():
        try:
            looks.append(Look.model_validate(entry))
        except ValidationError:
            continue
    return looks


def _tested(judged: Judged) -> Mapping[str, Any]:
    """What the test reads of a verdict, without the last digits of numbers, which differ between machines."""
    distribution = judged.distribution and {name: round(p, 6) for name, p in sorted(judged.distribution.items())}
    return {
        "label": judged.label and judged.label.model_dump(mode="json"),
        "status": judged.status,
        "winner": judged.winner,
        **({} if judged.category is None else {"category": judged.category}),
        "scores": judged.scores and [round(score, 6) for score in judged.scores],
        "distribution": distribution,
    }
