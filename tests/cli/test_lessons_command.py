"""`dicast lessons`: traces, bridged judgments, sets and histories from the terminal; resume, budget, Ctrl-C, errors."""

import gzip
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from fennec_server import fennec_answer, fennec_server, fruit_pairs, judgelm_rows
from flat_reviews import flat_reviews

from dicast.cli import run
from dicast.distillation.training_set import read_set
from dicast.engines.batch import read_verdicts
from dicast.testing import MockServer

Capsys = pytest.CaptureFixture[str]
RULE = "| --- | --- | --- |"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write("pairs.jsonl", fruit_pairs())
    write("judgelm.jsonl", judgelm_rows())


def write(name: str, rows: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def traces(server: MockServer, *more: str) -> int:
    fixed = ["lessons", "traces", "fennec", "--cases", "pairs.jsonl", "--set", "branches=1", "--out", "traces"]
    return run([*fixed, "--lm", f"openai/mock@{server.url}", *more])


def bridge(server: MockServer, *more: str, file: str = "judgelm.jsonl") -> int:
    fixed = ["lessons", "bridge", file, "--format", "judgelm", "--out", "bridged"]
    return run([*fixed, "--lm", f"openai/mock@{server.url}", *more])


def test_traces_say_what_a_student_would_learn(capsys: Capsys) -> None:
    """Six pairs: one criterion, one guideline and two orders each; people contradict the last one."""
    with fennec_server() as server:
        assert traces(server) == 0
        assert len(server.requests) == 24
    printed = capsys.readouterr().out
    assert printed.startswith(
        "6 cases, 24 calls, 0 of one token.\n\n"
        f"| task | calls | words of an answer |\n{RULE}\n"
        "| fennec.criteria | 6 | 6.0 |\n| fennec.guideline | 6 | 20.0 |\n| fennec.pairwise | 12 | 18.0 |\n\n"
        f"| verdict | cases | written answers are learnt |\n{RULE}\n"
        "| agrees with the label | 5 | yes |\n| contradicts the label | 1 | no |\nusage: 24 calls"
    )
    assert printed.endswith("traces: traces/traces.jsonl\nmore: dicast lessons set traces --out SET\n")
    assert Path("traces/counts.md").read_text().removeprefix("# Traces\n\n") in printed.replace("\nusage", "\n\nusage")


def test_fennec_correct_leaves_traces_of_all_five_tasks(capsys: Capsys) -> None:
    with fennec_server() as server:
        fixed = ["lessons", "traces", "fennec-correct", "--cases", "pairs.jsonl", "--set", "branches=1", "--limit", "2"]
        assert run([*fixed, "--out", "traces", "--lm", f"openai/mock@{server.url}", "--json"]) == 0
    tasks = json.loads(capsys.readouterr().out)["counts"]["tasks"]
    assert sorted(tasks) == [f"fennec.{task}" for task in ("correction", "criteria", "guideline", "pairwise", "single")]


def test_a_finished_collection_asks_nothing_and_more_cases_are_added(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server, "--limit", "2") == 0
        assert traces(server, "--limit", "2") == 0
        assert len(server.requests) == 8
        assert traces(server, "--json") == 0
        assert len(server.requests) == 24
    last = capsys.readouterr().out.splitlines()
    shown = json.loads("\n".join(last[max(n for n, line in enumerate(last) if line == "{") :]))
    assert (shown["status"], shown["counts"]["cases"]) == ("complete", 6)
    assert shown["counts"]["reasons"] == {"agrees with the label": 5, "contradicts the label": 1}
    assert shown["stages"]["judgment"]["calls"] == 8
    assert json.loads(Path("traces/counts.json").read_text()) == shown["counts"]


def test_a_spent_budget_is_exit_2_and_the_same_command_continues(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server, "--workers", "1", "--budget", "calls=9") == 2
        assert "The same command continues where it stopped." in capsys.readouterr().err
        assert traces(server) == 0
        assert len(server.requests) == 24
    assert len([*read_verdicts(Path("traces"))]) == 6


def test_ctrl_c_finishes_the_case_in_flight_and_the_same_command_continues(capsys: Capsys) -> None:
    asked = 0

    def answer(body: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal asked
        asked += 1
        if asked == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return fennec_answer(body)

    with MockServer(answer=answer) as server:
        assert traces(server, "--workers", "1") == 130
        judged = len([*read_verdicts(Path("traces"))])
        assert 1 <= judged < 6
        assert "dicast: stopped. The same command continues" in capsys.readouterr().err
        assert traces(server) == 0
    assert asked == 24
    assert run(["lessons", "set", "traces", "--out", "set"]) == 0
    assert read_set(Path("set")).card.before["cases with written answers: agrees with the label"] == 5


def test_unlabelled_traces_are_chosen_by_their_two_orders(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server, "--unlabelled") == 0
    assert "| the same in both orders | 6 | yes |" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "calls"), [(traces, 24), (bridge, 12)])
def test_a_dry_run_counts_and_asks_nothing(command: Any, calls: int, capsys: Capsys) -> None:
    with fennec_server() as server:
        assert command(server, "--dry-run", "--json") == 0
        assert server.requests == []
    shown = json.loads(capsys.readouterr().out)
    assert (shown["status"], shown["estimate"]["calls"]) == ("dry run", calls)
    assert not Path("traces").exists()
    assert not Path("bridged").exists()


def test_bridging_drops_what_the_forward_judgment_contradicts(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert bridge(server) == 0
        assert len(server.requests) == 12
        assert bridge(server) == 0
        assert len(server.requests) == 12
    table = capsys.readouterr().out.splitlines()[:3]
    assert table == [
        "| set | rows | judgments | bridged | failed | disagreed | confirmed | criteria | guidelines | pairwise "
        "| single | words of a criterion | of a guideline | of a judgment |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        "| judgelm | 4 | 4 | 4 | 0 | 1 | 3 | 3 | 3 | 6 | 0 | 5.0 | 21.0 | 5.0 |",
    ]
    assert "| judgelm | 4 | 4 | 4 | 0 |" in Path("bridged/statistics.md").read_text()


def test_bridging_continues_after_a_spent_budget_and_after_ctrl_c() -> None:
    asked = 0

    def answer(body: dict[str, Any]) -> dict[str, Any] | None:
        nonlocal asked
        asked += 1
        if asked == 8:
            os.kill(os.getpid(), signal.SIGINT)
        return fennec_answer(body)

    with MockServer(answer=answer) as server:
        assert bridge(server, "--workers", "1", "--budget", "calls=4") == 2
        assert bridge(server, "--workers", "1") == 130
        assert bridge(server) == 0
    assert asked == 12
    assert json.loads(Path("bridged/statistics.json").read_text())["confirmed"] == 3


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl.gz", "rows.json.gz"])
def test_a_set_is_read_as_it_is_published(name: str, capsys: Capsys) -> None:
    rows = judgelm_rows()
    text = "".join(json.dumps(row) + "\n" for row in rows) if "jsonl" in name else json.dumps(rows, indent=1)
    Path(name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    with fennec_server() as server:
        assert bridge(server, "--dry-run", "--json", file=name) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["cases"] == 4


def test_a_sample_of_judgments_is_drawn_by_seed_and_a_larger_one_continues() -> None:
    write("judgelm.jsonl", judgelm_rows(20, wrong=0))
    with fennec_server() as server:
        assert bridge(server, "--limit", "3", "--seed", "1") == 0
        drawn = [json.loads(line)["id"] for line in Path("bridged/bridged.jsonl").read_text().splitlines()]
        assert len(drawn) == 3
        assert drawn != ["judgelm/0", "judgelm/1", "judgelm/2"]
        assert bridge(server, "--limit", "20") == 0
    assert len(Path("bridged/bridged.jsonl").read_text().splitlines()) == 20


def test_rows_that_are_given_twice_are_refused(capsys: Capsys) -> None:
    write("judgelm.jsonl", judgelm_rows(2) * 2)
    with fennec_server() as server:
        assert bridge(server) == 3
    assert "judgelm: two judgments have the id 'judgelm/0'. Give each row once." in capsys.readouterr().err


def test_a_set_of_traces_and_bridged_judgments_has_a_card_that_counts_its_rows(capsys: Capsys) -> None:
    write("evaluation.jsonl", fruit_pairs(1))
    with fennec_server() as server:
        assert traces(server) == 0
        assert bridge(server) == 0
    capsys.readouterr()
    assert run(["lessons", "set", "traces", "bridged", "--against", "evaluation.jsonl", "--out", "set"]) == 0
    card = read_set(Path("set")).card
    assert card.against == {"evaluation": 1}
    assert card.dropped == {"in the evaluation set evaluation: an equal text": 4}
    rows = [row for part in ("train", "validation") for row in read_set(Path("set")).rows(part)]
    assert sum(part.rows for part in (card.train, card.validation)) == len(rows) == 4 * 4 + 4 * 3
    for names, name in ((("tasks",), "task"), (("sources",), "source")):
        counted = {key: 0 for row in rows for key in [getattr(row, name)]}
        for row in rows:
            counted[getattr(row, name)] += 1
        both = [getattr(part, names[0]) for part in (card.train, card.validation)]
        assert counted == {key: sum(part.get(key, 0) for part in both) for key in counted}
    printed = capsys.readouterr().out
    assert "| bridged:judgelm |" in printed
    assert "| judgelm: judgments that the forward judgment contradicts | 1 |" in printed
    assert printed.endswith("train: set/train.jsonl\nvalidation: set/validation.jsonl\ncard: set/card.md\n")
    assert "No evaluation set was named" not in printed


def test_a_set_whose_every_row_is_of_the_evaluation_is_refused_and_leaves_what_was_there(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server) == 0
    command = ["lessons", "set", "traces", "--against", "pairs.jsonl", "--out"]
    assert run([*command, "new"]) == 3
    error = capsys.readouterr().err
    assert "new: no row is left to train on (" in error
    assert "in the evaluation set pairs: an equal text" in error
    assert not Path("new").exists()
    assert run(["lessons", "set", "traces", "--out", "set"]) == 0
    before = {path.name: path.read_bytes() for path in Path("set").iterdir()}
    assert run([*command, "set"]) == 3
    assert {path.name: path.read_bytes() for path in Path("set").iterdir()} == before
    assert read_set(Path("set")).card.against == {}


@pytest.mark.parametrize(("change", "kind"), [("very", "a near duplicate"), ("none", "an equal text")])
def test_evaluation_texts_inside_histories_are_left_out_and_counted(change: str, kind: str, capsys: Capsys) -> None:
    """One tale of the reviews is in an evaluation set, as it is or with a word more: no row shows it or asks of it."""
    rows = flat_reviews(20)
    tale = rows[0]["text"]
    text = tale if change == "none" else tale.replace("comes home", "comes slowly home")
    pair = {
        "id": "e",
        "query": "Which tale?",
        "response_a": text,
        "response_b": "Another tale, of a wholly other kind.",
    }
    write("reviews.jsonl", rows)
    write("evaluation.jsonl", [pair])
    command = ["lessons", "histories", "--cases", "reviews.jsonl", "--scale", "1..10", "--k", "3"]
    assert run([*command, "--out", "all"]) == 0
    assert run([*command, "--out", "set", "--against", "evaluation.jsonl"]) == 0
    counts = []
    for folder in ("all", "set"):
        made = read_set(Path(folder))
        shown = [row.prompt[-1].content for part in ("train", "validation") for row in made.rows(part)]
        history = [tale in prompt.partition("\n>>>")[0] for prompt in shown]
        asked = [tale in prompt.partition("\n>>>")[2] for prompt in shown]
        counts.append((len(shown), sum(history), sum(asked)))
    (before, in_history, asked_of), (after, *left) = counts
    assert in_history > 0
    assert left == [0, 0]
    dropped = read_set(Path("set")).card.dropped
    if change == "none":  # tales differ in a number: a near duplicate of one is one of its neighbours too
        counted = {kind: asked_of, f"{kind} in a history": in_history}
        assert dropped == {f"in the evaluation set evaluation: {name}": n for name, n in counted.items() if n}
    assert dropped[f"in the evaluation set evaluation: {kind} in a history"] >= in_history
    assert sum(dropped.values()) == before - after
    assert f"| in the evaluation set evaluation: {kind} in a history |" in Path("set/card.md").read_text()


def test_the_same_command_writes_the_same_set(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server) == 0
    capsys.readouterr()
    cards = []
    for out in ("one", "one", "other"):
        assert run(["lessons", "set", "traces", "--out", out, "--seed", "3", "--json"]) == 0
        cards.append(json.loads(capsys.readouterr().out)["card"])
    assert cards[0] == cards[1] == cards[2]
    assert run(["lessons", "set", "traces", "--out", "one"]) == 0
    assert "No evaluation set was named: --against CASES" in capsys.readouterr().out


def test_every_trainer_finds_chats_in_the_set() -> None:
    """As they read it: each line an object whose `messages` end with the assistant's."""
    with fennec_server() as server:
        assert traces(server) == 0
    assert run(["lessons", "set", "traces", "--out", "set"]) == 0
    info = json.loads(Path("set/dataset_info.json").read_text())
    assert info["dicast_train"]["file_name"] == "train.jsonl"
    for line in Path("set/train.jsonl").read_text().splitlines():
        messages = json.loads(line)["messages"]
        assert {tuple(message) for message in messages} == {("role", "content")}
        assert messages[-1]["role"] == "assistant"
        assert [message["role"] for message in messages[:-1]].count("assistant") == 0


def test_rows_of_a_reverse_student_come_of_the_same_traces(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server) == 0
    assert run(["lessons", "set", "traces", "--reverse", "--out", "reverse-set", "--validation", "0"]) == 0
    assert read_set(Path("reverse-set")).card.train.tasks == {"reverse.criterion": 10, "reverse.guideline": 10}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["traces", "longer", "--cases", "pairs.jsonl"], "judge 'longer' asks no model, so it leaves no traces"),
        (["traces", "fennec", "--cases", "none.jsonl"], "none.jsonl"),
        (["set", "empty", "--against", "none", "--out", "set"], "--against none: no such file and no such set."),
        (["set", "empty", "--out", "set"], "empty: holds no traces and no bridged judgments"),
        (["set", "empty", "--reverse", "--out", "set"], "empty: holds no traces. Give"),
        (["bridge", "pairs.jsonl", "--format", "judgelm"], "judgelm: row 0: field 'score' is missing."),
        (["bridge", "pairs.jsonl", "--format", "prometheus"], "'prometheus' is not one of"),
        (["bridge", "empty.jsonl", "--format", "judgelm"], "empty.jsonl: holds no judgment."),
        (["histories", "--cases", "pairs.jsonl", "--out", "set"], "names no reviewer"),
        (["set", "empty", "--mix", "fennec", "--out", "set"], "write TASK=WEIGHT"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_3(arguments: list[str], message: str, capsys: Capsys) -> None:
    Path("empty").mkdir()
    Path("empty.jsonl").touch()
    with fennec_server() as server:
        more = ["--lm", f"openai/mock@{server.url}"] if arguments[0] in ("traces", "bridge") else []
        assert run(["lessons", *arguments, *more]) == 3
        assert server.requests == []
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("set").exists()


def test_a_folder_of_something_else_is_refused(capsys: Capsys) -> None:
    with fennec_server() as server:
        assert traces(server) == 0
        assert bridge(server) == 0
        write("judgelm.jsonl", judgelm_rows(5))
        assert bridge(server) == 3
        assert "bridged: holds bridged judgments with data = " in capsys.readouterr().err
        assert traces(server, "--set", "guideline=false") == 3
        assert "traces: holds a run with " in capsys.readouterr().err
        assert run(["lessons", "set", "traces", "--out", "bridged"]) == 3
        assert "bridged: holds bridged.jsonl, so it is no training set" in capsys.readouterr().err
