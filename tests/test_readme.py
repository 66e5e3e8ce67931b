"""Every command and every line of Python in the README, in docs/judges.md and in docs/measuring.md runs."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.testing import MockServer

ROOT = Path(__file__).parents[1]
README, MEASURING = (ROOT / "README.md").read_text(), (ROOT / "docs" / "measuring.md").read_text()
JUDGES = (ROOT / "docs" / "judges.md").read_text()
COMMANDS = list(
    dict.fromkeys(
        line
        for block in re.findall(r"```sh\n(.*?)```", README + JUDGES + MEASURING, re.DOTALL)
        for line in block.splitlines()
        if line.startswith("dicast")
    )
)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

OUTCOMES = {"compile": (0, 1, 2), "check": (0, 1, 2, 3)}  # the mock server does not know that 2 is less than 7

YAML = "name: tone\njudges: pairs\ninstructions: You judge replies of a support desk.\ncriteria: [polite, brief]\n"


def write(name, rows):
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    rows = [
        {"id": str(n), "query": f"README {n}", "response_a": "x", "response_b": "y", "label": "ab"[n % 2]}
        | {"category": ("chat", "code")[n % 3 == 0]}
        for n in range(60)
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
    judges = {"gpt-4o": "a", "haiku": "b"}
    verdicts = [
        {"id": row["id"], "prediction": letter, "label": row["label"], "judge": judge, "subset": "ab"[number % 2]}
        for judge, letter in judges.items()
        for number, row in enumerate(rows)
    ]
    write("verdicts.jsonl", verdicts)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_run(user, command, capsys, monkeypatch):
    with MockServer() as server:
        arguments = shlex.split(re.sub(r"--lm \S+", f"--lm openai/readme@{server.url}", command))[1:]
        # The README's default is the 1.5B model, which a new machine has not fetched: the demo runs that.
        monkeypatch.setenv("DICAST_LM", f"openai/readme@{server.url}")
        if any(part.startswith("runs/") for part in arguments) and arguments[0] in ("evaluate", "report", "agreement"):
            for name in ("first", "fennec"):
                assert run(["judge", "--cases", "pairs.jsonl", "--out", f"runs/{name}", "--limit", "6"]) == 0
        assert run(arguments) in (OUTCOMES.get(arguments[0], (0,)) if "--require" not in arguments else (0, 1, 2))
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    assert "FAIL data" not in output.out


@pytest.mark.parametrize("code", PYTHON)
def test_the_python_runs(user, code, capsys):
    with MockServer() as server:
        exec(compile(code.replace("local/qwen2.5-coder-1.5b", f"openai/readme@{server.url}"), "README.md", "exec"), {})
    assert "calls=4" in capsys.readouterr().out


def test_the_commands_of_compiling_run_in_order(user, capsys):
    pairs = [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()]
    write("labels.jsonl", pairs)
    write("fresh.jsonl", [pair | {"id": f"fresh {pair['id']}", "query": f"Please: {pair['query']}"} for pair in pairs])
    block = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "compiling.md").read_text(), re.DOTALL)[0]
    with MockServer() as server:
        for command in block.splitlines():
            arguments = shlex.split(command)[1:]
            if arguments[0] == "compile":
                arguments += ["--trials", "1", "--lm", f"openai/compiling@{server.url}"]
            assert run(arguments) in (0, 1, 2), command
    assert "Traceback" not in capsys.readouterr().err


def test_the_python_of_compiling_runs(user, capsys):
    write("labels.jsonl", [json.loads(line) for line in Path("pairs.jsonl").read_text().splitlines()])
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "compiling.md").read_text(), re.DOTALL)
    with MockServer() as server:
        code = code.replace("local/qwen2.5-coder-1.5b", f"openai/compiling@{server.url}")
        exec(compile(code, "compiling.md", "exec"), {})
    assert "against the uncompiled judge" in capsys.readouterr().out
    assert Path("mine.judge.json").exists()


def test_the_python_of_the_statistics_runs(capsys):
    evaluation, statistics = re.findall(r"```python\n(.*?)```", MEASURING, re.DOTALL)
    exec(compile(evaluation, "measuring.md", "exec"), {})
    value, low, high, n, groups = map(float, capsys.readouterr().out.split())
    assert (value, n, groups) == (pytest.approx(7 / 9), 9, 3)
    assert low < value < high
    exec(compile(statistics, "measuring.md", "exec"), {})
    assert [float(line) for line in capsys.readouterr().out.split()] == [0.5, 658]


def test_the_make_targets_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:`|^    )make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
