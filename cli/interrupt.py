"""Ctrl-C, SIGTERM and SIGHUP: the first ends a command cleanly with exit code 130, the second at once.

While cases are judged, the first one starts no further case, and those in flight are finished and written; after
SIGTERM and SIGHUP they have 20 seconds for that. Before and after, and where there is nothing to lose, it ends the
command at once. However a command ends, the terminal has its cursor again.
"""

import contextlib
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from . import output
from .exit_codes import STOPPED

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
SIGNALS = tuple(getattr(signal, name) for name in NAMES if hasattr(signal, name))
DEADLINE = 20.0  # seconds for the cases in flight after SIGTERM and SIGHUP, whose senders wait no longer
SHOW_CURSOR = b"\x1b[?25h\n"

_received = threading.Event()  # a signal that was to end the command


def handle_signals() -> None:
    """Let each signal that stops a command raise KeyboardInterrupt; those that a parent has us ignore stay ignored."""
    for number in SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _raise)


@contextmanager
def stop_on_interrupt(progress: Any = None) -> Iterator[threading.Event]:
    """An event that the first signal sets; the second one ends the process.

    Args:
        progress: of the work; before it has started, a signal stops the command at once. None for work that has
            started.

    Raises:
        KeyboardInterrupt: a signal came before, and something has swallowed its exception, as imports can.
    """
    if _received.is_set():
        raise KeyboardInterrupt
    stop, timers = threading.Event(), list[threading.Timer]()

    def interrupted(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            end_now()
        stop.set()
        _leave_lost_terminal()
        if progress is not None and not progress.started:
            raise KeyboardInterrupt  # if it is swallowed, no case is started either
        if number != signal.SIGINT:
            timers.append(threading.Timer(DEADLINE, end_now))
            timers[0].daemon = True
            timers[0].start()
        limit = "" if number == signal.SIGINT else f", for {DEADLINE:g} s at most"
        _say(f"stopping after the cases in flight{limit}; Ctrl-C again stops at once. Nothing written is lost.")

    with _handled_by(interrupted):
        try:
            yield stop
        finally:
            for timer in timers:
                timer.cancel()


@contextmanager
def end_on_interrupt() -> Iterator[None]:
    """Inside, the first signal ends the process: there is nothing to finish, and threads would keep an end waiting."""

    def interrupted(number: int, frame: FrameType | None) -> None:
        _leave_lost_terminal()
        _say("stopped.")
        end_now()

    with _handled_by(interrupted):
        yield


def end_now() -> None:
    """End the process, whose files are flushed as they are written, and give the terminal its cursor back."""
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, SHOW_CURSOR)
    os._exit(STOPPED)  # worker threads would keep a plain exit waiting


@contextmanager
def _handled_by(handler: Any) -> Iterator[None]:
    """Handle the signals so, but for those that are ignored; nothing changes outside of the main thread."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS if is_main}
    before = {number: old for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _raise(number: int, frame: FrameType | None) -> None:
    _received.set()
    _leave_lost_terminal()
    raise KeyboardInterrupt


def _say(text: str) -> None:
    """Print a line above a bar; not if the signal came in the middle of printing."""
    from . import render

    with contextlib.suppress(OSError, RuntimeError):
        render.errors.print(text)


def _leave_lost_terminal() -> None:
    """Write nowhere from now on where the terminal is gone, as after SIGHUP: each write would be an error."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            number = stream.fileno()
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                output.discard(stream)
