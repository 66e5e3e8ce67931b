"""Ctrl-C during a workflow: the cases in flight are finished and written first."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def delayed_interrupt(stop: threading.Event) -> Iterator[None]:
    """Inside, the first Ctrl-C sets `stop`, and KeyboardInterrupt is raised at the end; a second one is raised at once.

    Without effect outside of the main thread, and where the program handles Ctrl-C by itself.
    """
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    was_interrupted = False

    def interrupted(number: int, frame: object) -> None:
        nonlocal was_interrupted
        if was_interrupted:
            raise KeyboardInterrupt
        was_interrupted = True
        stop.set()

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if was_interrupted:
        raise KeyboardInterrupt
