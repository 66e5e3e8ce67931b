"""Every command and every line of Python in the README runs."""

import json
import re
import shlex
from pathlib import Path

import pytest
from mock_server import MockServer, serve

from dicast.cli import run

README = (Path(__file__).parents[1] / "README.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("dicast")
]
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

YAML = "name: tone\njudges: pairs\ninstructions: You judge replies of a support desk.\ncriteria: [polite, brief]\n"


def write(name, rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "query": f"README {n}", "response_a": "x", "response_b": "y", "label": "ab"[n % 2]}
        for n in range(30)
    ]
    write("pairs.jsonl", rows)
    persona = {"education": "university", "age": "35-44"}
    write("people.jsonl", [row | {"persona": persona} for row in rows[:4]])
    single = {"query": "README text", "response": "A short text about Anna.", "score": 3, "aspect": "coherence"}
    write("summaries.jsonl", [single])
    history = {"reviewer": "r", "reviews": [{"text": "A plot.", "comment": "dull", "score": 4}]}
    write("reviews.jsonl", [single | history | {"query": ""}])
    write("choices.jsonl", [{"query": "README?", "preference": "no meat", "options": ["x", "y", "z"], "label": 1}])
    Path("my-judge.yaml").write_text(YAML)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(user, command, capsys):
    arguments = shlex.split(command)[1:]
    with serve(MockServer()) as server:
        if arguments[0] in ("judge", "prepare"):  # the README's default is the 1.5B model: the demo runs that
            arguments += ["--lm", f"openai/readme@{server.url}"]
        assert run(arguments) in ((0, 1) if arguments[0] == "check" else (0,))
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("code", PYTHON)
def test_the_python_runs(user, code, capsys):
    with serve(MockServer()) as server:
        exec(compile(code.replace("local/qwen2.5-coder-1.5b", f"openai/readme@{server.url}"), "README.md", "exec"), {})
    assert "calls=4" in capsys.readouterr().out


def test_the_make_targets_of_the_readme_exist():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
