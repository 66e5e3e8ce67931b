"""`dicast judge --why`: what it prints and counts, what it refuses, and that docs/why.md runs."""

import json
import re
import shlex
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.testing import MockServer

PAGE = (Path(__file__).parents[2] / "docs" / "why.md").read_text()
COMMAND = ["judge", "--judge", "direct", "--set", "grading=pairwise", "--cases", "pairs.jsonl", "--out", "run", "--lm"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    rows = [
        {"id": f"case {n}", "query": f"{tmp_path.name} {n}", "response_a": "x", "response_b": "y", "label": "ab"[n % 2]}
        for n in range(4)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def answer(body):
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
        return {"reason": "Neither is better."} if set(schema) == {"reason"} else None

    with MockServer(answer=answer) as server:
        yield server


def test_reasons_follow_the_measures_and_a_second_time_nothing_is_asked(server, capsys) -> None:
    arguments = [*COMMAND, f"openai/m@{server.url}", "--why", "all"]
    assert run(arguments) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("reasons: "))
    assert lines[place] == "reasons: 4 of 4 verdicts, 4 of them new: run/reasons.jsonl"
    assert lines[-1].startswith("usage of the reasons: ")
    before, count = Path("run/verdicts.jsonl").read_bytes(), len(server.requests)
    assert run(arguments) == 0
    assert "reasons: 4 of 4 verdicts, 0 of them new: run/reasons.jsonl" in capsys.readouterr().out
    assert len(server.requests) == count
    assert Path("run/verdicts.jsonl").read_bytes() == before


def test_the_budget_is_of_verdicts_and_reasons_together(server, capsys) -> None:
    arguments = [*COMMAND, f"openai/m@{server.url}", "--why", "all", "--workers", "1", "--json"]
    assert run([*arguments, "--budget", "calls=9"]) == 2
    result = json.loads(capsys.readouterr().out)
    assert sum(usage["calls"] for usage in result["stages"].values()) == 8
    assert result["why"]["status"] == "budget"
    assert sum(usage["calls"] for usage in result["why"]["stages"].values()) == 1
    assert run(arguments) == 0
    again = json.loads(capsys.readouterr().out)["why"]
    assert (again["status"], again["reasons"], again["which"]) == ("complete", 4, "all")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--why-lm", "openai/m"], "--why-lm: is for the reasons of --why, which is not there. Add --why all."),
        (["--why-below", "0.5"], "--why-below: is for the reasons of --why, which is not there. Add --why all."),
        (["--why", "all", "--explain", "case 1"], "--why: writes reasons into a run folder"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_asked(server, capsys, more, message) -> None:
    assert run([*COMMAND, f"openai/m@{server.url}", *more]) == 3
    assert message in capsys.readouterr().err
    assert not server.requests


def test_the_commands_of_the_page_run(server, capsys) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines():
        assert run(shlex.split(line.replace(" LM", f" openai/m@{server.url}"))[1:]) == 0, capsys.readouterr().err
    assert len(Path("runs/first/reasons.jsonl").read_text().splitlines()) == 4
