"""Cases through a function, several at once: results as they come, no more cases read than needed, and a clean stop."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TypeVar

from ..data import Case
from ..errors import BudgetSpent, DeclarationError, Infrastructure

Result = TypeVar("Result")
STOP_WITHIN = 0.2  # seconds until a stop reaches the cases that wait for a worker


def stream(
    function: Callable[[Case], Result],
    cases: Iterable[Case],
    *,
    workers: int,
    stop: threading.Event,
    failed: Callable[[Result], str],
) -> Iterator[tuple[Case, Result]]:
    """Each case with its result, in order of completion.

    Args:
        workers: cases in flight; memory holds twice as many at most.
        stop: when set, no new case is begun, and those in flight are finished and given.
        failed: what a result says of a failure of the server; empty for any other result.

    Raises:
        BudgetSpent, DeclarationError: from the function, after the results in flight were given.
        Infrastructure: case after case failed at the server, likewise.
    """
    waiting, most_failures, failures = iter(cases), max(5, 2 * workers), 0
    problem: BudgetSpent | DeclarationError | Infrastructure | None = None
    with ThreadPoolExecutor(workers) as pool:
        in_flight: dict[Future[Result], Case] = {}
        while True:
            while problem is None and not stop.is_set() and len(in_flight) < 2 * workers:
                case = next(waiting, None)
                if case is None:
                    break
                in_flight[pool.submit(copy_context().run, function, case)] = case
            if not in_flight:
                break
            finished, _ = wait(in_flight, timeout=STOP_WITHIN, return_when=FIRST_COMPLETED)
            if problem is not None or stop.is_set():
                for future in [future for future in in_flight if future.cancel()]:  # not begun: left for the next run
                    del in_flight[future]
            for future in finished & in_flight.keys():
                case = in_flight.pop(future)
                try:
                    result = future.result()
                except (BudgetSpent, DeclarationError) as error:
                    problem = problem or error
                    continue
                told = failed(result)
                failures = failures + 1 if told else 0
                if failures >= most_failures and problem is None:
                    problem = Infrastructure(f"{told} {failures} cases in a row failed so. Run again to go on.")
                yield case, result
    if problem is not None:
        raise problem
