"""Failures that pass are asked again: how often, after which pause, and until when."""

import threading
import time
from collections.abc import Callable

import pytest
from dspy.lm15 import AuthError, InvalidRequestError, LM15Error, RateLimitError, ServerError, TransportError

from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.engines.pace import Pace, paced
from dicast.engines.retries import ATTEMPTS, LONGEST_PAUSE, NoAnswerInTime, pause_after, with_retries


def failing(times: int, make: Callable[[], LM15Error]) -> tuple[Callable[[], str], list[float]]:
    """A call that fails so often before it succeeds, and the times at which it was made."""
    calls: list[float] = []

    def call() -> str:
        calls.append(time.monotonic())
        if len(calls) <= times:
            raise make()
        return "answer"

    return call, calls


def soon(kind: type[LM15Error]) -> Callable[[], LM15Error]:
    return lambda: kind("fails", retry_after=0.0)


@pytest.mark.parametrize("kind", [RateLimitError, ServerError, TransportError])
def test_a_failure_that_passes_is_asked_again(kind: type[LM15Error]) -> None:
    call, calls = failing(ATTEMPTS - 1, soon(kind))
    assert with_retries(call) == "answer"
    assert len(calls) == ATTEMPTS


def test_the_last_error_is_raised() -> None:
    call, calls = failing(99, soon(ServerError))
    with pytest.raises(ServerError):
        with_retries(call)
    assert len(calls) == ATTEMPTS


@pytest.mark.parametrize("kind", [AuthError, InvalidRequestError])
def test_what_asking_again_cannot_mend_is_asked_once(kind: type[LM15Error]) -> None:
    call, calls = failing(99, soon(kind))
    with pytest.raises(kind):
        with_retries(call)
    assert len(calls) == 1


def test_a_server_that_does_not_answer_is_asked_twice() -> None:
    call, calls = failing(99, soon(NoAnswerInTime))
    with pytest.raises(NoAnswerInTime):
        with_retries(call)
    assert len(calls) == 2


def test_pauses_double_and_are_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dicast.engines.retries.FIRST_PAUSE", 1.0)
    for failed, expected in ((1, 1), (2, 2), (3, 4), (4, 8)):
        pauses = {pause_after(ServerError("fails"), failed) for _ in range(50)}
        assert len(pauses) > 1
        assert all(0.5 * expected <= pause <= 1.5 * expected for pause in pauses)


def test_the_pause_is_what_the_server_asks_for() -> None:
    assert pause_after(RateLimitError("fails", retry_after=7), 1) == 7
    assert pause_after(RateLimitError("fails", retry_after=float("nan")), 1) <= 1.5


def test_a_server_that_asks_for_a_long_pause_has_failed() -> None:
    call, calls = failing(99, lambda: RateLimitError("fails", retry_after=LONGEST_PAUSE + 1))
    with pytest.raises(RateLimitError):
        with_retries(call)
    assert len(calls) == 1


def test_a_stop_wakes_a_pause() -> None:
    stop, raised = threading.Event(), threading.Event()
    call, calls = failing(99, lambda: RateLimitError("fails", retry_after=30))

    def work() -> None:
        with paced(Pace(stop=stop)), pytest.raises(RateLimitError):
            with_retries(call)
        raised.set()

    thread = threading.Thread(target=work)
    thread.start()
    stop.set()
    assert raised.wait(10)
    thread.join()
    assert len(calls) == 1


def test_no_pause_goes_past_the_minutes_of_the_budget() -> None:
    call, calls = failing(99, lambda: RateLimitError("fails", retry_after=30))
    ledger, started = Ledger(Budget(minutes=0.3 / 60)), time.monotonic()
    with charge_to(ledger), pytest.raises(RateLimitError):
        with_retries(call)
    assert time.monotonic() >= ledger.deadline
    assert time.monotonic() - started < 15
    assert len(calls) == 1
