"""Shell completion: what is offered, that it is fast to import, and that its lists are those of the registries."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from completion_names import REGISTRIES, registered

from dicast.cli import COMMANDS, COMPLETION, group, lessons, run
from dicast.cli.known_names import GROUPS, known_names, names_of
from dicast.optimizers import PROMPT_OPTIMIZERS

OFFER_ALL = """
import json, sys
import click
from click.shell_completion import ShellComplete
from dicast.cli import group

def commands(command, names=()):
    yield names, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from commands(command.get_command(click.Context(command), name), (*names, name))

asked = 0
for names, command in commands(group):
    for parameter in command.params:
        parameter.shell_complete(click.Context(command), "a")
        asked += 1
print(json.dumps([asked, sorted({"dspy", "torch", "scipy", "litellm", "matplotlib"} & set(sys.modules))]))
"""


def offers(*words: str) -> list[str]:
    """The texts that a shell is offered for the last word."""
    complete = ShellComplete(group, {}, "dicast", COMPLETION)
    return [item.value for item in complete.get_completions([*words[:-1]], words[-1]) if item.type == "plain"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "first"),
    [
        (("ev",), ["evaluate"]),
        (("experiment", ""), ["list", "run", "show"]),
        (("judge", "--judge", "fennec-"), ["fennec-single", "fennec-correct"]),
        (("compile", "fen"), ["fennec", "fennec-single", "fennec-correct"]),
        (("cascade", "direct", "perse-"), ["perse-pairwise"]),
        (("list", "anon"), ["anonymise"]),
        (("judge", "--cases", "panda"), ["pandalm", "pandalm-short"]),
        (("data", "get", "fed-"), ["fed-turn", "fed-dialog"]),
        (("models", "get", "smo"), ["smollm2-135m"]),
        (("judge", "--lm", "local/s"), ["local/smollm2-135m"]),
        (("judge", "--lm", "criteria=ant"), ["criteria=anthropic/"]),
        (("judge", "--why-lm", "ollama"), ["ollama/"]),
        (("experiment", "run", "pref-table-"), ["pref-table-1", "pref-table-2", "pref-table-3"]),
        (("reproduce", "uni"), ["unieval"]),
        (("compile", "direct", "--objective", "b"), ["brier", "both-orders accuracy", "balanced accuracy"]),
        (("evaluate", "--unread"), ["--unreadable"]),
    ],
)
def test_names_are_offered_where_an_argument_takes_them(words: tuple[str, ...], first: list[str]) -> None:
    assert offers(*words) == first


def test_judge_files_and_the_model_of_the_project_are_offered(here: Path) -> None:
    for name in ("tone.judge.json", "compiled/desk/direct.judge.json", "mine.yaml"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("{}")
    (here / "dicast.toml").write_text('data = "pairs.csv"\nlm = "openai/gpt-4o-mini"\n')
    assert offers("show", "") == ["tone.judge.json", "mine.yaml", "compiled/desk/direct.judge.json"]
    assert offers("judge", "--judge", "com") == ["compiled/desk/direct.judge.json"]
    assert offers("judge", "--lm", "openai/g") == ["openai/gpt-4o-mini"]
    (here / "dicast.toml").write_text("lm = [")
    assert offers("judge", "--lm", "openai/g") == []


def test_files_are_left_to_the_shell() -> None:
    complete = ShellComplete(group, {}, "dicast", COMPLETION)
    for words in (["judge", "--cases"], ["evaluate"], ["judge", "--judge"], ["check", "--judge"]):
        assert [item.type for item in complete.get_completions(words, "pa")][-1] == "file"


def test_the_lists_are_those_of_the_registries() -> None:
    known, built_in = ({kind: sorted(names) for kind, names in of.items()} for of in (known_names(), registered()))
    assert known == built_in, "run: python tests/support/completion_names.py"  # registries have the order of imports
    assert lessons._targets() == tuple(known_names()["targets"])
    groups = {kind: registry.group for kind, registry in REGISTRIES.items()}
    assert {kind: group for kind, group in GROUPS.items() if kind != "prompts"} == groups
    assert GROUPS["prompts"] == PROMPT_OPTIMIZERS.group


def test_names_of_another_package_are_offered(install: object) -> None:
    install("court", "", "[dicast.judges]\nverdictive = court:Judge\n")  # type: ignore[operator]
    assert "verdictive" in names_of("judges")


def test_no_completion_imports_a_model_library() -> None:
    done = subprocess.run([sys.executable, "-c", OFFER_ALL], capture_output=True, text=True, check=True)
    asked, heavy = json.loads(done.stdout)
    assert asked > 200
    assert heavy == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_of_a_shell_prints_its_script(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(importlib.import_module("dicast").__file__ or "").parent / "docs" / "install.md").read_text()
    assert f"{COMPLETION}={shell}_source dicast" in page
    monkeypatch.setenv(COMPLETION, f"{shell}_source")
    monkeypatch.setattr("click.shell_completion.BashComplete._check_version", staticmethod(lambda: None))
    assert run([]) == 0
    out = capsys.readouterr()
    assert f"{COMPLETION}={shell}_complete" in out.out
    assert out.err == ""


def test_every_verb_is_offered_with_its_sentence() -> None:
    items = group.shell_complete(click.Context(group), "")
    assert {item.value: item.help for item in items if item.value in COMMANDS} == COMMANDS
