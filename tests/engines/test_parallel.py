"""Cases and questions in parallel: nothing finished is lost, nothing locks up, and only a good reason ends a run."""

import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from dicast.data import Case
from dicast.engines import parallel
from dicast.engines.models import asked_in_turn
from dicast.engines.pace import Pace, current_pace, paced
from dicast.engines.parallel import concurrently, stream
from dicast.engines.stop_rule import FIRST, MANY, Failure, StopRule
from dicast.errors import DataError, DeclarationError, Infrastructure


def cases(count: int) -> Iterator[Case]:
    return (Case(id=str(n), query="q", candidates=[{"text": "x"}]) for n in range(count))


def run(function: Callable[[Case], Any], count: int, workers: int = 4) -> list[Any]:
    """The results of a stream."""
    results = stream(function, cases(count), workers=workers, stop=threading.Event(), failed=lambda result: None)
    return [result for _, result in results]


def collected(results: Iterator[tuple[Case, Any]], kind: type[Exception], match: str = "") -> list[str]:
    """The ids of the cases that were yielded before the error."""
    ids: list[str] = []
    with pytest.raises(kind, match=match):
        ids.extend(case.id for case, _ in results)
    return ids


@pytest.mark.parametrize("kind", [DeclarationError, ValueError])
def test_an_exception_loses_no_finished_case(kind: type[Exception]) -> None:
    finished: list[str] = []

    def function(case: Case) -> str:
        if case.id == "5":
            raise kind("odd")
        time.sleep(0.01)
        finished.append(case.id)
        return case.id

    results = stream(function, cases(50), workers=4, stop=threading.Event(), failed=lambda result: None)
    ids = collected(results, kind, "odd")
    assert sorted(ids) == sorted(finished)
    assert len(ids) >= 5


def test_cases_that_cannot_be_read_lose_no_finished_case() -> None:
    def source() -> Iterator[Case]:
        yield from cases(10)
        raise DataError("row 11: no case")

    results = stream(lambda case: case.id, source(), workers=2, stop=threading.Event(), failed=lambda result: None)
    assert len(collected(results, DataError, "row 11")) == 10


def test_a_server_that_works_and_then_fails_at_every_case_ends_the_stream() -> None:
    asked: list[str] = []

    def down(case: Case) -> Failure | None:
        asked.append(case.id)
        return Failure("down.") if len(asked) > 3 else None

    results = stream(down, cases(1000), workers=1, stop=threading.Event(), failed=lambda result: result)
    ids = collected(results, Infrastructure, f"down. {MANY} cases in a row failed so. Run again to continue.")
    assert sorted(ids) == sorted(asked)
    assert 3 + MANY <= len(asked) <= 3 + MANY + 2 * 2  # two in flight, and two that may finish in any order


def failures(rule: StopRule, outcomes: list[Failure | None]) -> list[str]:
    return [reason for reason in map(rule.add, outcomes) if reason]


SERVER, ANSWER = Failure("401."), Failure("no token probabilities.", is_server=False)


def test_the_first_failures_end_a_run() -> None:
    assert failures(StopRule(1), [SERVER] * (FIRST - 1)) == []
    (reason,) = failures(StopRule(1), [SERVER] * FIRST)
    assert reason == f"401. The first {FIRST} cases failed so. Run again to continue."
    assert failures(StopRule(16), [SERVER] * 15) == []
    assert len(failures(StopRule(16), [SERVER] * 16)) == 1
    assert failures(StopRule(1), [ANSWER] * (MANY - 1)) == []
    assert len(failures(StopRule(1), [ANSWER] * MANY)) == 1


def test_failures_now_and_then_end_no_run() -> None:
    rule = StopRule(16)
    assert failures(rule, [None, *[SERVER] * 15, None, *[SERVER] * 31, None]) == []
    assert failures(rule, [ANSWER] * 500) == []  # of odd cases in a row, after others were judged
    assert failures(rule, [SERVER] * 31) == []
    assert len(failures(rule, [SERVER])) == 1


def test_concurrent_results_are_in_order_and_the_first_error_counts() -> None:
    assert concurrently(lambda n: n * n, range(40)) == [n * n for n in range(40)]

    def fail(number: int) -> int:
        if number in (3, 5):
            time.sleep(0.02 if number == 3 else 0)
            raise ValueError(number)
        return number

    def ask(case: Case) -> str:
        with pytest.raises(ValueError, match="3"):
            concurrently(fail, range(8))
        return case.id

    assert len(run(ask, 5)) == 5


def test_every_call_ends_before_concurrently_returns() -> None:
    running: list[int] = []

    def work(number: int) -> None:
        running.append(number)
        time.sleep(0.02)
        running.remove(number)
        if number == 0:
            raise ValueError("fails")

    def ask(case: Case) -> list[int]:
        with pytest.raises(ValueError, match="fails"):
            concurrently(work, range(6))
        return list(running)

    assert run(ask, 1, workers=1) == [[]]


@pytest.mark.parametrize("in_flight", [1, 5, 64])
def test_nested_questions_never_lock_up(in_flight: int) -> None:
    def ask(case: Case) -> int:
        return sum(concurrently(lambda n: sum(concurrently(lambda m: m, range(5))), range(5)))

    with paced(Pace(in_flight=in_flight)):
        assert run(ask, 40) == [50] * 40


def test_a_run_has_one_pool_for_the_questions_of_all_cases() -> None:
    threads: set[str] = set()

    def note(number: int) -> None:
        time.sleep(0.001)
        threads.add(threading.current_thread().name)

    def ask(case: Case) -> None:
        concurrently(note, range(4))

    with paced(Pace(in_flight=6)):
        run(ask, 100, workers=4)
    assert len(threads) <= 6


def test_in_turn_each_case_asks_one_question_after_another() -> None:
    asked: list[tuple[str, int]] = []

    def ask(case: Case) -> None:
        concurrently(lambda number: asked.append((case.id, number)), range(4))

    with paced(Pace(in_flight=64, in_turn=True)):
        run(ask, 20, workers=3)
    for case_id in {case_id for case_id, _ in asked}:
        assert [number for name, number in asked if name == case_id] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (["local/smollm2-135m"], True),
        (["local/smollm2-135m", "openai/m@http://127.0.0.1:9/v1"], False),
        (["openai/m@http://127.0.0.1:9/v1"], False),
        ([""], False),
    ],
)
def test_only_models_on_this_machine_are_asked_in_turn(models: list[str], expected: bool) -> None:
    assert asked_in_turn(models) is expected


def test_questions_keep_the_context() -> None:
    name: ContextVar[str] = ContextVar("name")

    def ask(case: Case) -> list[str]:
        name.set(case.id)
        return concurrently(lambda _: name.get(), range(4))

    assert sorted(run(ask, 20)) == sorted([str(n)] * 4 for n in range(20))


def test_silence_is_broken_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "SILENCE_SECONDS", 0.3)
    said: list[str] = []
    pace = Pace(on_silence=said.append)

    def slow(case: Case) -> None:
        with pace.requests.sent("openai/m@http://127.0.0.1:1/v1", 120):
            assert threading.Event().wait(1.6) is False

    with paced(pace):
        run(slow, 2, workers=2)
    assert 1 <= len(said) <= 5
    assert said[0].startswith("No case has finished for 0 s; 2 are under way. openai/m@http://127.0.0.1:1/v1: 2 req")
    assert "after 120 s a request is given up (--timeout)" in said[0]


def test_a_run_whose_cases_finish_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "SILENCE_SECONDS", 10.0)
    said: list[str] = []
    with paced(Pace(on_silence=said.append)):
        run(lambda case: time.sleep(0.02), 20, workers=1)
    assert said == []


def test_what_ends_a_run_wakes_the_cases_that_pause() -> None:
    def function(case: Case) -> bool:
        if case.id == "0":
            raise DeclarationError("no model")
        return current_pace().stop.wait(30)

    results = stream(function, cases(8), workers=4, stop=threading.Event(), failed=lambda result: None)
    started = time.monotonic()
    with pytest.raises(DeclarationError, match="no model"):
        assert all(woken for _, woken in results)
    assert time.monotonic() - started < 20
