"""Calls whose answers are kept: looked up in the answer store first, and made once where equal calls are in flight."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from dspy.lm15 import Request, Response

from ..data import Usage
from .answer_store import AnswerStore
from .answers_used import note_answer
from .ledger import charge
from .stored_reply import key_of_request, pack, unpack


@dataclass
class Call:
    """A call of an LM, which may need several answers (DSPy's `n`).

    Args:
        store: where answers are kept.
        rollout: DSPy's `rollout_id`, which makes equal calls separate ones.
        answered: the answers so far.
    """

    store: AnswerStore
    rollout: Any
    answered: int = 0


_call: ContextVar[Call | None] = ContextVar("dicast_call", default=None)


@contextmanager
def keeping_answers(store: AnswerStore | None, rollout: Any) -> Iterator[None]:
    """Keep the answers to the requests inside in this store; None keeps none."""
    token = _call.set(None if store is None else Call(store, rollout))
    try:
        yield
    finally:
        _call.reset(token)


class KeptAnswers:
    """Answers to the requests of one transport."""

    def __init__(self) -> None:
        self._flights: dict[bytes, Future[Response | None]] = {}
        self._lock = threading.Lock()

    def answer(self, request: Request, ask: Callable[[Request], Response]) -> Response:
        """The stored answer, that of an equal call in flight, or that of `ask`, which is stored."""
        call = _call.get()
        key = None if call is None else key_of_request(request, [call.rollout, call.answered])
        if call is None or key is None:
            return ask(request)
        response = self._answer(call.store, key, lambda: ask(request))
        note_answer(call.store, key)
        call.answered += 1
        return response

    def _answer(self, store: AnswerStore, key: bytes, ask: Callable[[], Response]) -> Response:
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if flight is None:
                    flown = self._flights[key] = Future()
                    break
            response = flight.result()
            if response is not None:  # else the other call failed, and this one is made
                return _counted(response)
        response = None
        try:
            stored = store.get(key)
            response = unpack(stored) if stored is not None else None
            if response is not None:
                return _counted(response)
            response = ask()
            answer = pack(response)
            if answer is not None:
                store.put(key, answer)
            return response
        finally:
            with self._lock:
                del self._flights[key]
            flown.set_result(response)


def _counted(answer: Response) -> Response:
    """The answer, charged as free."""
    tokens, more = answer.usage.input_tokens, answer.usage.output_tokens
    charge(Usage(cached=1) if tokens is None else Usage(cached=1, counted=1, cached_tokens=tokens + (more or 0)))
    return answer
