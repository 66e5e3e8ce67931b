"""Wait for a call no longer than so many seconds, whatever it waits for.

A thread that waits in a system call cannot be ended, so the call is made in another thread, which is left behind when
the time is up. These threads are daemons, so they do not hold up the end of the process, and are used again (a call
costs 10 microseconds more).
"""

import os
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, TypeVar

Result = TypeVar("Result")
_idle: list["_Caller"] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child process has none of these threads


class TookTooLong(Exception):
    """A call did not end in time."""


class _Call:
    """A function to call, and what came of it."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function, self.context = function, copy_context()
        self.result: Any = None
        self.error: BaseException | None = None
        self.finished = threading.Lock()
        self.finished.acquire()

    def run(self) -> None:
        try:
            self.result = self.context.run(self.function)
        except BaseException as error:  # raised where the result is waited for
            self.error = error


class _Caller(threading.Thread):
    """A thread that makes one call after another."""

    def __init__(self) -> None:
        super().__init__(daemon=True, name="dicast-call")
        self._next: _Call | None = None
        self._ready = threading.Lock()
        self._ready.acquire()
        self.start()

    def make(self, call: _Call) -> None:
        self._next = call
        self._ready.release()

    def run(self) -> None:
        while True:
            self._ready.acquire()
            call, self._next = self._next, None
            assert call is not None
            call.run()
            _idle.append(self)
            call.finished.release()
            del call  # an idle thread holds no answer


def call_within(seconds: float, function: Callable[[], Result]) -> Result:
    """`function()`, called in another thread with this context.

    Raises:
        TookTooLong: it took longer; its thread goes on, and its result is dropped.
    """
    call = _Call(function)
    try:
        caller = _idle.pop()
    except IndexError:
        caller = _Caller()
    caller.make(call)
    if not call.finished.acquire(timeout=min(max(seconds, 0.0), threading.TIMEOUT_MAX)):
        raise TookTooLong
    if call.error is not None:
        raise call.error
    return call.result  # type: ignore[no-any-return]
