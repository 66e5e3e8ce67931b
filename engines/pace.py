"""How a run calls its servers: how long it waits, how many requests are in flight, and when it ends.

A `Pace` belongs to a run and reaches its calls through the context, which worker threads copy; LMs are shared by all
runs of a process, so none of it is a property of an LM.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

IN_FLIGHT = 32  # requests at once to one server where no run says more
TIMEOUT = 120.0  # seconds until a server's first byte
LOCAL_TIMEOUT = 1800.0  # likewise of a model on this machine, which reads long prompts for minutes
WHOLE = 2.0  # the whole answer may take so many times as long as the first byte


class Requests:
    """The requests in flight: to which model, and since when."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[str, float]] = {}
        self._lock, self._count = threading.Lock(), 0

    @contextmanager
    def sent(self, model: str) -> Iterator[None]:
        """Count a request to this model as long as the block runs."""
        with self._lock:
            self._count += 1
            number = self._count
            self._open[number] = (model, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._open[number]

    def waiting(self) -> dict[str, tuple[int, float]]:
        """The requests of each model that have no answer yet: how many, and the seconds since the oldest was sent."""
        with self._lock:
            now, sent = time.monotonic(), list(self._open.values())
        waiting: dict[str, tuple[int, float]] = {}
        for model, since in sent:
            count, oldest = waiting.get(model, (0, 0.0))
            waiting[model] = (count + 1, max(oldest, now - since))
        return waiting


@dataclass(frozen=True)
class Pace:
    """How the calls of a context are made.

    Attributes:
        timeout: seconds until the first byte of an answer, and half of what the whole answer may take; None: as the
            engine of the model says.
        in_flight: requests to one model at once, at most.
        stop: once set, nothing is asked again after a failure.
        requests: those in flight.
    """

    timeout: float | None = None
    in_flight: int = IN_FLIGHT
    stop: threading.Event = field(default_factory=threading.Event)
    requests: Requests = field(default_factory=Requests)


_pace: ContextVar[Pace | None] = ContextVar("dicast_pace", default=None)
_DEFAULT = Pace()


def current_pace() -> Pace:
    """The pace of this context."""
    return _pace.get() or _DEFAULT


@contextmanager
def paced(pace: Pace) -> Iterator[Pace]:
    """Make the calls inside at this pace."""
    token = _pace.set(pace)
    try:
        yield pace
    finally:
        _pace.reset(token)
