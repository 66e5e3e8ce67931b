"""The demo against a server: a compilation on the packaged pairs, live readings, and two whole judgments."""

import json

import pytest

from dicast.cli import run
from dicast.testing.mock_server import MockServer


@pytest.mark.slow
def test_the_demo_of_any_model_runs_to_its_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with MockServer() as server:
        arguments = ["demo", "--lm", f"openai/demo@{server.url}", "--limit", "60"]
        assert run(arguments) == 0
        out = capsys.readouterr().out
        asked = len(server.requests)
        assert run([*arguments, "--json"]) == 0
        assert len(server.requests) - asked <= 8  # the live readings alone
    for text in ("asked once, in one order", "compiled on the labels of other prompts", "compiled less asked once:"):
        assert text in out
    assert "largest difference from the record: 0.000" in out
    assert "asked now" in out
    dumped = json.loads(capsys.readouterr().out)
    assert dumped["live"]["agrees"] is True
    names = [judge["name"] for judge in dumped["result"]["judges"]]
    assert {"compiled", "uncompiled", "direct (grading=pairwise, order=one)"} <= set(names)
    assert (tmp_path / "runs" / "demo" / "compiled" / "direct.judge.json").exists()


def test_a_live_answer_that_differs_from_the_record_ends_with_1(tmp_path, monkeypatch, capsys):
    from dicast.cli import demo
    from dicast.workflows.live_check import LiveReading

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(LiveReading, "difference", 0.2)
    monkeypatch.setattr(demo, "_whole_judgments", lambda *_: None)
    with MockServer() as server:
        assert run(["demo", "--lm", f"openai/differs@{server.url}", "--limit", "40"]) == 1
    assert "largest difference from the record: 0.200 of a probability. It differs: --fresh" in capsys.readouterr().out
