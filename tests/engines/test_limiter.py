"""Requests in flight: never more than allowed, fewer after a refusal, more again after answers."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from dicast.engines.limiter import Limiter


class Clock(SimpleNamespace):
    """A clock that stops until it is set."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("dicast.engines.limiter.time", made)
    return made


def most_at_once(limiter: Limiter, wanted: int, threads: int = 16, rounds: int = 5) -> int:
    """The most holders seen at once when more threads than slots want one, and each waits for `wanted` to be there."""
    changed, seen, now = threading.Condition(), [0], [0]

    def work() -> None:
        for _ in range(rounds):
            with limiter.slot():
                with changed:
                    now[0] += 1
                    seen[0] = max(seen[0], now[0])
                    changed.notify_all()
                    changed.wait_for(lambda: seen[0] >= wanted, timeout=20)
                time.sleep(0.001)
                with changed:
                    now[0] -= 1

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert not any(worker.is_alive() for worker in workers)
    return seen[0]


@pytest.mark.parametrize("most", [1, 3, 8])
def test_at_most_so_many_are_in_flight(most: int) -> None:
    assert most_at_once(Limiter(most), most) == most


def test_after_a_refusal_half_as_many_are_in_flight() -> None:
    limiter = Limiter(8)
    limiter.refused()
    assert most_at_once(limiter, 4) == 4


def test_after_the_work_no_slot_is_held() -> None:
    limiter = Limiter(3)
    most_at_once(limiter, 3, threads=10)
    assert limiter.in_flight == 0


def test_an_error_gives_the_slot_back() -> None:
    limiter = Limiter(1)
    for _ in range(3):
        with pytest.raises(KeyError), limiter.slot():
            raise KeyError
    assert limiter.in_flight == 0


def test_a_refusal_halves_the_limit(clock: Clock) -> None:
    limiter = Limiter(32)
    limiter.refused()
    assert limiter.limit == 16


def test_a_burst_of_refusals_counts_once_a_second(clock: Clock) -> None:
    limiter = Limiter(32)
    limits = []
    for after in (0.0, 0.2, 0.9, 1.0, 1.5, 2.0):
        clock.now = 100.0 + after
        limiter.refused()
        limits.append(limiter.limit)
    assert limits == [16, 16, 16, 8, 8, 4]


def test_refusals_of_many_threads_at_once_count_once(clock: Clock) -> None:
    limiter, start = Limiter(32), threading.Barrier(16)

    def refuse() -> None:
        start.wait()
        limiter.refused()

    threads = [threading.Thread(target=refuse) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert limiter.limit == 16


def test_the_limit_never_falls_below_one(clock: Clock) -> None:
    limiter = Limiter(3)
    for _ in range(10):
        clock.now += 1
        limiter.refused()
    assert limiter.limit == 1
    assert most_at_once(limiter, 1, threads=4, rounds=2) == 1


def answer(limiter: Limiter, times: int = 1) -> None:
    """So many answers while as many requests as allowed are in flight."""
    for _ in range(times):
        limiter.in_flight = int(limiter.limit)
        limiter.answered()
    limiter.in_flight = 0


def test_after_a_refusal_answers_raise_the_limit_slowly(clock: Clock) -> None:
    limiter = Limiter(8)
    limiter.refused()
    before = limiter.limit
    answer(limiter)
    assert limiter.limit == before + 1 / before


def test_as_many_answers_as_the_limit_raise_it_by_about_one(clock: Clock) -> None:
    limiter = Limiter(32)
    limiter.refused()
    answer(limiter, 16)
    assert limiter.limit == pytest.approx(17, abs=0.05)


def test_a_server_that_recovers_gets_all_requests_again(clock: Clock) -> None:
    limiter = Limiter(8)
    for _ in range(5):
        clock.now += 1
        limiter.refused()
    answer(limiter, 100)
    assert limiter.limit == 8
    assert most_at_once(limiter, 8) == 8


def test_the_limit_never_leaves_its_bounds(clock: Clock) -> None:
    random, limiter = np.random.default_rng(0), Limiter(6)
    for _ in range(1000):
        clock.now += random.exponential(0.4)
        limiter.refused() if random.random() < 0.3 else answer(limiter)
        assert 1 <= limiter.limit <= 6


def test_without_a_refusal_the_limit_doubles_with_each_round(clock: Clock) -> None:
    limiter = Limiter()
    start = limiter.bound
    limiter.allow(10 * start)
    answer(limiter, start)
    assert limiter.limit == 2 * start
    answer(limiter, 100 * start)
    assert limiter.limit == 10 * start


def test_a_limit_that_is_not_reached_does_not_grow() -> None:
    limiter = Limiter()
    limiter.allow(256)
    before = limiter.limit
    for _ in range(100):
        with limiter.slot():
            limiter.answered()
    assert limiter.limit == before


def test_what_a_server_takes_is_not_passed() -> None:
    limiter = Limiter(4)
    limiter.allow(64)
    answer(limiter, 100)
    assert limiter.limit == 4
    limiter.allow(2)
    assert most_at_once(limiter, 2) == 2


def test_no_slot_is_waited_for_past_the_deadline() -> None:
    limiter = Limiter(1)
    with limiter.slot():
        with limiter.slot(time.monotonic() + 0.05) as has_slot:
            assert not has_slot
        assert limiter.in_flight == 1
    with limiter.slot(time.monotonic() - 1) as has_slot:
        assert not has_slot
    assert limiter.in_flight == 0


def test_an_answer_lets_a_waiting_request_go(clock: Clock) -> None:
    limiter, went = Limiter(2), threading.Event()
    limiter.refused()

    def wait_for_a_slot() -> None:
        with limiter.slot():
            went.set()

    with limiter.slot():
        waiting = threading.Thread(target=wait_for_a_slot)
        waiting.start()
        assert not went.wait(0.05)
        limiter.answered()
        assert went.wait(5)
    waiting.join()
