"""No call waits longer than it may, whatever the server does."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from dspy.lm15 import Config, Message, Request, TransportError

from dicast.engines.ledger import Budget, Ledger, charge_to
from dicast.engines.pace import Pace, paced
from dicast.engines.providers.endpoint import openai_engine
from dicast.engines.retries import NoAnswerInTime
from dicast.engines.timed_engine import TimedEngine
from dicast.engines.waiting import TookTooLong, call_within
from dicast.testing import MockServer

pytestmark = pytest.mark.fault
REQUEST = Request(model="endpoint/m", messages=(Message.user("hello"),), config=Config(max_tokens=1))
Connection = Callable[[socket.socket, threading.Event], None]


@contextmanager
def server(talk: Connection) -> Iterator[str]:
    """The address of a server whose connections do this until it ends."""
    ended, listener, threads = threading.Event(), socket.create_server(("127.0.0.1", 0)), list[threading.Thread]()

    def serve(connection: socket.socket) -> None:
        with connection:
            try:
                connection.recv(65536)
                talk(connection, ended)
            except OSError:
                pass  # the client has left

    def listen() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    threads.append(threading.Thread(target=listen))
    threads[-1].start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for thread in threads:
            thread.join(10)


def silent(connection: socket.socket, ended: threading.Event) -> None:
    ended.wait(30)


def trickle_body(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
    while not ended.wait(0.02):
        connection.sendall(b" ")


def trickle_head(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not ended.wait(0.02):
        connection.sendall(b"x")


def callers() -> int:
    """Threads that are in a call to lm15's transport."""
    return sum(thread.name == "dicast-call" for thread in threading.enumerate())


def test_a_server_that_says_nothing_is_left_at_the_timeout() -> None:
    with server(silent) as url, paced(Pace(timeout=0.2)), pytest.raises(NoAnswerInTime, match=r"0\.2 s.*--timeout"):
        openai_engine(url, None).complete(REQUEST)


@pytest.mark.parametrize("talk", [trickle_body, trickle_head])
def test_a_server_that_trickles_is_left_at_the_bound_of_the_whole_answer(talk: Connection) -> None:
    with server(talk) as url, paced(Pace(timeout=0.2)), pytest.raises(NoAnswerInTime, match=r"whole answer.*0\.4 s"):
        openai_engine(url, None).complete(REQUEST)


def test_connections_that_were_left_are_closed() -> None:
    left = threading.Event()

    def talk(connection: socket.socket, ended: threading.Event) -> None:
        try:
            trickle_body(connection, ended)
        except OSError:
            left.set()
            raise

    with server(talk) as url, paced(Pace(timeout=0.2)):
        with pytest.raises(NoAnswerInTime):
            openai_engine(url, None).complete(REQUEST)
        assert left.wait(10)


def test_other_calls_go_on_when_one_is_left() -> None:
    with MockServer(delay=0.3) as healthy, server(trickle_body) as url:
        engine = openai_engine(url, None)
        with paced(Pace(timeout=0.2)), pytest.raises(NoAnswerInTime):
            engine.complete(REQUEST)
        assert openai_engine(healthy.url, None).complete(REQUEST).text


def test_the_timeout_is_that_of_the_run_and_not_of_the_first_one() -> None:
    with server(silent) as url:
        engine = openai_engine(url, None)
        for timeout in (0.1, 0.3):
            with paced(Pace(timeout=timeout)), pytest.raises(NoAnswerInTime, match=f"for {timeout:g} s"):
                engine.complete(REQUEST)


def test_the_minutes_of_a_budget_end_a_call() -> None:
    ledger = Ledger(Budget(minutes=0.1 / 60))
    with server(silent) as url, charge_to(ledger), pytest.raises(NoAnswerInTime, match="minutes of the budget"):
        openai_engine(url, None).complete(REQUEST)
    assert time.monotonic() - ledger.deadline < 10


def test_a_server_that_is_not_there_is_no_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        openai_engine(f"http://127.0.0.1:{port}/v1", None).complete(REQUEST)
    assert not isinstance(caught.value, NoAnswerInTime)


def test_a_call_has_the_context_and_the_errors_of_its_caller() -> None:
    from dicast.engines.pace import current_pace

    with paced(Pace(timeout=7)):
        assert call_within(5, lambda: current_pace().timeout) == 7
    with pytest.raises(KeyError, match="lost"):
        call_within(5, lambda: dict[str, int]()["lost"])


def test_a_call_that_takes_too_long_is_left_and_its_thread_used_again() -> None:
    finish = threading.Event()
    for _ in range(3):
        with pytest.raises(TookTooLong):
            call_within(0.01, lambda: finish.wait(20))
    threads = callers()
    finish.set()
    assert [call_within(5, lambda: "next") for _ in range(20)] == ["next"] * 20
    assert callers() <= threads + 1


def test_an_engine_that_cannot_be_built_again_is_not_closed() -> None:
    class Slow:
        closed = False

        def complete(self, request: Request) -> None:
            time.sleep(0.3)

        def close(self) -> None:
            self.closed = True

    slow = Slow()
    engine = TimedEngine(lambda seconds: slow, 0.05, renew=False)
    with pytest.raises(NoAnswerInTime):
        engine.complete(REQUEST)
    assert not slow.closed
