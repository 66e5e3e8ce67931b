"""What a user sees of a model that answers with something other than the options."""

import json
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.testing import MockServer

WARNING = "warning: the options hold 20% of the probability on average"


@pytest.fixture
def cases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    rows = [{"query": f"q{n}", "response_a": f"x{n}", "response_b": f"y{n}", "label": "ab"[n % 2]} for n in range(40)]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "pairs.jsonl"


def judged(cases: str, url: str, *more: str) -> int:
    return run(["judge", "--judge", "direct", "--cases", cases, "--lm", f"openai/m@{url}", "--out", "out", *more])


def test_a_server_whose_first_token_is_never_an_option_scores_nothing(cases, capsys):
    """Before, all cases were scored as ties with a coverage of 1."""
    with MockServer(token_probabilities=lambda body: {"<think>": 1.0}) as server:
        assert judged(cases, server.url) == 3
    assert "'<think>' 100%" in capsys.readouterr().err
    verdicts = [json.loads(line) for line in Path("out/verdicts.jsonl").read_text().splitlines()]
    assert {(verdict["status"], verdict["reason"]) for verdict in verdicts} == {("unscored", "unreadable")}
    with MockServer(token_probabilities=lambda body: {"A": 0.9, "4": 0.1}) as server:
        assert run(["judge", "--cases", cases, "--lm", f"openai/m@{server.url}", "--out", "again", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluation"]["unscored"] == {}


def test_a_model_that_is_mostly_unread_warns_everywhere(cases, capsys):
    low = {"The": 0.8, "A": 0.15, "B": 0.05}
    with MockServer(token_probabilities=lambda body: low) as server:
        assert judged(cases, server.url, "--set", "grading=pairwise") == 0
        printed = capsys.readouterr().out
        assert WARNING in printed.replace("\n", " ")
        assert "mass read" in printed
        assert judged(cases, server.url, "--set", "grading=pairwise", "--json") == 0
        as_json = json.loads(capsys.readouterr().out)["evaluation"]["sections"]["readout"]
        assert as_json[0]["warning"].startswith("the options hold 20%")
    assert run(["evaluate", "out"]) == 0
    assert WARNING in capsys.readouterr().out.replace("\n", " ")
    assert run(["report", "out", "--out", "page.html"]) == 0
    assert "The options hold 20% of the probability on average" in Path("page.html").read_text()


def test_the_unscored_are_named_with_what_asks_them_again(cases, capsys):
    def sometimes(body):
        return {"The": 1.0} if "x7" in json.dumps(body) else {"A": 0.6, "B": 0.3}

    with MockServer(token_probabilities=sometimes) as server:
        assert judged(cases, server.url, "--set", "grading=pairwise") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "unscored unreadable 1 counted in coverage only; asked again by the next run" in printed
    assert run(["evaluate", "out"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "1 unscored: 1 unreadable (asked again by the next run)" in printed
    with MockServer(token_probabilities=lambda body: {"A": 0.6, "B": 0.3}) as server:
        assert judged(cases, server.url, "--set", "grading=pairwise", "--json") == 3  # another endpoint, another run
