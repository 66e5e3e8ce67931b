"""docs/preparing.md: its commands run unchanged, one after the other."""

import json
import re
import shlex
from pathlib import Path

from flat_reviews import flat_reviews, write

from dicast.cli import run
from dicast.preparation.registry import PREPARATIONS
from dicast.testing import MockServer

PAGE = (Path(__file__).parents[2] / "docs" / "preparing.md").read_text()
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


def answer(body):
    """Any judge's answer, by the fields that it is asked for."""
    fields = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    possible = {"title": "Tale 1", "review": "Fine.", "score": 5, "better": "A", "preferred": "A", "verdict": "A"}
    return {name: possible.get(name, "A") for name in fields}


def test_the_commands_of_the_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    write(Path("reviews.jsonl"), flat_reviews(reviewers=14))
    texts = [
        {"id": f"{item}-{n}", "query": f"News {item}?", "response": f"Text {n} of {item}.", "score": 1 + (item + n) % 5}
        for item in range(4)
        for n in range(4)
    ]
    write(Path("texts.jsonl"), texts)
    write(Path("stories.jsonl"), [text | {"title": f"Tale {n}", "reviewer": "r"} for n, text in enumerate(texts[:4])])
    with MockServer(answer=answer) as server:
        for line in COMMANDS:
            command = shlex.split(line)[1:]
            asks = command[0] == "judge" or "titles" in command
            assert run([*command, *(["--lm", f"openai/mock@{server.url}"] if asks else [])]) == 0, line
    assert len({json.loads(line)["group"] for line in Path("runs/inputs/verdicts.jsonl").read_text().splitlines()}) == 2


def test_the_page_names_every_preparation():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(PREPARATIONS.built_in())
