"""A case from stored answers and anew: what agrees, and by how much it differs."""

import math

import pytest

import dicast
from dicast.data import Case, Verdict
from dicast.testing.mock_server import MockServer
from dicast.workflows.live_check import LiveReading, read_live

CASE = Case(id="1", query="2 + 2?", candidates=({"text": "4"}, {"text": "5"}))


def judged(winner, **distribution):
    return Verdict(case_id="1", winner=winner, distribution=distribution)


@pytest.mark.parametrize(
    ("recorded", "live", "difference", "agrees"),
    [
        (judged("a", a=0.7, b=0.3), judged("a", a=0.65, b=0.35), 0.05, True),
        (judged("a", a=0.7, b=0.3), judged("a", a=0.55, b=0.45), 0.15, False),
        (judged("a", a=0.51, b=0.49), judged("b", a=0.49, b=0.51), 0.02, False),
        (judged("a", a=0.7, b=0.2, tie=0.1), judged("a", a=0.7, b=0.3), 0.1, True),
        (judged("a", a=1.0), Verdict(case_id="1", winner="a"), 1.0, False),
        (Verdict(case_id="1", winner="a"), Verdict(case_id="1", winner="a"), 0.0, True),
    ],
)
def test_agreement_is_the_winner_and_a_tenth(recorded, live, difference, agrees):
    reading = LiveReading(CASE, recorded, live)
    assert reading.difference == pytest.approx(difference)
    assert reading.agrees is agrees


def test_the_second_reading_asks_the_model_and_is_not_stored(tmp_path, monkeypatch):
    monkeypatch.setenv("DICAST_ANSWERS", str(tmp_path))
    prefers = [0.9]
    with MockServer(token_probabilities=lambda body: {"A": prefers[0], "B": 1 - prefers[0]}) as server:
        judge = dicast.judge("direct", lm=f"openai/live@{server.url}", grading="pairwise", order="one")
        assert judge(CASE).distribution["a"] == pytest.approx(0.9)
        prefers[0] = 0.6
        reading = read_live(judge, CASE)
        assert len(server.requests) == 2  # the first and the live one
        assert math.isclose(reading.difference, 0.3, abs_tol=1e-6)
        assert judge(CASE).distribution["a"] == pytest.approx(0.9)
