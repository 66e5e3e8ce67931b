"""How many requests may be in flight: halved when a server answers 429, raised again with each answer (AIMD)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """A semaphore for at most `limit` requests; `limit` moves between 1 and `max_in_flight`.

    Additive increase, multiplicative decrease (Chiu & Jain 1989): each answer raises the limit by 1/limit, and a
    refusal halves it, at most once a second so that one burst of refusals counts once.
    """

    def __init__(self, max_in_flight: int) -> None:
        self.max_in_flight, self.limit, self.in_flight = max_in_flight, float(max_in_flight), 0
        self._changed = threading.Condition()
        self._halved_at = float("-inf")

    @contextmanager
    def slot(self) -> Iterator[None]:
        """A request in flight; waits while there are `limit` of them."""
        with self._changed:
            self._changed.wait_for(lambda: self.in_flight < max(1, int(self.limit)))
            self.in_flight += 1
        try:
            yield
        finally:
            with self._changed:
                self.in_flight -= 1
                self._changed.notify_all()

    def answered(self) -> None:
        """Raise the limit: the server answered a request."""
        with self._changed:
            self.limit = min(self.max_in_flight, self.limit + 1 / self.limit)
            self._changed.notify_all()

    def refused(self) -> None:
        """Halve the limit: the server refused a request (429)."""
        with self._changed:
            now = time.monotonic()
            if now - self._halved_at >= 1:
                self.limit, self._halved_at = max(1.0, self.limit / 2), now
