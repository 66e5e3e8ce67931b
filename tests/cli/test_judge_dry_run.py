"""`dicast judge --dry-run`: it counts what a run then asks, in each way of reading; `check` reads in that way too."""

import json
from pathlib import Path
from typing import Any

import pytest

from dicast.cli import run
from dicast.engines import models
from dicast.judging import build
from dicast.judging.judge_file import save
from dicast.testing import MockServer
from dicast.testing.faults import Exchange, Fault, Reply, http

CASES = 4
LETTERS = {"sampled": lambda body: "A", "stated": lambda body: '{"A": 70, "B": 20, "C": 10}'}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "query": f"{tmp_path.name} {n}", "response_a": "x", "response_b": "y", "label": "a"}
        for n in range(CASES)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def estimate(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["judge", "--cases", "pairs.jsonl", *options, "--dry-run", "--json"]) == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        (("--readout", "probability"), 2),  # one question in each order
        (("--readout", "sampled"), 20),  # ten letters a question
        (("--readout", "sampled", "--set", "letters=3"), 6),
        (("--readout", "stated"), 2),
        (("--readout", "generate"), 2),
    ],
)
def test_the_estimate_is_what_the_run_asks(
    options: tuple[str, ...], calls: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with MockServer(answer=LETTERS.get(options[1])) as server:
        arguments = [*options, "--set", "grading=pairwise", "--lm", server.model_string()]
        shown = estimate(capsys, *arguments)
        assert (shown["cases"], shown["calls"], shown["note"]) == (CASES, CASES * calls, "")
        assert server.requests == []
        assert not Path("runs").exists()
        assert run(["judge", "--cases", "pairs.jsonl", *arguments, "--out", "out"]) == 0
        assert len(server.requests) == CASES * calls


@pytest.mark.parametrize("readout", ["sampled", "stated"])
def test_levels_are_counted_too(readout: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A pair by itself is two questions of a letter and two of a level."""
    shown = estimate(capsys, "--readout", readout, "--lm", "openai/m@http://127.0.0.1:9/v1")
    assert (shown["calls"], shown["note"]) == (CASES * 4 * (10 if readout == "sampled" else 1), "")


def without_probabilities(exchange: Exchange) -> Reply:
    answer = exchange.complete()
    answer["choices"][0].pop("logprobs", None)
    answer["choices"][0]["message"]["content"] = "A"
    return Reply(http(json.dumps(answer)))


@pytest.mark.parametrize("gives_probabilities", [True, False])
def test_auto_is_counted_both_ways_until_the_model_was_asked_and_then_by_what_it_gives(
    gives_probabilities: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = {} if gives_probabilities else {Fault("speaks", "", "", without_probabilities, usable=True): 1.0}
    with MockServer(token_probabilities=lambda body: {"A": 0.7, "B": 0.2}, faults=faults) as server:
        options = ["--readout", "auto", "--set", "grading=pairwise", "--lm", server.model_string()]
        before = estimate(capsys, *options)
        assert (before["calls"], before["unasked"]) == (CASES * 2, [server.model_string()])
        assert before["if_sampled"]["calls"] == CASES * 20
        assert before["if_sampled"]["prompt_tokens"] == 10 * before["prompt_tokens"]
        assert server.requests == []
        assert run(["judge", "--cases", "pairs.jsonl", *options, "--out", "out"]) == 0
        after = estimate(capsys, *options)
    assert after["calls"] == CASES * (2 if gives_probabilities else 20)
    assert (after["if_sampled"], after["unasked"]) == (None, [])


def unstoppable(exchange: Exchange) -> Reply:
    """A model that thinks before every answer, whatever is asked of it; its token probabilities are of the thought."""
    answer = exchange.complete()
    choice = answer["choices"][0]
    choice["message"]["content"] = f"<think>A is short.</think>{choice['message']['content']}"
    if exchange.body.get("logprobs"):
        thought = {"token": "<think>", "logprob": 0.0}
        choice["logprobs"] = {"content": [thought | {"top_logprobs": [thought]}]}
    return Reply(http(json.dumps(answer)))


@pytest.mark.parametrize(
    ("fault", "calls", "said"),
    [
        ("no_logprobs", 20, "token probabilities: no; read from sampled answers;"),
        ("null_logprobs", 20, "token probabilities: no; read from sampled answers;"),
        ("empty_logprobs", 20, "token probabilities: no; read from sampled answers;"),
        (Fault("thinks", "", "", unstoppable, usable=True), 2, "thinks first: yes; it cannot be switched off"),
    ],
    ids=["no_logprobs", "null_logprobs", "empty_logprobs", "thinks"],
)
def test_after_check_the_model_is_counted_as_a_run_reads_it(
    fault: Any, calls: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    way = "sampled" if calls == 20 else "stated"

    def answer(body: dict[str, Any]) -> str:
        return '{"smaller": "first"}' if "smaller" in json.dumps(body) else LETTERS[way](body)

    with MockServer(answer=answer, faults={fault: 1.0}) as server:
        options = ["--readout", "auto", "--set", "grading=pairwise", "--lm", server.model_string()]
        run(["check", "--lm", server.model_string(), "--json"])
        items = {item["name"].partition(" ")[0]: item["text"] for item in json.loads(capsys.readouterr().out)}
        assert said in items["card"]
        shown = estimate(capsys, *options)
        assert (shown["calls"], shown["if_sampled"], shown["unasked"]) == (CASES * calls, None, [])
        models._lms.clear()  # as in another process
        asked = server.fault_counts.total()
        assert run(["judge", "--cases", "pairs.jsonl", *options, "--out", "out"]) == 0
        assert server.fault_counts.total() - asked == CASES * calls


def test_a_model_that_is_known_to_think_is_counted_as_it_states_distributions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lm = "openai/thinker@http://127.0.0.1:9/v1"
    models.get_lm(lm).transport.card.learn(lambda card: card.model_copy(update={"thinks": True}))
    shown = estimate(capsys, "--readout", "auto", "--set", "grading=pairwise", "--lm", lm)
    assert (shown["calls"], shown["if_sampled"]["calls"], shown["unasked"]) == (CASES * 2, CASES * 2, [lm])


def test_both_ways_are_two_lines_and_what_finds_out_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    lm = "openai/m@http://127.0.0.1:9/v1"
    command = ["judge", "--cases", "pairs.jsonl", "--set", "grading=pairwise", "--lm", lm, "--dry-run"]
    assert run([*command, "--readout", "auto"]) == 0
    out = capsys.readouterr().out
    first, second = (line.split() for line in out.splitlines()[1:3])
    assert (first[:2], second[:3]) == (["4", "8"], ["if", "not", "80"])
    assert (
        f"whether {lm} gives token probabilities is not known on this machine: the first line holds if so, 'if not' "
        f"otherwise. `dicast check --lm {lm}` asks."
    ) in " ".join(out.split())
    assert run([*command, "--readout", "generate", "--set", "reading=auto"]) == 0
    assert "if not" not in capsys.readouterr().out


@pytest.mark.parametrize("readout", ["auto", "probability"])
def test_a_model_in_this_process_gives_token_probabilities(readout: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = estimate(capsys, "--readout", readout, "--lm", "local/smollm2-135m")
    assert (shown["calls"], shown["if_sampled"], shown["unasked"]) == (CASES * 4, None, [])


def test_a_sample_a_judge_without_a_model_and_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert estimate(capsys, "--limit", "2", "--lm", "openai/m@http://127.0.0.1:9/v1")["cases"] == 2
    assert estimate(capsys, "--judge", "longer")["calls"] == 0
    assert run(["judge", "--cases", "pairs.jsonl", "--judge", "longer", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [
        "longer", "calls", "tokens", "read", "tokens", "written", "US", "dollars",
    ]  # fmt: skip


def test_reasons_and_one_case_are_not_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", "--cases", "pairs.jsonl", "--dry-run", "--why", "all"]) == 3
    assert run(["judge", "--cases", "pairs.jsonl", "--dry-run", "--explain", "1"]) == 3
    assert capsys.readouterr().err.count("--dry-run: counts what verdicts take") == 2


@pytest.mark.parametrize("readout", ["sampled", "stated"])
def test_check_reads_as_the_judge_file_says(readout: str, capsys: pytest.CaptureFixture[str]) -> None:
    with MockServer(answer=LETTERS[readout]) as server:
        judge = build("direct", readout=readout, grading="pairwise", letters=4)
        recorded = {"hits": 180, "n": 200, "low": 0.85, "high": 0.93, "value": 0.9, "groups": 200, "effective_n": 200.0}
        save(judge, "tone.judge.json", training={"after": recorded}, lm=server.model_string())
        command = ["check", "--judge", "tone.judge.json", "--cases", "pairs.jsonl", "--json", "--trust"]
        assert run(command) in (0, 1, 2)
        now = json.loads(capsys.readouterr().out)["now"]
        assert len(server.requests) == CASES * 2 * (4 if readout == "sampled" else 1)
    assert (now["n"], now["hits"]) == (CASES, 0)  # always the first letter: a tie of both orders
