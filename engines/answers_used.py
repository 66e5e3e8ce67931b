"""Which stored answers a judgment used, so that those of a judgment that failed can be forgotten.

An answer that a judge could not use must not be given again by the next run: `forget` removes it from the store, and
asking again really asks. Scopes nest: an answer counts for every scope that is open when it is used or stored.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Forgetful(Protocol):
    """What can remove answers by their keys."""

    def forget(self, keys: list[bytes]) -> None: ...


class AnswersUsed:
    """The answers used or stored within one scope, in every thread that shares its context."""

    def __init__(self, outer: "AnswersUsed | None" = None) -> None:
        self._outer = outer
        self._keys: dict[Forgetful, list[bytes]] = {}
        self._lock = threading.Lock()

    def add(self, store: Forgetful, key: bytes) -> None:
        """Count an answer for this scope and those around it."""
        with self._lock:
            self._keys.setdefault(store, []).append(key)
        if self._outer is not None:
            self._outer.add(store, key)

    def forget(self) -> None:
        """Remove the answers of this scope from their stores; a later equal call asks the model again."""
        with self._lock:
            keys, self._keys = self._keys, {}
        for store, of_store in keys.items():
            store.forget(of_store)


_scope: ContextVar[AnswersUsed | None] = ContextVar("dicast_answers_used", default=None)


@contextmanager
def answers_of_judgment() -> Iterator[AnswersUsed]:
    """A scope that notes which answers are used inside it.

    Example:
        >>> with answers_of_judgment() as answers:
        ...     pass  # ask; when the answers cannot be used:
        >>> answers.forget()
    """
    answers = AnswersUsed(_scope.get())
    token = _scope.set(answers)
    try:
        yield answers
    finally:
        _scope.reset(token)


def note_answer(store: Forgetful, key: bytes) -> None:
    """Count an answer for the scope of this context, if there is one."""
    answers = _scope.get()
    if answers is not None:
        answers.add(store, key)
