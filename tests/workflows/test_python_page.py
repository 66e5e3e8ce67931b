"""docs/python.md: its code and commands run unchanged, one after the other."""

import asyncio
import re
import shlex
from pathlib import Path

import pytest

import dicast
from dicast.cli import run as command
from dicast.testing import MockServer

PAGE = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"```(python|sh)\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path))
    with MockServer() as server:
        names = {"LM": server.model_string(), "dicast": dicast}
        for kind, code in BLOCKS:
            if kind == "python":
                exec(compile(code, "docs/python.md", "exec"), names)
            else:
                commands = [line.replace("--lm LM", f"--lm {names['LM']}") for line in code.splitlines()]
                asked = len(server.requests)
                assert [command(shlex.split(line)[1:]) for line in commands] == [0, 0]
                assert len(server.requests) == asked  # the folder of Python's run was whole
    assert asyncio.run(names["main"]()).status == "complete"
    assert names["run"].path == Path("runs/first")
    assert len(names["records"]) == 2
    assert Path("report.md").exists()
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("name", re.findall(r"`dicast\.(\w+)\(", PAGE))
def test_every_function_of_the_page_is_in_the_package(name):
    assert callable(getattr(dicast, name))
