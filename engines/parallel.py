"""Calls that run in parallel threads, which keep the caller's context (DSPy settings, the ledger, the pace).

A run has one pool of threads for its cases and one for the questions that a case asks at once. A thread that waits for
questions answers those that no other thread has begun, so a full pool delays nothing and cannot lock itself up.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from dataclasses import replace
from typing import TypeVar

from ..data import Case
from .pace import current_pace, set_pace
from .stop_rule import Failure, StopRule

Item = TypeVar("Item")
Result = TypeVar("Result")
MAX_THREADS = 16  # for the questions that a call outside of a run asks at once
POLL_SECONDS = 0.2  # time until a stop reaches the cases that wait for a worker
SILENCE_SECONDS = 60.0  # without a finished case until a notice says what is waited for

# The threads that answer a run's questions; () where the workers alone fill the limit of requests in flight.
_helpers: ContextVar[ThreadPoolExecutor | tuple[()] | None] = ContextVar("dicast_helpers", default=None)


def concurrently(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`[function(item) for item in items]`, computed in parallel; raises the first error in the order of the items.

    Every call finishes before this returns, so no thread keeps working on a result that nobody waits for.
    """
    work, helpers = list(items), _helpers.get()
    if len(work) < 2 or helpers == () or current_pace().in_turn:
        return [function(item) for item in work]
    if helpers:
        return _shared(helpers, function, work)
    with ThreadPoolExecutor(MAX_THREADS) as pool:
        outer = _helpers.set(pool)  # what these calls ask at once shares the threads
        try:
            return _shared(pool, function, work)
        finally:
            _helpers.reset(outer)


def _shared(pool: ThreadPoolExecutor, function: Callable[[Item], Result], work: list[Item]) -> list[Result]:
    """As `concurrently`, by a pool and the calling thread."""
    results = [pool.submit(copy_context().run, function, item) for item in work[1:]]
    results.insert(0, _finished(function, work[0]))
    for number in range(len(work) - 1, 0, -1):  # from the end, where the pool has not begun
        if results[number].cancel():
            results[number] = _finished(function, work[number])
    wait(results)
    return [result.result() for result in results]


def _finished(function: Callable[[Item], Result], item: Item) -> Future[Result]:
    """What came of a call in this thread."""
    result: Future[Result] = Future()
    try:
        result.set_result(function(item))
    except Exception as error:  # raised in the order of the items
        result.set_exception(error)
    return result


def stream(
    function: Callable[[Case], Result],
    cases: Iterable[Case],
    *,
    workers: int,
    stop: threading.Event,
    failed: Callable[[Result], Failure | None],
) -> Iterator[tuple[Case, Result]]:
    """Yield each case with its result, in order of completion; cases are read no faster than they are processed.

    Args:
        workers: cases in flight; memory holds at most twice as many.
        stop: once set, no new case starts; the cases in flight finish and are yielded.
        failed: how a result has failed for a reason beyond the case, if it has.

    Raises:
        Infrastructure, Unreadable, Internal: nothing works (`StopRule`), after the results in flight were yielded.
        Exception: the first one from the function, or from reading the cases; likewise.
    """
    rule, silence, waiting = StopRule(workers), _Silence(), iter(cases)
    problem: Exception | None = None
    waits = True
    ending = threading.Event()  # wakes what pauses before it asks again
    pace = replace(current_pace(), stop=ending)
    spare = pace.in_flight - workers
    pool = ThreadPoolExecutor(workers, "dicast-case")
    helpers = ThreadPoolExecutor(spare, "dicast-question") if spare > 0 and not pace.in_turn else None
    try:
        in_flight: dict[Future[Result], Case] = {}
        while True:
            while problem is None and not stop.is_set() and len(in_flight) < 2 * workers:
                try:
                    case = next(waiting, None)
                except Exception as error:
                    problem = error
                    break
                if case is None:
                    break
                context = copy_context()
                context.run(_helpers.set, helpers or ())
                context.run(set_pace, pace)
                in_flight[pool.submit(context.run, function, case)] = case
            if not in_flight:
                break
            finished, _ = wait(in_flight, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            if problem is not None or stop.is_set():
                ending.set()
                for future in [future for future in in_flight if future.cancel()]:  # not started: left for the next run
                    del in_flight[future]
            for future in finished & in_flight.keys():
                case = in_flight.pop(future)
                try:
                    result = future.result()
                except Exception as error:
                    problem = problem or error
                    continue
                failure = failed(result)
                reason = rule.add(failure)
                if failure is not None and reason and problem is None:
                    problem = failure.kind(reason)
                yield case, result
            silence.check(finished, min(len(in_flight), workers))
    except KeyboardInterrupt:
        waits = False  # the second Ctrl-C: the results in flight are given up
        raise
    finally:
        pool.shutdown(waits, cancel_futures=True)
        if helpers is not None:
            helpers.shutdown(waits)
    if problem is not None:
        raise problem


class _Silence:
    """Says once a minute what is waited for while no case finishes."""

    def __init__(self) -> None:
        self._since = self._said = time.monotonic()

    def check(self, finished: Iterable[object], cases: int) -> None:
        """Look at the clock after a wait, which finished these, and left so many cases under way."""
        now = time.monotonic()
        if any(True for _ in finished):
            self._since = self._said = now
        elif now - self._said >= SILENCE_SECONDS:
            self._said = now
            pace = current_pace()
            pace.on_silence(
                f"No case has finished for {now - self._since:.0f} s; {cases} are under way. {pace.requests}"
            )
