"""Without a home folder that can be written, as in a container: every verb works, or one line says what to set."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dicast.errors import DeclarationError
from dicast.paths import home
from dicast.testing import MockServer

ROW = {"query": "q", "response_a": "longer", "response_b": "x", "label": "a"}
FOLDERS = ("HOME", "DICAST_HOME", "XDG_CACHE_HOME", "DSPY_CACHEDIR", "DICAST_ANSWERS", "DICAST_DATA")


@pytest.fixture
def dicast(tmp_path):
    """A command line whose home folder cannot be made: it lies below a file, which stops a superuser as well."""
    (tmp_path / "file").write_text("")
    (tmp_path / "pairs.jsonl").write_text(json.dumps(ROW) + "\n")
    environment = {name: value for name, value in os.environ.items() if name not in FOLDERS}
    environment |= {"HOME": str(tmp_path / "file" / "home"), "TMPDIR": str(tmp_path)}

    def command(
        *arguments: str, python: tuple[str, ...] = ("-m", "dicast"), **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *python, *arguments],
            cwd=tmp_path, env=environment | more, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return command


@pytest.mark.slow
def test_verbs_that_need_no_store_work(dicast, tmp_path):
    code = "import sys\nfrom dicast.cli import run\nsys.exit(max(run(verb.split()) for verb in sys.argv[1:]))"
    done = dicast("list", "models list", "data list", "reproduce --list", python=("-c", code))
    assert (done.returncode, done.stderr) == (0, "")
    done = dicast("judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / ".dspy_cache").exists()


@pytest.mark.slow
def test_a_judge_goes_on_without_stored_answers_and_says_so(dicast, tmp_path):
    with MockServer() as server:
        lm = ["--lm", f"openai/m@{server.url}"]
        done = dicast("judge", "--cases", "pairs.jsonl", "--out", "out", *lm)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "answers are not stored" in line
    assert "DICAST_ANSWERS" in line
    assert json.loads((tmp_path / "out" / "verdicts.jsonl").read_text())["status"] == "scored"


@pytest.mark.parametrize("arguments", [["models", "get", "smollm2-135m"], ["judge", "--cases", "pairs.jsonl"]])
def test_what_needs_the_store_names_the_variable_in_one_line(dicast, arguments):
    done = dicast(*arguments)
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if "DICAST_HOME" in line]
    assert line.startswith("dicast: ")
    assert "Traceback" not in done.stderr


def test_check_names_the_variable(dicast):
    done = dicast("check", "--json")
    assert done.returncode == 3
    (store,) = [item for item in json.loads(done.stdout) if item["name"] == "store"]
    assert not store["ok"]
    assert "set DICAST_HOME" in store["text"]


def test_a_user_without_a_home_is_named_the_variable(monkeypatch):
    for name in FOLDERS:
        monkeypatch.delenv(name, raising=False)

    def no_home(*_: object) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(DeclarationError, match="Set DICAST_HOME to a folder"):
        home()
    monkeypatch.setenv("DICAST_HOME", "~nobody-of-this-name/x")
    with pytest.raises(DeclarationError, match="Set DICAST_HOME to a folder"):
        home()
    monkeypatch.setenv("DICAST_HOME", "here")
    assert home() == Path("here")


@pytest.mark.skipif(sys.platform == "win32", reason="no ulimit")
def test_few_open_files_are_enough(tmp_path):
    (tmp_path / "pairs.jsonl").write_text(json.dumps(ROW) + "\n")
    with MockServer() as server:
        script = (
            f'ulimit -n 40; exec "{sys.executable}" -m dicast judge --cases pairs.jsonl --out out '
            f"--lm openai/m@{server.url}"
        )
        environment = os.environ | {"DICAST_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
    assert done.returncode in (0, 3)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or len(done.stderr.splitlines()) == 1
