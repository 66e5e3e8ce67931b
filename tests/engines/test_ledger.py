"""What a run costs: nothing is lost between threads, parents are charged too, and a budget ends the spending."""

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from dicast.data import Usage
from dicast.engines.ledger import Budget, Ledger, charge, charge_to, current_ledger, stage_of_calls
from dicast.engines.parallel import concurrently
from dicast.errors import BudgetSpent

ONE = Usage(calls=1, prompt_tokens=10, completion_tokens=2, cost=0.25, seconds=0.5)


def charge_once(_: object) -> None:
    charge(ONE)


def calls(count: int) -> Usage:
    return Usage(
        calls=count, prompt_tokens=10 * count, completion_tokens=2 * count, cost=0.25 * count, seconds=0.5 * count
    )


def test_usage_survives_threads() -> None:
    with charge_to(Ledger()) as ledger:
        concurrently(charge_once, range(500))
    assert (ledger.total.calls, ledger.total.prompt_tokens, ledger.total.cost) == (500, 5000, 125.0)


def test_usage_survives_threads_within_threads() -> None:
    with charge_to(Ledger()) as ledger:
        concurrently(lambda _: concurrently(charge_once, range(20)), range(20))
    assert ledger.total.calls == 400


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads take turns so often that an unguarded sum loses something."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("hasty_threads")
def test_many_threads_may_charge_one_ledger_at_once() -> None:
    ledger, start = Ledger(), threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(300):
            ledger.add("judgment", ONE)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.stages == {"judgment": calls(2400)}


def test_threads_know_the_stage_of_their_caller() -> None:
    with charge_to(Ledger()) as ledger:
        with stage_of_calls("criteria"):
            concurrently(charge_once, range(3))
        with stage_of_calls("judgment"):
            concurrently(charge_once, range(5))
        charge(ONE)
    assert {stage: usage.calls for stage, usage in ledger.stages.items()} == {"criteria": 3, "judgment": 5, "other": 1}


def test_two_ledgers_in_two_threads_are_kept_apart() -> None:
    def spend(times: int) -> int:
        with charge_to(Ledger()) as ledger:
            concurrently(charge_once, range(times))
        return ledger.total.calls

    assert concurrently(spend, range(8)) == list(range(8))


def test_a_parent_is_charged_as_well() -> None:
    run = Ledger()
    cases = [Ledger(parent=run), Ledger(parent=run)]
    for times, ledger in enumerate(cases, start=1):
        with charge_to(ledger, "judgment"):
            concurrently(charge_once, range(times))
    assert [ledger.total.calls for ledger in cases] == [1, 2]
    assert run.stages == {"judgment": calls(3)}


def test_without_a_ledger_charging_does_nothing() -> None:
    charge(ONE)
    assert current_ledger() is None


def test_a_ledger_is_named_for_its_context_alone() -> None:
    with charge_to(Ledger()) as outer:
        with charge_to(Ledger()) as inner:
            assert current_ledger() is inner
        assert current_ledger() is outer
        with pytest.raises(KeyError), charge_to(Ledger()):
            raise KeyError
        assert current_ledger() is outer
    assert current_ledger() is None


def test_the_total_is_the_sum_of_the_stages() -> None:
    ledger = Ledger()
    for stage in ("criteria", "judgment", "criteria"):
        ledger.add(stage, ONE)
    assert ledger.total == calls(3)
    assert Ledger().total == Usage()


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(calls=4), "budget: 4 of 4 calls are used."),
        (Budget(tokens=48), "budget: 48 of 48 tokens are used."),
        (Budget(cost=1.0), "budget: 1 of 1 cost are used."),
    ],
)
def test_a_budget_ends_the_spending_at_its_limit(budget: Budget, expected: str) -> None:
    ledger = Ledger(budget=budget)
    for _ in range(4):
        ledger.check()
        ledger.add("judgment", ONE)
    with pytest.raises(BudgetSpent) as caught:
        ledger.check()
    assert str(caught.value) == f"{expected} Give more, or keep what is done."


def test_a_budget_of_minutes_ends_the_spending() -> None:
    Ledger(budget=Budget(minutes=2), _started=time.monotonic() - 90).check()
    ledger = Ledger(budget=Budget(minutes=2), _started=time.monotonic() - 121)
    with pytest.raises(BudgetSpent, match=r"budget: 2\.02 of 2 minutes are used"):
        ledger.check()


def test_a_budget_of_a_parent_ends_the_spending_of_its_children() -> None:
    run = Ledger(budget=Budget(calls=2))
    for _ in range(2):
        child = Ledger(parent=run)
        child.check()
        child.add("judgment", ONE)
    with pytest.raises(BudgetSpent, match="2 of 2 calls"):
        Ledger(parent=run).check()


def test_a_budget_of_nothing_allows_nothing() -> None:
    for budget in (Budget(calls=0), Budget(tokens=0), Budget(cost=0.0), Budget(minutes=0)):
        with pytest.raises(BudgetSpent):
            Ledger(budget=budget).check()


def test_without_a_budget_nothing_is_refused() -> None:
    ledger = Ledger()
    ledger.add("judgment", calls(10**6))
    ledger.check()


def test_calls_answered_by_the_cache_are_free() -> None:
    ledger = Ledger(budget=Budget(calls=1))
    ledger.add("judgment", Usage(cached=100))
    ledger.check()


def asked(ledger: Ledger, times: int, usage: Usage) -> int:
    """How many of so many questions, asked all at once, are allowed."""

    def ask(_: int) -> bool:
        try:
            with ledger.open_call():
                time.sleep(0.002)
                ledger.add("judgment", usage)
                return True
        except BudgetSpent:
            return False

    with ThreadPoolExecutor(16) as pool:
        return sum(pool.map(ask, range(times)))


def test_many_that_ask_at_once_make_no_more_calls_than_the_budget_allows() -> None:
    run = Ledger(budget=Budget(calls=20))
    assert asked(Ledger(parent=run), 60, Usage(calls=1)) == run.total.calls == 20


def test_what_the_cache_answers_is_waited_for_and_not_refused() -> None:
    assert asked(Ledger(budget=Budget(calls=1)), 60, Usage(cached=1)) == 60


def test_a_budget_is_read_from_words() -> None:
    read = Budget.parse("calls=1000, tokens=2e6,cost=0.5,minutes=30")
    assert read == Budget(calls=1000, tokens=2_000_000, cost=0.5, minutes=30)
    assert Budget.parse("") == Budget()


@pytest.mark.parametrize("wrong", ["call=3", "calls", "calls=many", "=3", "calls=1;tokens=2"])
def test_a_budget_in_other_words_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="write calls=, tokens=, cost= or minutes= and a number"):
        Budget.parse(wrong)
