"""The account of a compilation: kept over sessions, and enough of a budget left for the test."""

from pathlib import Path

import pytest

from dicast.data import Judged, Usage
from dicast.engines.ledger import Budget, charge, current_ledger
from dicast.errors import BudgetSpent
from dicast.optimizers.cost_account import CostAccount, PerVerdict, TotalCost

CALL = Usage(calls=1, prompt_tokens=90, completion_tokens=10, cost=0.5)
VERDICT = Judged(
    case_id="c", winner="a", usage=Usage(calls=2, cached=2, prompt_tokens=90, completion_tokens=10, cost=1)
)


def spend(most: int) -> int:
    """How many calls the budget of this context allows, of so many at most."""
    ledger = current_ledger()
    assert ledger is not None
    for made in range(most):
        try:
            ledger.check()
        except BudgetSpent:
            return made
        charge(CALL)
    return most


def test_sessions_add_up(tmp_path: Path) -> None:
    path = tmp_path / "spent.json"
    for number in (1, 2, 3):
        account = CostAccount(path)
        with account.session(), account.recording() as counted:
            spend(2)
            counted(VERDICT)
        kept = TotalCost.model_validate_json(path.read_text())
        assert (kept.usage.calls, kept.sessions, kept.recorded) == (2 * number, number, number)
    assert 0 < kept.recording <= kept.minutes


def test_a_session_that_does_nothing_is_not_counted(tmp_path: Path) -> None:
    with CostAccount(tmp_path / "spent.json").session():
        pass
    assert not (tmp_path / "spent.json").exists()


def test_a_session_that_fails_is_counted(tmp_path: Path) -> None:
    def fails(account: CostAccount) -> None:
        with account.session():
            spend(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(CostAccount(tmp_path / "spent.json"))
    assert TotalCost.model_validate_json((tmp_path / "spent.json").read_text()).usage.calls == 1


@pytest.mark.parametrize("text", ["", "{", '{"minutes": "many"}', "[]"])
def test_an_account_that_cannot_be_read_begins_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "spent.json").write_text(text)
    assert CostAccount(tmp_path / "spent.json").total.usage == Usage()


def test_one_verdict_counts_what_the_cache_answered() -> None:
    assert PerVerdict.of([VERDICT, VERDICT]) == PerVerdict(calls=4, tokens=200, cost=2)
    assert PerVerdict.of([]) == PerVerdict(calls=0, tokens=0, cost=0)


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(), 1000),  # nothing is limited
        (Budget(calls=100), 40),  # less 20 used and 10 verdicts of 4 calls
        (Budget(tokens=10_000), 60),  # less 2,000 used and 10 verdicts of 200 tokens
        (Budget(cost=50), 40),  # less 10 dollars used and 10 verdicts of 2
        (Budget(calls=100, cost=35), 10),
        (Budget(calls=30), 0),
    ],
)
def test_a_search_leaves_what_the_test_will_cost(tmp_path: Path, budget: Budget, allowed: int) -> None:
    account = CostAccount(tmp_path / "spent.json", budget)
    with account.session():
        assert spend(20) == 20
        with account.with_reserve(PerVerdict.of([VERDICT]), 10):
            assert spend(1000) == allowed
        if allowed == 40:
            assert spend(1000) == 40  # the reserve is there for the test
    assert account.total.usage.calls >= 20 + allowed


def test_minutes_are_kept_by_how_long_a_verdict_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("dicast.optimizers.cost_account.time.monotonic", lambda: clock[0])
    account = CostAccount(tmp_path / "spent.json", Budget(minutes=10))
    with account.session():
        with account.recording() as counted:
            for _ in range(4):
                clock[0] += 60
                counted(VERDICT)
        with account.with_reserve(PerVerdict.of([VERDICT]), 5):  # of 10 minutes 4 are gone, and 5 are needed
            ledger = current_ledger()
            assert ledger is not None
            assert ledger.budget.minutes == pytest.approx(1)
