"""A run against a server that does not answer: it ends in time, says what it waits for, and loses nothing."""

import time

import pytest

import dicast
from dicast.engines import parallel
from dicast.engines.batch import read_verdicts
from dicast.errors import DeclarationError, Infrastructure
from dicast.testing import MockServer

pytestmark = pytest.mark.fault
ROWS = [
    {"id": str(n), "query": f"Name number {n}.", "response_a": "x" * n, "response_b": "four", "label": "ab"[n % 2]}
    for n in range(1, 41)
]


class Notices(dicast.Progress):
    """Notes what is waited for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def waiting(self, text: str) -> None:
        self.texts.append(text)


def test_a_server_that_hangs_ends_a_run_by_its_timeout(tmp_path):
    with MockServer(faults={"hang": 1.0}) as server:
        with pytest.raises(
            Infrastructure, match=r"nothing came from the server for 0\.2 s.*The first \d cases failed so"
        ):
            dicast.run("direct", ROWS, out=tmp_path, lm=server.model_string(), workers=4, timeout=0.2)
        after = dicast.run("direct", ROWS[:3], out=tmp_path / "few", lm=server.model_string("few"), timeout=0.1)
    assert after.status == "complete"
    assert {judged.reason for judged in read_verdicts(tmp_path / "few")} == {"infrastructure"}


def test_the_minutes_of_a_budget_end_a_run_against_a_server_that_hangs(tmp_path):
    with MockServer(faults={"hang": 1.0}) as server:
        lm, started = server.model_string(), time.monotonic()
        run = dicast.run("direct", ROWS, out=tmp_path, lm=lm, budget="minutes=0.02")
        assert time.monotonic() - started < 30
    assert run.status == "budget"
    assert "minutes are used" in run.message
    assert list(read_verdicts(tmp_path)) == []


def test_a_run_after_a_spent_budget_judges_the_rest(tmp_path):
    with MockServer(delay=0.05) as server:
        lm = server.model_string("slow")
        first = dicast.run("direct", ROWS, out=tmp_path, lm=lm, workers=1, in_flight=1, budget="minutes=0.01")
        assert first.status == "budget"
        again = dicast.run("direct", ROWS, out=tmp_path, lm=lm)
    assert again.status == "complete"
    assert {judged.case_id for judged in again if judged.status == "scored"} == {row["id"] for row in ROWS}
    assert max(server.request_counts.values()) == 1  # an answer that was paid for is not asked for again


def test_silence_says_which_model_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "SILENCE_SECONDS", 0.3)
    notices = Notices()
    with MockServer(delay=1.5) as server:
        lm = server.model_string("slow")
        dicast.run("direct", ROWS[:2], out=tmp_path, lm=lm, timeout=30, progress=notices)
    assert 1 <= len(notices.texts) <= 8
    assert f"{lm}: 8 requests without an answer" in notices.texts[0]
    assert "after 30 s a request is given up (--timeout)" in notices.texts[0]


@pytest.mark.parametrize("in_flight", [4, 128])
def test_requests_in_flight_grow_to_the_limit_where_the_server_bears_them(tmp_path, in_flight):
    rows = [row | {"id": f"{copy}-{row['id']}", "query": f"{copy} {row['query']}"} for copy in range(3) for row in ROWS]
    with MockServer(delay=0.3) as server:
        lm, chosen = server.model_string(), rows[: max(10, in_flight)]
        dicast.run("direct", chosen, out=tmp_path, lm=lm, workers=64, in_flight=in_flight)
    assert 0.4 * in_flight < server.peak_concurrency <= in_flight


@pytest.mark.parametrize("options", [{"timeout": 0}, {"timeout": "soon"}, {"timeout": True}, {"in_flight": 0}])
def test_a_pace_that_makes_no_sense_is_refused(tmp_path, options):
    with pytest.raises(DeclarationError, match=next(iter(options))):
        dicast.run("longer", ROWS, out=tmp_path, **options)
