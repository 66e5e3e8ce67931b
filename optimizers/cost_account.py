"""The cost of a compilation over all its sessions, and the reserve that a search must leave for the test.

A budget limits one session, as in `dicast judge`. A search that used it up would leave an untested judge. So a search
gets what remains after the verdicts that follow it are paid, at the mean cost of the verdicts recorded so far.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from ..data import Judged, Usage
from ..data.case import Record
from ..engines.jsonl import write_whole
from ..engines.ledger import Budget, Ledger, charge_to
from ..errors import DicastError
from ..evaluation.run_arrays import RunArrays
from ..parsing import parse_record_json, read_bytes

CostUnit = Literal["calls", "tokens", "seconds"]
SAVED_EVERY = 2.0  # seconds; a kill loses at most this much


class TotalCost(Record):
    """The cost of all sessions of a compilation."""

    usage: Usage = Field(default=Usage(), description="LM calls, tokens and money")
    minutes: float = Field(default=0.0, description="wall time")
    sessions: int = Field(default=0, description="calls of the command that judged something")
    recorded: int = Field(default=0, description="verdicts that were judged for evidence")
    recording: float = Field(default=0.0, description="minutes of wall time for these verdicts")


@dataclass(frozen=True)
class PerVerdict:
    """The mean cost of a judge's verdict; cached answers count as if they were paid."""

    calls: float
    tokens: float
    cost: float

    @classmethod
    def of(cls, verdicts: Sequence[Judged]) -> "PerVerdict":
        usage = sum((verdict.usage for verdict in verdicts), Usage())
        n, calls = max(1, len(verdicts)), usage.calls + usage.cached
        cost = calls * (usage.cost or 0.0) / max(1, usage.calls)
        return cls(calls=calls / n, tokens=(usage.total_tokens or 0.0) / n, cost=cost / n)


@dataclass
class _ReportingLedger(Ledger):
    """A ledger that calls `charged` after each charge."""

    charged: Callable[[], None] = field(default=lambda: None, repr=False)

    def add(self, stage: str, usage: Usage) -> None:
        super().add(stage, usage)
        self.charged()


class CostAccount:
    """The account of one compilation, stored in a file.

    Args:
        path: of the account; an existing one is continued.
        budget: of this session.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self.path, self.ledger = path, _ReportingLedger(budget or Budget(), charged=self._save_now_and_then)
        self._saving = threading.Lock()
        self._before = _read(path)
        self._started = self._saved = time.monotonic()
        self._recorded, self._recording = 0, 0.0

    @property
    def total(self) -> TotalCost:
        before = self._before
        return TotalCost(
            usage=before.usage + self.ledger.total,
            minutes=before.minutes + (time.monotonic() - self._started) / 60,
            sessions=before.sessions + 1,
            recorded=before.recorded + self._recorded,
            recording=before.recording + self._recording,
        )

    def save(self) -> None:
        with self._saving:
            self._saved = time.monotonic()
            write_whole(self.path, json.dumps(self.total.model_dump(mode="json")) + "\n")

    def _save_now_and_then(self) -> None:
        if time.monotonic() - self._saved > SAVED_EVERY:
            self.save()

    @contextmanager
    def session(self) -> Iterator[None]:
        """Charge the work inside, and save the account however it ends; a session without any work does not count."""
        try:
            with charge_to(self.ledger):
                yield
        finally:
            if self._recorded or self.ledger.stages:
                self.save()

    @contextmanager
    def recording(self) -> Iterator[Callable[[Judged], None]]:
        """Gives a function that counts the verdicts judged inside, to measure how fast this machine judges."""
        started, before = time.monotonic(), self._recording

        def count(judged: Judged) -> None:
            self._recorded += 1
            self._recording = before + (time.monotonic() - started) / 60

        yield count

    @contextmanager
    def with_reserve(self, price: PerVerdict, verdicts: float) -> Iterator[Budget]:
        """Limit the spending inside to what leaves enough for so many verdicts afterwards; gives that limit."""
        left = self._remaining(price, verdicts)
        left = Budget(**{name: amount and max(0.0, amount) for name, amount in asdict(left).items()})
        with charge_to(Ledger(left, parent=self.ledger)):
            yield left

    def affords(self, price: PerVerdict, verdicts: float) -> bool:
        """Whether the budget can still pay so many verdicts."""
        return all(amount is None or amount >= 0 for amount in asdict(self._remaining(price, verdicts)).values())

    def _remaining(self, price: PerVerdict, verdicts: float) -> Budget:
        """The budget that remains after so many verdicts are paid; negative amounts if it cannot pay them."""
        budget, used, spent = self.ledger.budget, self.ledger.total, self.total
        pace = spent.recording / spent.recorded if spent.recorded else 0.0
        elapsed = (time.monotonic() - self._started) / 60
        return Budget(
            calls=_left(budget.calls, used.calls, verdicts * price.calls),
            tokens=_left(budget.tokens, used.prompt_tokens + used.completion_tokens, verdicts * price.tokens),
            cost=_left(budget.cost, used.cost or 0.0, verdicts * price.cost),
            minutes=_left(budget.minutes, elapsed, verdicts * pace),
        )


def cost_per_verdict(run: RunArrays, unit: CostUnit = "calls") -> float:
    """Calls, tokens or seconds per case, cached answers included, because the cache will not hold those of other cases.

    Tokens are an estimate where the cache does not know the length of its answers. Seconds are those of the answers
    that were waited for, summed over calls, and a cached answer counts as their mean. NaN where the cache gave all
    answers and nothing is known of them.
    """
    usage, calls = run.usage, run.usage.calls + run.usage.cached
    if not run.cases or not calls:
        return 0.0 if run.cases else math.nan
    if unit == "calls":
        return calls / run.cases
    if unit == "seconds":
        return usage.seconds * calls / usage.calls / run.cases if usage.calls else math.nan
    return math.nan if usage.total_tokens is None else usage.total_tokens / run.cases


def _left(limit: float | None, used: float, reserve: float) -> float | None:
    return None if limit is None else limit - used - reserve


def _read(path: Path) -> TotalCost:
    """The account of earlier sessions; a new one if there is none, or none that can be read, as it only informs."""
    try:
        return parse_record_json(TotalCost, read_bytes(path), str(path))
    except DicastError:
        return TotalCost()
