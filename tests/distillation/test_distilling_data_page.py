"""docs/distilling-data.md: its commands and its code run unchanged, one after the other."""

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from fennec_server import fennec_server, fruit_pairs, judgelm_rows
from flat_reviews import flat_choices, flat_reviews, write

from dicast.cli import lessons_train, run
from dicast.data import Case, Reviewer
from dicast.data.case import Scores, Winner
from dicast.distillation.bridging.judgment import SETS
from dicast.distillation.training_set import read_set
from dicast.testing import MockServer

PAGE = (Path(__file__).parents[2] / "docs" / "distilling-data.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SCRIPTS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for script in SCRIPTS for line in script.replace("\\\n", " ").splitlines()]


def answer(body):
    """Any stage's answer, by the fields that it is asked for."""
    fields = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    return {name: {"score_a": 1, "score_b": 5}.get(name, "text") for name in fields} or None


@pytest.fixture
def page_names():
    """What the page takes for granted."""
    pairs = [
        Case(
            id=f"p{number}",
            query=f"Question number {number} of the pairs?",
            candidates=[{"text": f"A good answer to {number}."}, {"text": f"A poor answer to {number}."}],
            label=Winner(value="a" if number % 2 else "b"),
        )
        for number in range(12)
    ]
    reviews = [
        Case(
            id=f"r{reviewer}t{text}",
            query="",
            candidates=[{"text": f"plot {text} of {reviewer}"}],
            profile=Reviewer(id=f"reviewer {reviewer}"),
            label=Scores(values=(1 + text,), lo=1, hi=10),
            group=f"reviewer {reviewer}",
            meta={"review": f"Said of {text}."},
        )
        for reviewer in range(4)
        for text in range(8)
    ]
    row = {"question_id": 1, "question_body": "Name a fruit.", "answer1_body": "A shoe.", "answer2_body": "An apple."}
    judgelm = [{**row, "score": [2.0, 9.0], "text": "2 9\nAssistant 2 names a fruit."}]
    return {"cases": pairs[:9], "test_cases": pairs[9:], "review_cases": reviews, "judgelm_rows": judgelm}


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, page_names, capsys):
    monkeypatch.chdir(tmp_path)
    with MockServer(answer=answer) as server:
        names = {**page_names, "MODEL": f"openai/mock@{server.url}"}
        for block in BLOCKS:
            exec(block, names)
    assert "complete" in capsys.readouterr().out
    assert read_set(Path("set")).card.train.sources == {"labels": read_set(Path("set")).card.train.rows}
    assert read_set(Path("perse-set")).card.validation.groups == 1
    assert names["bridged"].statistics[0].confirmed == 1


def test_the_page_names_every_set():
    assert set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)) == set(SETS.names())


@pytest.mark.slow
def test_the_commands_of_the_page_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write(Path("pairs.jsonl"), fruit_pairs())
    write(Path("judgelm_train_100k.jsonl"), judgelm_rows())
    write(Path("test.jsonl"), fruit_pairs(1))
    write(Path("choices.jsonl"), flat_choices())
    with Path("reviews.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["reviewer", "text", "review", "score", "title"])
        table.writeheader()
        table.writerows(flat_reviews(20))
    with fennec_server() as server:
        for command in COMMANDS:
            arguments = shlex.split(command)[1:]
            if arguments[1] == "train":  # tests/cli/test_lessons_train.py and test_training_page.py run it, by torch
                with lessons_train.command.make_context("train", arguments[2:]) as parsed:
                    assert parsed.params["set_folder"].joinpath("card.json").is_file()
                continue
            asks = arguments[1] in ("traces", "bridge")
            more = ["--lm", f"openai/mock@{server.url}"] if asks else []
            assert run([*arguments, *more]) == 0, command
            if "--dry-run" in arguments:
                assert server.requests == []
    assert len(COMMANDS) == 11
    sets = [*Path().glob("**/card.json")]
    assert len(sets) == 3 + 3  # set, reverse-set, perse-set, scores-set, and one for each of two aspects
    for path in sets:
        for line in (path.parent / "train.jsonl").read_text().splitlines():
            assert json.loads(line)["messages"][-1]["role"] == "assistant"
