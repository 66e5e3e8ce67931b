"""How a run calls its servers: how long it waits, how many requests are in flight, and when it ends.

A `Pace` belongs to a run and reaches its calls through the context, which worker threads copy; LMs are shared by all
runs of a process, so none of it is a property of an LM.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

IN_FLIGHT = 32  # requests at once to one server where no run says more
TIMEOUT = 120.0  # seconds until a server's first byte
LOCAL_TIMEOUT = 1800.0  # likewise of a model on this machine, which reads long prompts for minutes
WHOLE = 2.0  # the whole answer may take so many times as long as the first byte


class Requests:
    """The requests in flight: to which model, since when, and when they are given up; and those that pause."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[str, float, float]] = {}
        self._lock, self._count, self._pausing = threading.Lock(), 0, 0

    @contextmanager
    def sent(self, model: str, timeout: float) -> Iterator[None]:
        """Count a request to this model, with so many seconds until its first byte, as long as the block runs."""
        with self._lock:
            self._count += 1
            number = self._count
            self._open[number] = (model, time.monotonic(), timeout)
        try:
            yield
        finally:
            with self._lock:
                del self._open[number]

    @contextmanager
    def pausing(self) -> Iterator[None]:
        """Count a request that failed and is made again after the block."""
        with self._lock:
            self._pausing += 1
        try:
            yield
        finally:
            with self._lock:
                self._pausing -= 1

    def __str__(self) -> str:
        """What is waited for, in whole sentences."""
        with self._lock:
            now, requests, pausing = time.monotonic(), list(self._open.values()), self._pausing
        lines = []
        for model in dict.fromkeys(model for model, *_ in requests):
            waits = [(now - since, timeout) for name, since, timeout in requests if name == model]
            lines.append(
                f"{model}: {len(waits)} requests without an answer, the oldest for {max(waits)[0]:.0f} s; after "
                f"{waits[0][1]:g} s a request is given up (--timeout)."
            )
        if pausing:
            lines.append(f"{pausing} requests failed and are made again after a pause.")
        return " ".join(lines) or "No request is in flight."


@dataclass(frozen=True)
class Pace:
    """How the calls of a context are made.

    Attributes:
        timeout: seconds until the first byte of an answer, and half of what the whole answer may take; None: as the
            engine of the model says.
        in_flight: requests to one model at once, at most.
        in_turn: the questions of a case are asked one after another.
        stop: once set, nothing is asked again after a failure.
        requests: those in flight.
        on_silence: takes what is waited for, as whole sentences, after each minute in which no case finished.
    """

    timeout: float | None = None
    in_flight: int = IN_FLIGHT
    in_turn: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    requests: Requests = field(default_factory=Requests)
    on_silence: Callable[[str], None] = lambda text: None


_pace: ContextVar[Pace | None] = ContextVar("dicast_pace", default=None)
_DEFAULT = Pace()


def current_pace() -> Pace:
    """The pace of this context."""
    return _pace.get() or _DEFAULT


def set_pace(pace: Pace) -> None:
    """Make the calls of this context, a copy that ends with its thread, at this pace."""
    _pace.set(pace)


@contextmanager
def paced(pace: Pace) -> Iterator[Pace]:
    """Make the calls inside at this pace."""
    token = _pace.set(pace)
    try:
        yield pace
    finally:
        _pace.reset(token)
