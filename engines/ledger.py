"""What a run costs, counted where the calls are made, so that no thread loses a call.

DSPy's usage tracker is copied into worker threads and loses what they spend (dspy#10125). A `Ledger` is shared
and locked; `charge_to(ledger, stage)` names it for the current context, and every LM call in that context is charged.
"""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field

from ..data import Usage
from ..errors import BudgetSpent, ModelError


@dataclass(frozen=True)
class Budget:
    """Limits of what may be spent; None means no limit. Tokens are those of prompt and completion."""

    calls: float | None = None
    tokens: float | None = None
    cost: float | None = None
    minutes: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """A budget from `calls=1000,tokens=2e6,cost=5,minutes=30`; raises ValueError for anything else."""
        limits: dict[str, float] = {}
        for part in filter(None, (part.strip() for part in text.split(","))):
            name, _, amount = part.partition("=")
            try:
                limits[cls.__dataclass_fields__[name].name] = float(amount)
                if not 0 < limits[name] < math.inf:
                    raise ValueError
            except (KeyError, ValueError):
                raise ValueError(f"{part!r}: write calls=, tokens=, cost= or minutes= and a number over 0.") from None
        return cls(**limits)


@dataclass
class Ledger:
    """Usage per stage, with an optional budget and an optional parent that is charged as well."""

    budget: Budget = field(default_factory=Budget)
    parent: "Ledger | None" = None
    stages: dict[str, Usage] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _open_calls: int = field(default=0, repr=False)
    _answered: threading.Condition = field(default_factory=threading.Condition, repr=False)
    _started: float = field(default_factory=time.monotonic, repr=False)

    def add(self, stage: str, usage: Usage) -> None:
        with self._lock:
            self.stages[stage] = self.stages.get(stage, Usage()) + usage
        if self.parent is not None:
            self.parent.add(stage, usage)

    @property
    def total(self) -> Usage:
        with self._lock:
            return sum(self.stages.values(), Usage())

    @property
    def deadline(self) -> float:
        """The monotonic time at which the minutes of the budget, or of a parent's, are used up; infinity without."""
        after = self.parent.deadline if self.parent is not None else math.inf
        return after if self.budget.minutes is None else min(after, self._started + 60 * self.budget.minutes)

    @contextmanager
    def open_call(self) -> Iterator[None]:
        """A call in progress. It waits while the calls in progress could use up the budget, so that no more calls are
        made than the budget allows, however many start at once.

        Raises:
            BudgetSpent, ModelError: see `check`.
        """
        with self.parent.open_call() if self.parent is not None else nullcontext():
            with self._answered:
                self._answered.wait_for(lambda: not self._open_calls or self._has_room())
                self.check()
                self._open_calls += 1
            try:
                yield
            finally:
                with self._answered:
                    self._open_calls -= 1
                    self._answered.notify_all()

    def _has_room(self) -> bool:
        return self.budget.calls is None or self.total.calls + self._open_calls < self.budget.calls

    def check(self) -> None:
        """Refuse the next call when the budget is used up.

        Raises:
            BudgetSpent: which limit, and how much of it is used.
            ModelError: a limit on cost, and a model without a known price.
        """
        used, elapsed = self.total, (time.monotonic() - self._started) / 60
        spent = (
            ("calls", used.calls, self.budget.calls),
            ("tokens", used.prompt_tokens + used.completion_tokens, self.budget.tokens),
            ("cost", used.cost or 0.0, self.budget.cost),
            ("minutes", elapsed, self.budget.minutes),
        )
        if self.budget.cost is not None and used.calls and used.cost is None:
            raise ModelError("budget: no price is known for this model. Give calls= or tokens= instead of cost=.")
        for name, amount, limit in spent:
            if limit is not None and amount >= limit:
                is_whole = limit >= 100 or name in ("calls", "tokens")
                used_up = f"{amount:,.0f} of {limit:,.0f}" if is_whole else f"{amount:.3g} of {limit:.6g}"
                raise BudgetSpent(f"budget: {used_up} {name} are used. Give more, or keep what is done.")
        if self.parent is not None:
            self.parent.check()


_account: ContextVar[tuple[Ledger, str] | None] = ContextVar("dicast_account", default=None)


@contextmanager
def charge_to(ledger: Ledger, stage: str | None = None) -> Iterator[Ledger]:
    """Charge the LM calls of this context to `ledger`, under `stage`."""
    token = _account.set((ledger, stage or "other"))
    try:
        yield ledger
    finally:
        _account.reset(token)


@contextmanager
def stage_of_calls(stage: str) -> Iterator[Ledger]:
    """Name the stage of the calls inside; without a ledger in the context they are charged to a throwaway one."""
    account = _account.get()
    with charge_to(account[0] if account else Ledger(), stage) as ledger:
        yield ledger


def charge(usage: Usage) -> None:
    """Add usage to the context's ledger, if there is one."""
    account = _account.get()
    if account is not None:
        account[0].add(account[1], usage)


def current_ledger() -> Ledger | None:
    """The ledger that this context is charged to."""
    account = _account.get()
    return account[0] if account else None


def current_deadline() -> float:
    """The monotonic time at which the minutes of this context's budget are used up; infinity without such a limit."""
    ledger = current_ledger()
    return math.inf if ledger is None else ledger.deadline
