"""What keeps DSPy's optimizers from losing an error, money or the screen.

DSPy takes an exception inside a program or an evaluation for a score of 0, so whatever must end the work is carried out
as a `Stopped`, which is no Exception. DSPy's worker threads do not know our context, so the budget is asked before each
LM call by a callback, which they do know.
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
    """The work must end: `error` says why. No Exception, because DSPy would count that as a score of 0."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


class Allowance:
    """How much of a budget is used, as the share of the limit that is nearest, and how much must be left over.

    Args:
        ledger: what is charged; a budget of its own, the parents' are asked at each call anyway.
        stop: when set, the next call ends the work.
    """

    def __init__(self, ledger: Ledger, stop: threading.Event | None = None) -> None:
        self.ledger, self.stop = ledger, stop or threading.Event()
        self.reserve = 0.0
        self._started = time.monotonic()

    def used(self) -> float:
        """In [0, ...); 0 without limits."""
        budget, total = self.ledger.budget, self.ledger.total
        minutes = (time.monotonic() - self._started) / 60
        tokens = total.prompt_tokens + total.completion_tokens
        amounts = (
            (total.calls, budget.calls), (tokens, budget.tokens), (total.cost or 0.0, budget.cost),
            (minutes, budget.minutes),
        )  # fmt: skip
        return max((amount / limit for amount, limit in amounts if limit is not None), default=0.0)

    def check(self, ahead: float = 0.0) -> None:
        """Refuse what would leave less than the reserve.

        Args:
            ahead: the share of the budget that is about to be spent.

        Raises:
            BudgetSpent: the budget does not allow it.
            KeyboardInterrupt: the work was told to stop.
        """
        if self.stop.is_set():
            raise KeyboardInterrupt
        self.ledger.check()
        used = self.used()
        if used and used + ahead + self.reserve >= 1:
            kept = f", and {self.reserve:.0%} is kept to judge what was found" if self.reserve else ""
            raise BudgetSpent(f"budget: {used:.0%} is used{kept}. Give more, or keep what is done.")


class BeforeEachCall(BaseCallback):
    """Asks the allowance before each LM call, whoever makes it."""

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        try:
            self.allowance.check()
        except BudgetSpent as error:  # an Exception of a callback is only logged
            raise Stopped(error) from error


class Failures(BaseCallback):
    """The answers that were not in the declared form: (predictor, its inputs, what the model wrote)."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, dict[str, Any], str]] = []
        self._asked: dict[str, tuple[Any, dict[str, Any]]] = {}

    def on_module_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        self._asked[call_id] = (instance, inputs.get("kwargs", {}))

    def on_module_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        predictor, inputs = self._asked.pop(call_id)
        if isinstance(exception, AdapterParseError):
            self.found.append((predictor, inputs, str(exception.lm_response)))


@contextmanager
def quiet() -> Iterator[None]:
    """Keep DSPy's prints, progress bars and log lines off the screen, and Optuna's warnings of what DSPy chose."""
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
