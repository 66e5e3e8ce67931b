"""An engine whose calls end in time: a bound on the first byte of an answer, and one on the whole of it.

DSPy's engines bound the wait for the next byte, when they are built. So there is an engine for each timeout in use. A
server that sends a byte now and then is left at the bound of the whole answer; the engine that still listens to it
takes no further calls then, and is closed, with its connections, once its other calls have ended.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dspy.lm15 import Request, Response, TimeoutError, TransportError

from .ledger import current_deadline
from .pace import WHOLE, current_pace
from .retries import NoAnswerInTime
from .waiting import TookTooLong, call_within

GRACE = 2.0  # seconds after the deadline of a run for the answers that are under way, which are paid for


@dataclass
class _Built:
    """An engine, and how many calls wait for it."""

    engine: Any
    calls: int = 0
    is_left: bool = False


class TimedEngine:
    """A DSPy engine, one attempt a call, that bounds the time of each call.

    Args:
        build: makes the engine for a timeout in seconds.
        timeout: seconds until the first byte, where the context's pace does not say; the whole answer has twice that.
        renew: an engine that a call was left on is closed and built anew; not for an engine that cannot be built twice.
    """

    def __init__(self, build: Callable[[float], Any], timeout: float, *, renew: bool = True) -> None:
        self._build, self.timeout, self._renew = build, timeout, renew
        self.own_timeout: float | None = None  # of the model's own options
        self._engines: dict[float, _Built] = {}
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Response:
        """The engine's response.

        Raises:
            NoAnswerInTime: it took too long, or the minutes of the budget are used up.
        """
        seconds = self.seconds
        started = time.monotonic()
        left = current_deadline() + GRACE - started
        built = self._start(seconds)
        try:
            response = call_within(min(WHOLE * seconds, left), lambda: built.engine.complete(request))
        except TookTooLong:
            self._leave(built)
            if left < WHOLE * seconds:
                raise NoAnswerInTime("the minutes of the budget were used up before the server answered.") from None
            raise NoAnswerInTime(f"no whole answer within {WHOLE * seconds:g} s. {_ADVICE}") from None
        except (TransportError, TimeoutError) as error:
            if not _is_of_client(error, time.monotonic() - started >= seconds):
                raise
            raise NoAnswerInTime(f"nothing came from the server for {seconds:g} s. {_ADVICE}") from error
        finally:
            self._end(built)
        return response

    @property
    def seconds(self) -> float:
        """Seconds until the first byte: as the model's options say, then the run, then the engine."""
        return self.own_timeout or current_pace().timeout or self.timeout

    def close(self) -> None:
        """Close the engines."""
        with self._lock:
            for built in self._engines.values():
                built.engine.close()
            self._engines.clear()

    def _start(self, seconds: float) -> _Built:
        with self._lock:
            if seconds not in self._engines:
                self._engines[seconds] = _Built(self._build(seconds))
            built = self._engines[seconds]
            built.calls += 1
            return built

    def _leave(self, built: _Built) -> None:
        if self._renew:
            with self._lock:
                built.is_left = True
                self._engines = {seconds: other for seconds, other in self._engines.items() if other is not built}

    def _end(self, built: _Built) -> None:
        with self._lock:
            built.calls -= 1
            is_unused = built.is_left and not built.calls
        if is_unused:
            built.engine.close()


def _is_of_client(error: TransportError | TimeoutError, time_is_up: bool) -> bool:
    """Whether the engine has ended the call: as lm15 says it, or LiteLLM. Else the server did (408, 504)."""
    return type(error.__cause__).__name__ == "ReadTimeout" or (isinstance(error, TimeoutError) and time_is_up)


_ADVICE = "Is it alive? Give it longer with --timeout, or this model alone with the option timeout=SECONDS."
