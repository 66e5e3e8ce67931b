"""Ask again after failures that pass: rate limits, server errors, broken replies, timeouts, broken connections.

The pause doubles from a second on and is spread at random, so that calls that failed together do not return together
(exponential backoff with jitter, https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). A pause
that the server asks for (Retry-After) is made as it says, if it is short enough.
"""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from dspy.lm15 import LM15Error, RateLimitError, ServerError, TimeoutError, TransportError

from .ledger import current_deadline
from .pace import current_pace

ATTEMPTS = 5  # of one call
TIMED_OUT_ATTEMPTS = 2  # of one call that ran into --timeout; more would wait for a dead server for too long
FIRST_PAUSE = 1.0  # seconds, on average
LONGEST_PAUSE = 60.0  # seconds; a server that asks for more counts as failed
PASSING: tuple[type[LM15Error], ...] = (RateLimitError, ServerError, TimeoutError, TransportError)

Result = TypeVar("Result")


class NoAnswerInTime(TimeoutError):
    """The server took longer than --timeout allows."""


def with_retries(attempt: Callable[[], Result], most: int = ATTEMPTS) -> Result:
    """The result of the first attempt that succeeds.

    The last error is raised after `most` attempts, and at once when the run is to stop, its time is up, or the server
    asks for a pause over `LONGEST_PAUSE` seconds.
    """
    failed = timed_out = 0
    while True:
        try:
            return attempt()
        except PASSING as error:
            failed, timed_out = failed + 1, timed_out + isinstance(error, NoAnswerInTime)
            if failed >= most or timed_out >= TIMED_OUT_ATTEMPTS or not _pause(pause_after(error, failed)):
                raise


def pause_after(error: LM15Error, failed: int) -> float:
    """Seconds to wait after the attempt of this number, from 1: as the server asks, else about a second, 2, 4, 8."""
    asks = error.retry_after
    if asks is not None and asks >= 0:
        return float(asks)
    return float(FIRST_PAUSE * 2 ** (failed - 1) * random.uniform(0.5, 1.5))


def _pause(seconds: float) -> bool:
    """Wait so long; False, at once, if that is too long or the run stops, and at the deadline if that comes first."""
    if seconds > LONGEST_PAUSE:
        return False
    left = current_deadline() - time.monotonic()
    pace = current_pace()
    with pace.requests.pausing():
        return not pace.stop.wait(max(0.0, min(seconds, left))) and seconds < left
