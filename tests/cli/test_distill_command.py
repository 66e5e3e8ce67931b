"""`dicast distill`: estimates, exit codes, JSON, what is refused, and the commands of its page."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from quality_server import quality_pairs, quality_server

import dicast
from dicast.cli import group, run
from dicast.distillation import estimate
from dicast.distillation.trained_model import TrainedModel
from dicast.judging.judge_file import load
from dicast.optimizers.evidence import Interrupted, ProgressCallbacks
from dicast.optimizers.recipe import Parts
from dicast.testing import MockServer
from dicast.workflows import distillations

PAGE = Path(dicast.__file__).parent / "docs" / "distilling.md"
PARTS = Parts(train=0.3, select=0.25, certify=0, test=0.45)


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with quality_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, cases in (("labels", quality_pairs(120)), ("more", quality_pairs(20, labelled=False, start=500))):
        rows = []
        for case in cases:
            texts = {f"response_{side}": text.text for side, text in zip("ab", case.candidates, strict=True)}
            label = {"label": str(case.label.winner)} if case.label else {}
            rows.append({"id": case.id, "query": case.query} | texts | label)
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def scripted(server: MockServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """In place of a training: a model of the server; `stops` calls stop before they are through."""
    state: dict[str, Any] = {"model": "student", "stops": 0}

    def trainer(recipe: Any, folder: Path) -> Any:
        def trained(set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
            state["stops"] -= 1
            if state["stops"] >= 0:
                raise Interrupted
            return TrainedModel(model=server.model_string(state["model"]), figures={"loss": 0.5})

        return trained

    monkeypatch.setattr(distillations, "local_trainer", trainer)
    monkeypatch.setattr(distillations, "base_model_string", lambda base, states: server.model_string(base))
    return state


def distill(server: MockServer, *more: str) -> int:
    fixed = ["distill", "direct", "--cases", "labels.jsonl", "--lm", server.model_string("teacher"), "--base", "base"]
    return run([*fixed, *more])


@pytest.mark.slow
def test_an_accepted_student_is_exit_0_with_its_files(
    server: MockServer, scripted: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert distill(server, "--unlabelled", "more.jsonl", "--json", "--margin", "0.1") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["acceptance"]["outcome"] == "accepted"
    assert shown["training"] == {"loss": 0.5}
    folder = Path("distilled/direct-labels")
    assert shown["judge"] == str(folder / "student.judge.json")
    assert load(folder / "student.judge.json").head is None  # the select part has 18 labels, too few for a head
    assert (folder / "set" / "card.json").is_file()
    assert "The student may replace its teacher" in (folder / "report.html").read_text()


def test_a_stopped_training_is_exit_130_and_the_same_command_continues_to_a_rejection(
    server: MockServer, scripted: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    scripted |= {"model": "poor", "stops": 1}
    assert distill(server) == 130
    assert not Path("distilled/direct-labels/student.judge.json").exists()
    assert distill(server) == 1
    assert "rejected by accuracy: not worse than teacher by 0.05: contradicted" in capsys.readouterr().out


def test_a_dry_run_counts_and_asks_nothing(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Parts of 120: train 42, select 18, test 60; the teacher judges 20 more cases and the test part, a pair by 4
    calls; the probe's student reads two texts a case of train, select, test and lessons."""
    before = len(server.requests)
    options = ["--mode", "probe", "--unlabelled", "more.jsonl", "--dry-run", "--json"]
    fixed = ["distill", "direct", "--cases", "labels.jsonl", "--lm", server.model_string("teacher")]
    assert run([*fixed, "--base", "local/smollm2-135m", *options]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["parts"] == {"train": 42, "select": 18, "test": 60}
    calls = {row["name"]: (row["cases"], row["calls"]) for row in shown["judging"]}
    assert calls["teacher"] == (80, 320)
    assert calls["student"] == (140, 280)
    assert len(server.requests) == before
    assert not Path("distilled").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--mode", "probe"], "nothing is trained; the student's head learns from 60 labelled cases (train, select)"),
        (
            ["--mode", "probe", "--unlabelled", "more.jsonl"],
            "nothing is trained; the student's head learns from 60 labelled cases (train, select), and from 20 that "
            "the teacher labels",
        ),
        (
            ["--unlabelled", "more.jsonl"],
            "the student is trained on 62 cases; its head learns from 18 labelled cases (select)",
        ),
    ],
)
@pytest.mark.usefixtures("scripted")
def test_a_dry_run_says_what_the_student_learns_from(
    options: list[str],
    sentence: str,
    server: MockServer,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Parts of 120: train 42, select 18, test 60; memory and speed, which take torch, are none of this."""
    monkeypatch.setattr(estimate, "training_memory", lambda recipe: "about 1 GiB")
    monkeypatch.setattr(estimate, "training_minutes", lambda recipe, tokens: (None, "not known"))
    assert distill(server, *options, "--dry-run") == 0
    assert f"labelled cases: train 42, select 18, test 60\n{sentence}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base", "openai/gpt-4o"], "is a server's model"),
        (["--base", "local/smollm2-135m", "--mode", "probe", "--preset", "cpu"], "a preset is of a training"),
        (["--base", "smollm2-135m", "--mode", "chain", "--targets", "labels"], "targets labels has none"),
        (["--base", "smollm2-135m", "--train", "ranks=3"], "has no field ranks"),
        (["--base", "smollm2-135m", "--export", "merged"], "cannot be merged"),
        (["--base", "smollm2-135m", "--preset", "gpu-7b-full", "--export", "adapter"], "trains all weights"),
        (["--base", "smollm2-135m", "--preset", "cpu-small", "--export", "adapter,gguf"], "convert_hf_to_gguf.py"),
        (["--base", "local/smollm2-135m", "--mode", "probe", "--export", "adapter"], "no weights are trained"),
        (["--base", "smollm2-135m", "--export", "onnx"], "'onnx' is none of adapter, merged, gguf"),
    ],
)
def test_what_cannot_be_distilled_is_exit_3(
    options: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is asked or trained; here is no llama.cpp."""
    monkeypatch.setenv("DICAST_LLAMA_CPP", str(tmp_path))
    assert (
        run(["distill", "direct", "--cases", "labels.jsonl", "--lm", "openai/x@http://127.0.0.1:9/v1", *options]) == 3
    )
    assert message in capsys.readouterr().err


def test_a_chain_of_words_is_not_for_the_preset_that_learns_one_token(
    server: MockServer, scripted: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before the teacher is asked; without --preset words take cpu-small, and one token takes cpu."""
    chosen = list[str]()
    monkeypatch.setattr(distillations, "local_trainer", lambda recipe, folder: chosen.append(recipe.method))
    fixed = ["--cases", "labels.jsonl", "--lm", server.model_string("teacher"), "--base", "base", "--mode", "chain"]
    asked = len(server.requests)
    assert run(["distill", "fennec", *fixed, "--preset", "cpu"]) == 3
    assert "mode chain of 'fennec' learns words, and the method tail learns one token alone" in capsys.readouterr().err
    monkeypatch.setattr(estimate, "training_memory", lambda recipe: "about 1 GiB")
    monkeypatch.setattr(estimate, "training_minutes", lambda recipe, tokens: (None, "not known"))
    assert run(["distill", "fennec", *fixed, "--dry-run"]) == 0
    assert run(["distill", "direct", *fixed, "--dry-run"]) == 0
    assert chosen == ["lora", "tail"]
    assert len(server.requests) == asked


def test_every_command_of_the_page_is_parsed() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("dicast ")]
    assert {name for _, name, *_ in commands} == {"distill", "compile", "judge"}
    for _, name, *arguments in commands:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        assert command.make_context(name, arguments).params
