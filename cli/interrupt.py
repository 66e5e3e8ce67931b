"""Ctrl-C during a run: once to finish the cases in flight and stop, twice to stop at once."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from . import STOPPED, render


@contextmanager
def stop_on_interrupt(progress: "render.BarProgress | None" = None) -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one ends the process.

    Args:
        progress: of the work; before it has started, Ctrl-C stops at once. None for work that has started.
    """
    stop = threading.Event()

    def interrupted(number: int, frame: object) -> None:
        if progress is not None and not progress.started:
            raise KeyboardInterrupt
        if stop.is_set():
            os._exit(STOPPED)  # written verdicts are flushed; worker threads would keep a plain exit waiting
        stop.set()
        render.errors.print("stopping after the cases in flight; Ctrl-C again stops at once. Nothing written is lost.")

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
