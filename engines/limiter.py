"""How many requests may be in flight: halved when a server says 429, raised again as it answers (AIMD)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """A gate that holds at most `limit` holders; `limit` moves between 1 and `most`.

    Additive increase, multiplicative decrease (Chiu & Jain 1989): each answer raises the limit by 1/limit, and a
    refusal halves it, at most once a second so that one burst of refusals counts once.
    """

    def __init__(self, most: int) -> None:
        self.most, self.limit, self.in_flight = most, float(most), 0
        self._changed = threading.Condition()
        self._halved_at = float("-inf")

    @contextmanager
    def slot(self) -> Iterator[None]:
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
        with self._changed:
            self.limit = min(self.most, self.limit + 1 / self.limit)
            self._changed.notify_all()

    def refused(self) -> None:
        with self._changed:
            now = time.monotonic()
            if now - self._halved_at >= 1:
                self.limit, self._halved_at = max(1.0, self.limit / 2), now
