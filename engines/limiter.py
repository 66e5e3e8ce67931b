"""How many requests may be in flight: more with each answer, halved when a server answers 429 (AIMD).

From its start the limit grows by one an answer, so that it doubles with each round, until the first refusal; from then
on by 1/limit an answer (slow start and congestion avoidance, RFC 5681). It grows only while it is reached, so that it
says what the server has borne and not what nobody tried.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .pace import IN_FLIGHT


class Limiter:
    """A semaphore for at most `limit` requests, a number between 1 and `bound`.

    Args:
        max_in_flight: the server takes no more than this; None: no such number is known, and the run's decides.
    """

    def __init__(self, max_in_flight: int | None = None) -> None:
        self.max_in_flight, self.bound, self.in_flight = max_in_flight, max_in_flight or IN_FLIGHT, 0
        self.limit = float(self.bound)
        self._changed = threading.Condition()
        self._halved_at = float("-inf")

    def allow(self, in_flight: int) -> None:
        """Let the limit grow up to what a run allows, and no further than the server takes."""
        bound = min(in_flight, self.max_in_flight or in_flight)
        if bound != self.bound:
            with self._changed:
                self.bound, self.limit = bound, min(self.limit, bound)
                self._changed.notify_all()

    @contextmanager
    def slot(self, deadline: float = threading.TIMEOUT_MAX) -> Iterator[bool]:
        """A request in flight; waits while there are `limit` of them.

        Args:
            deadline: the monotonic time at which it gives False, and no slot.
        """
        with self._changed:
            timeout = min(deadline - time.monotonic(), threading.TIMEOUT_MAX)
            has_slot = timeout > 0 and self._changed.wait_for(lambda: self.in_flight < int(self.limit), timeout)
            self.in_flight += has_slot
        try:
            yield has_slot
        finally:
            with self._changed:
                self.in_flight -= has_slot
                self._changed.notify()

    def answered(self) -> None:
        """Raise the limit if it is reached: the server answered one of the requests in flight."""
        with self._changed:
            if self.in_flight >= int(self.limit) and self.limit < self.bound:
                step = 1.0 if self._halved_at == float("-inf") else 1 / self.limit
                self.limit = min(self.bound, self.limit + step)
                self._changed.notify()

    def refused(self) -> None:
        """Halve the limit: the server refused a request (429)."""
        with self._changed:
            now = time.monotonic()
            if now - self._halved_at >= 1:
                self.limit, self._halved_at = max(1.0, self.limit / 2), now
