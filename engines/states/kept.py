"""A reader of states that keeps what it read, and charges what a read costs to the ledger.

A state that is in the store costs nothing and is charged as cached. Of equal reads in several threads one is made. A
read obeys the budget, the timeout and the deadline of its context, as a call of an LM does.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future

from ...data import Usage
from ...errors import Infrastructure
from ..answer_store import AnswerStore
from ..ledger import charge, current_deadline, stage_of_calls
from ..limiter import Limiter
from ..pace import WHOLE, current_pace
from ..timed_engine import GRACE
from ..waiting import TookTooLong, call_within
from ..weights import OnProgress, silent
from .connect import connect_reader
from .reader import EngineName, StateAnswer, StateReader, StateRequest
from .store import key_of_state, pack_state, rounded, states_store, unpack_state

OUT_OF_TIME = "the minutes of the budget are used up."


class KeptReader:
    """Reads each request once.

    Args:
        reader: reads what is not stored.
        store: by default that of the user; its file is beside the answers.
        stage: under which reads are charged.
    """

    def __init__(self, reader: StateReader, store: AnswerStore | None = None, stage: str = "state") -> None:
        self.reader, self.stage = reader, stage
        self.store = states_store() if store is None else store
        self._limiter = Limiter(reader.slots)
        self._flights: dict[bytes, Future[StateAnswer | None]] = {}
        self._lock = threading.Lock()

    def read(self, request: StateRequest) -> StateAnswer:
        """The states of a request; raises as `read_all`."""
        return self.read_all([request])[0]

    def read_all(self, requests: Sequence[StateRequest], progress: OnProgress = silent) -> list[StateAnswer]:
        """The states of requests, in their order, rounded to float16.

        Args:
            progress: takes "reading", the requests that are done and those in all.

        Raises:
            BudgetSpent: the budget is used up.
            ContextOverflow, Infrastructure, ModelError: see `StateReader.read`.
        """
        keys = [key_of_state(self.reader, request) for request in requests]
        by_key = dict(zip(keys, requests, strict=True))
        answers: dict[bytes, StateAnswer] = {}
        with stage_of_calls(self.stage):
            while missing := [key for key in by_key if key not in answers]:
                answers |= self._some(missing[: self.reader.batch], by_key)
                progress("reading", len(answers), len(by_key))
            for key, count in Counter(keys).items():
                for _ in range(count - 1):
                    charge(_free(answers[key]))
        return [answers[key] for key in keys]

    def prepare(self, progress: OnProgress = silent) -> None:
        """Make the model ready before the first case."""
        progress("the reader of states", 0, 1)
        self.reader.prepare()

    def _some(self, keys: list[bytes], by_key: dict[bytes, StateRequest]) -> dict[bytes, StateAnswer]:
        """The answers of some of the keys: stored ones, those of another thread, or new ones."""
        with self._lock:
            flights = {key: self._flights[key] for key in keys if key in self._flights}
            mine = {key: Future[StateAnswer | None]() for key in keys if key not in flights}
            self._flights |= mine
        answers: dict[bytes, StateAnswer] = {}
        try:
            for key in mine:
                stored = self.store.get(key)
                answer = unpack_state(stored) if stored is not None else None
                if answer is not None:
                    charge(_free(answer))
                    answers[key] = answer
            unread = [key for key in mine if key not in answers]
            if unread:
                answers |= zip(unread, self._fresh([by_key[key] for key in unread]), strict=True)
                for key in unread:
                    self.store.put(key, pack_state(answers[key]))
        finally:
            with self._lock:
                for key in mine:
                    del self._flights[key]
            for key, flight in mine.items():
                flight.set_result(answers.get(key))
        for key, flight in flights.items():
            answer = flight.result()
            if answer is not None:  # else the other thread failed, and this one asks in the next round
                charge(_free(answer))
                answers[key] = answer
        return answers

    def _fresh(self, requests: list[StateRequest]) -> list[StateAnswer]:
        """Answers of the model, charged."""
        pace = current_pace()
        self.reader.prepare()
        with stage_of_calls(self.stage) as ledger, ledger.open_call():
            with self._limiter.slot(current_deadline()) as has_slot:
                if not has_slot:
                    raise Infrastructure(f"model {self.reader.model!r}: {OUT_OF_TIME}")
                started = time.monotonic()
                most = WHOLE * (pace.timeout or self.reader.timeout)
                left = current_deadline() + GRACE - started
                try:
                    with pace.requests.sent(self.reader.model, most):
                        answers = call_within(min(most, left), lambda: self.reader.read(requests))
                except TookTooLong:
                    ledger.check()
                    raise Infrastructure(
                        f"model {self.reader.model!r}: no states within {most:g} s. Give it longer with --timeout."
                    ) from None
            seconds = time.monotonic() - started
            tokens = sum(answer.prompt_tokens for answer in answers)
            charge(Usage(calls=len(answers), prompt_tokens=tokens, seconds=seconds))
        return [rounded(answer) for answer in answers]


def _free(answer: StateAnswer) -> Usage:
    return Usage(cached=1, counted=1, cached_tokens=answer.prompt_tokens)


_readers: dict[tuple[str, int | None, str, bool, str], KeptReader] = {}
_lock = threading.Lock()


def open_reader(
    model: str,
    layer: int | None = None,
    engine: EngineName = "auto",
    *,
    trusted: bool = True,
    stage: str = "state",
) -> KeptReader:
    """The reader of a model's states at a layer; the same object for the same arguments. Nothing is started yet.

    Args:
        model: `local/NAME`, `local/PATH.gguf`, `transformers/NAME`, or the model string of a server.
        layer: 1 to the depth of the model; None: 70 % of the depth.
        engine: "auto" takes what fits the model string.
        trusted: the user has named the model's address, so that the user's keys may be sent to it.
        stage: under which reads are charged.

    Raises:
        ModelError: the model cannot be read by this engine, or has no such layer.
        DeclarationError: the engine is not installed.
    """
    with _lock:
        key = (model, layer, engine, trusted, stage)
        if key not in _readers:
            _readers[key] = KeptReader(connect_reader(model, layer, engine, trusted=trusted), stage=stage)
        return _readers[key]
