"""Guards around DSPy's optimizers: errors end the search, the budget holds, and nothing is printed.

DSPy counts an exception inside a program or an evaluation as a score of 0. So whatever must end the search leaves as a
`Stopped`, which is no Exception. DSPy's worker threads do not have our context, but they have its callbacks: a callback
checks the budget before each LM call.
"""

import io
import logging
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import partialmethod
from typing import Any

from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import AdapterParseError

from ...engines.ledger import Ledger
from ...errors import BudgetSpent

LOGGERS = ("dspy", "gepa", "optuna")


class Stopped(BaseException):
    """The search must end, because of `error`. It is no Exception, which DSPy would count as a score of 0."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class BudgetGuard:
    """Measures how much of a budget is used, by its limit that is nearest, and keeps a reserve.

    Args:
        ledger: is charged, and holds the budget; its parents check theirs at each call anyway.
        stop: when set, the next call ends the search.

    Attributes:
        reserve: the proportion of the budget that must be left.
    """

    def __init__(self, ledger: Ledger, stop: threading.Event | None = None) -> None:
        self.ledger, self.stop = ledger, stop or threading.Event()
        self.reserve = 0.0
        self._started = time.monotonic()

    def used(self) -> float:
        """The used proportion of the budget, 0 or more; 0 without limits."""
        budget, total = self.ledger.budget, self.ledger.total
        minutes = (time.monotonic() - self._started) / 60
        tokens = total.prompt_tokens + total.completion_tokens
        amounts = (
            (total.calls, budget.calls), (tokens, budget.tokens), (total.cost or 0.0, budget.cost),
            (minutes, budget.minutes),
        )  # fmt: skip
        return max((amount / limit for amount, limit in amounts if limit is not None), default=0.0)

    def check(self, ahead: float = 0.0) -> None:
        """Refuse to spend more than what leaves the reserve.

        Args:
            ahead: the proportion of the budget that is about to be spent.

        Raises:
            BudgetSpent: the budget does not allow it.
            KeyboardInterrupt: `stop` was set.
        """
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.ledger.check()
        used = self.used()
        if used and used + ahead + self.reserve >= 1:
            reserve = f", and {self.reserve:.0%} is reserved to judge the candidates" if self.reserve else ""
            raise BudgetSpent(f"budget: {used:.0%} is used{reserve}. Give more, or take the best so far.")


class BudgetCallback(BaseCallback):
    """Checks the budget before each LM call, whoever makes it."""

    def __init__(self, guard: BudgetGuard) -> None:
        self.guard = guard

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        try:
            self.guard.check()
        except BudgetSpent as error:  # an Exception of a callback is only logged
            raise Stopped(error) from error


class ParseFailures(BaseCallback):
    """Collects answers that were not in the declared form, as (predictor, its inputs, the answer)."""

    def __init__(self) -> None:
        self.answers: list[tuple[Any, dict[str, Any], str]] = []
        self._calls: dict[str, tuple[Any, dict[str, Any]]] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._calls[call_id] = (instance, inputs.get("kwargs", {}))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        predictor, inputs = self._calls.pop(call_id)
        if isinstance(exception, AdapterParseError):
            self.answers.append((predictor, inputs, str(exception.lm_response)))


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress DSPy's prints, progress bars and log lines, and Optuna's warnings about DSPy's choices."""
    from tqdm import tqdm

    shown, levels = tqdm.__init__, {name: logging.getLogger(name).level for name in LOGGERS}
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(io.StringIO()))
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", module=r"optuna(\..*)?$")
        warnings.filterwarnings("ignore", module=r"dspy(\..*)?$")
        tqdm.__init__ = partialmethod(shown, disable=True)
        try:
            for name in LOGGERS:
                logging.getLogger(name).setLevel(logging.CRITICAL)
            yield
        finally:
            tqdm.__init__ = shown
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)
