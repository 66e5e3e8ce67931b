"""Run independent calls at once, in threads that know the caller's context (DSPy settings, the ledger)."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
MOST_THREADS = 16


def concurrently(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """`[function(item) for item in items]`, at once; the first error, in the order of the items, is raised.

    Every call runs to its end first, so that no thread works on for a result that nobody waits for.
    """
    work = list(items)
    if len(work) < 2:
        return [function(item) for item in work]
    with ThreadPoolExecutor(min(len(work), MOST_THREADS)) as pool:
        futures = [pool.submit(copy_context().run, function, item) for item in work]
    return [future.result() for future in futures]
