"""The code on the pages runs, from top to bottom; every page with code is run here or by a test that names it."""

import re
import shlex
import shutil
from pathlib import Path

import click
import pytest

from dicast.cli import group, run
from dicast.parsing import parse_yaml
from dicast.testing import MockServer

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LM = "openai/gpt-4o-mini"
TUTORIALS = sorted(str(path.relative_to(DOCS)) for path in (DOCS / "tutorials").glob("*.md"))
RUN = [*TUTORIALS, "rows.md"]
PARSED = {  # pages whose commands are only parsed, with why
    "index.md": "the same commands as in the tutorial of the support desk",
    "evidence.md": "its commands need weights of a local model",
    "questions.md": "its compilations are tested by tests/optimizers/criteria",
    "install.md": ".ci/install runs it",
    "persons.md": "its code goes on from a fit; tests/optimizers/test_person_fit.py has one",
    "labels.md": "the rubric below is built",
}
OUTCOMES = {"compile": (0, 1, 2), "check": (0, 1, 2, 3)}  # the mock server does not know that 2 is less than 7
MADE_BEFORE = {"fresh.jsonl": "new.jsonl", "labels.jsonl": "pairs.jsonl", "desk.yaml": "desk.yaml"}


def blocks(page):
    """Language, code and the file name that the page gives it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for match in re.finditer(r"^```(sh|python|yaml)\n(.*?)^```\n(.{0,40})", text, re.MULTILINE | re.DOTALL):
        saved = re.search(r"Save it as `([\w.-]+)`", match[3])
        yield match[1], match[2], saved[1] if saved else ""


def commands(code):
    return [shlex.split(line, comments=True) for line in code.splitlines() if line.startswith("dicast ")]


@pytest.fixture
def user(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "100")
    for sample in (DOCS / "samples").iterdir():
        shutil.copy(sample, tmp_path)


@pytest.mark.parametrize("page", RUN)
def test_the_page_runs_from_top_to_bottom(user, page, capsys):
    with MockServer() as server:
        model, names = f"openai/docs@{server.url}", {}
        for language, code, saved in blocks(page):
            code = code.replace(LM, model)
            if saved:
                Path(saved).write_text(code, encoding="utf-8")
            if language == "yaml":
                assert isinstance(parse_yaml(code, page), dict)
            if language == "python":
                exec(compile(code, page, "exec"), names)
            lines = code.splitlines() if language == "yaml" else ()
            steps = [line.partition("run: ")[2] for line in lines if "run: dicast" in line]
            for command in commands(code if language == "sh" else "\n".join(steps)):
                outcome = run(command[1:])
                assert outcome in OUTCOMES.get(command[1], (0,)) or ("--require" in command and outcome < 3), command
        for test in [name for name in names if name.startswith("test_")]:
            names[test]()
    output = capsys.readouterr()
    assert "Traceback" not in output.err
    assert "FAIL data" not in output.out


@pytest.mark.parametrize("page", PARSED)
def test_the_commands_of_the_page_are_commands(user, page):
    for name, source in MADE_BEFORE.items():
        Path(name).write_text(Path(source).read_text() if Path(source).exists() else "questions: []\n")
    for language, code, _ in blocks(page):
        for words in commands(code) if language == "sh" else ():
            for file in [word for word in words if word.endswith(".gguf")]:
                Path(file).touch()
            command, arguments, name = group, words[1:], "dicast"
            while isinstance(command, click.Group):
                name, command, arguments = command.resolve_command(click.Context(command), arguments)
            command.make_context(name, list(arguments))  # an option that is unknown raises


def test_the_rubric_of_the_labels_page_is_a_judge(user):
    (rubric,) = [code for language, code, _ in blocks("labels.md") if language == "yaml"]
    Path("support.yaml").write_text(rubric)
    assert run(["list", "support.yaml"]) == 0


def test_every_page_with_code_is_run():
    tests = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    tests.pop(Path(__file__))
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if "results" not in path.parts]
    elsewhere = {
        page for page in pages if any(f'"{page}"' in text or f"docs/{page}" in text for text in tests.values())
    }
    with_code = {page for page in pages if any(True for _ in blocks(page))}
    assert with_code - elsewhere - {*RUN, *PARSED} == set()
