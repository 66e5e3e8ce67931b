"""What a compilation costs: over all its sittings, and what a search must leave for the test.

A budget limits one sitting, as with `dicast judge`. A search that used it up would leave a judge that nobody tested, so
searches get what is left when the verdicts that are still to come are paid for, by the cost of those recorded so far.
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

from pydantic import ValidationError

from ..data import Judged, Usage
from ..data.case import Record
from ..engines.jsonl import write_whole
from ..engines.ledger import Budget, Ledger, charge_to
from ..evaluation.run_arrays import RunArrays

SAVED_EVERY = 2.0  # seconds: a kill forgets no more


class Spent(Record):
    """The cost of all sittings.

    Attributes:
        minutes: of wall time.
        recorded: verdicts that were judged for evidence, and `recording`, the minutes that took.
    """

    usage: Usage = Usage()
    minutes: float = 0.0
    sittings: int = 0
    recorded: int = 0
    recording: float = 0.0


@dataclass(frozen=True)
class PerVerdict:
    """The mean cost of one verdict of a judge; tokens and money count what the cache answered as if it were paid."""

    calls: float
    tokens: float
    cost: float

    @classmethod
    def of(cls, verdicts: Sequence[Judged]) -> "PerVerdict":
        usage = sum((one.usage for one in verdicts), Usage())
        n, asked = max(1, len(verdicts)), usage.calls + usage.cached
        cost = asked * (usage.cost or 0.0) / max(1, usage.calls)
        return cls(calls=asked / n, tokens=(usage.total_tokens or 0.0) / n, cost=cost / n)


@dataclass
class _Account(Ledger):
    """A ledger that tells of each charge."""

    charged: Callable[[], None] = field(default=lambda: None, repr=False)

    def add(self, stage: str, usage: Usage) -> None:
        super().add(stage, usage)
        self.charged()


class Spending:
    """The account of one compilation, kept in a file.

    Args:
        path: of the account; one that is there is gone on with.
        budget: of this sitting.
    """

    def __init__(self, path: Path, budget: Budget | None = None) -> None:
        self.path, self.ledger = path, _Account(budget or Budget(), charged=self._save_now_and_then)
        self._saving = threading.Lock()
        self._before = _read(path)
        self._started = self._saved = time.monotonic()
        self._recorded, self._recording = 0, 0.0

    @property
    def total(self) -> Spent:
        before = self._before
        return Spent(
            usage=before.usage + self.ledger.total,
            minutes=before.minutes + (time.monotonic() - self._started) / 60,
            sittings=before.sittings + 1,
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
    def sitting(self) -> Iterator[None]:
        """Charge what is done inside, and keep the account however it ends; one that did nothing does not count."""
        try:
            with charge_to(self.ledger):
                yield
        finally:
            if self._recorded or self.ledger.stages:
                self.save()

    @contextmanager
    def recording(self) -> Iterator[Callable[[Judged], None]]:
        """Takes the verdicts that are judged inside, to learn how fast this machine judges."""
        started, before = time.monotonic(), self._recording

        def counted(judged: Judged) -> None:
            self._recorded += 1
            self._recording = before + (time.monotonic() - started) / 60

        yield counted

    @contextmanager
    def with_reserve(self, each: PerVerdict, verdicts: float) -> Iterator[Budget]:
        """Inside, as much may be spent as leaves enough for so many verdicts afterwards; gives what that is."""
        left = self._less(each, verdicts)
        left = Budget(**{name: amount and max(0.0, amount) for name, amount in asdict(left).items()})
        with charge_to(Ledger(left, parent=self.ledger)):
            yield left

    def affords(self, each: PerVerdict, verdicts: float) -> bool:
        """Whether so many verdicts can still be paid."""
        return all(amount is None or amount >= 0 for amount in asdict(self._less(each, verdicts)).values())

    def _less(self, each: PerVerdict, verdicts: float) -> Budget:
        """What is left of the budget when so many verdicts are paid; negative where it cannot pay them."""
        budget, used, spent = self.ledger.budget, self.ledger.total, self.total
        pace = spent.recording / spent.recorded if spent.recorded else 0.0
        elapsed = (time.monotonic() - self._started) / 60
        return Budget(
            calls=_left(budget.calls, used.calls, verdicts * each.calls),
            tokens=_left(budget.tokens, used.prompt_tokens + used.completion_tokens, verdicts * each.tokens),
            cost=_left(budget.cost, used.cost or 0.0, verdicts * each.cost),
            minutes=_left(budget.minutes, elapsed, verdicts * pace),
        )


def cost_per_verdict(run: RunArrays, unit: Literal["calls", "tokens"] = "calls") -> float:
    """Calls or tokens per case, cached answers included, because the cache will not hold those of other cases.

    Tokens are an estimate where the cache does not know the length of its answers; NaN where it answered all so.
    """
    usage, calls = run.usage, run.usage.calls + run.usage.cached
    if not run.cases or not calls:
        return 0.0 if run.cases else math.nan
    if unit == "calls":
        return calls / run.cases
    return math.nan if usage.total_tokens is None else usage.total_tokens / run.cases


def _left(limit: float | None, used: float, reserve: float) -> float | None:
    return None if limit is None else limit - used - reserve


def _read(path: Path) -> Spent:
    """The account of earlier sittings; a new one where there is none that can be read: it only informs."""
    try:
        return Spent.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return Spent()
