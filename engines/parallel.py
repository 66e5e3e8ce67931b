"""Calls that run in parallel threads, which keep the caller's context (DSPy settings, the ledger)."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from ..data import Case
from ..errors import BudgetSpent, DeclarationError, Infrastructure

Item = TypeVar("Item")
Result = TypeVar("Result")
MAX_THREADS = 16
POLL_SECONDS = 0.2  # time until a stop reaches the cases that wait for a worker


def concurrently(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`[function(item) for item in items]`, computed in parallel; raises the first error in the order of the items.

    Every call finishes before this returns, so no thread keeps working on a result that nobody waits for.
    """
    work = list(items)
    if len(work) < 2:
        return [function(item) for item in work]
    with ThreadPoolExecutor(min(len(work), MAX_THREADS)) as pool:
        futures = [pool.submit(copy_context().run, function, item) for item in work]
    return [future.result() for future in futures]


def stream(
    function: Callable[[Case], Result],
    cases: Iterable[Case],
    *,
    workers: int,
    stop: threading.Event,
    failed: Callable[[Result], str],
) -> Iterator[tuple[Case, Result]]:
    """Yield each case with its result, in order of completion; cases are read no faster than they are processed.

    Args:
        workers: cases in flight; memory holds at most twice as many.
        stop: once set, no new case starts; the cases in flight finish and are yielded.
        failed: the error message of a result that is a server failure; "" for any other result.

    Raises:
        BudgetSpent, DeclarationError: from the function, after the results in flight were yielded.
        Infrastructure: too many cases in a row failed at the server; likewise.
    """
    waiting, failure_limit, failures = iter(cases), max(5, 2 * workers), 0
    problem: BudgetSpent | DeclarationError | Infrastructure | None = None
    pool = ThreadPoolExecutor(workers)
    try:
        in_flight: dict[Future[Result], Case] = {}
        while True:
            while problem is None and not stop.is_set() and len(in_flight) < 2 * workers:
                case = next(waiting, None)
                if case is None:
                    break
                in_flight[pool.submit(copy_context().run, function, case)] = case
            if not in_flight:
                break
            finished, _ = wait(in_flight, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            if problem is not None or stop.is_set():
                for future in [future for future in in_flight if future.cancel()]:  # not started: left for the next run
                    del in_flight[future]
            for future in finished & in_flight.keys():
                case = in_flight.pop(future)
                try:
                    result = future.result()
                except (BudgetSpent, DeclarationError) as error:
                    problem = problem or error
                    continue
                message = failed(result)
                failures = failures + 1 if message else 0
                if failures >= failure_limit and problem is None:
                    problem = Infrastructure(f"{message} {failures} cases in a row failed so. Run again to continue.")
                yield case, result
    finally:
        pool.shutdown(cancel_futures=True)
    if problem is not None:
        raise problem
