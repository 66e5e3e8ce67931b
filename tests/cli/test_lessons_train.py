"""`dicast lessons train`: a student of a training set from the terminal; what is refused, resume, card, and its use."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tiny_students import label_rows, word_rows, write_set
from tiny_torch import save_model, torch_or_skip

from dicast import workflows
from dicast.cli import run
from dicast.engines.models import get_lm
from dicast.workflows.progress import Progress

Capsys = pytest.CaptureFixture[str]
QUICK = ["--train", "epochs=1", "--train", "global_batch=4", "--train", "packing=false"]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch_or_skip()
    pytest.importorskip("trl")
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_set(Path("words"), word_rows(12))
    write_set(Path("labels"), label_rows(12))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["words", "--preset", "cpu"], "12 of its 12 rows teach words, and the method tail learns one token alone"),
        (["labels", "--export", "gguf"], "cannot be merged"),
        (["labels", "--train", "ranks=3"], "has no field ranks"),
        (["labels", "--base", "openai/gpt-4o"], "is a server's model"),
        (["labels", "--out", "words"], "words: holds axolotl.yaml, so it is no training"),
        (["other"], "has no card.json"),
    ],
)
def test_what_cannot_be_trained_is_exit_3_and_writes_nothing(options: list[str], message: str, capsys: Capsys) -> None:
    Path("other").mkdir()
    assert run(["lessons", "train", "--base", "smollm2-135m", *options]) == 3
    assert message in " ".join(capsys.readouterr().err.split())
    assert not Path("trained").exists()


@pytest.mark.torch
def test_a_dry_run_counts_the_rows_tokens_and_memory_and_trains_nothing(base: Path, capsys: Capsys) -> None:
    assert run(["lessons", "train", "words", "--base", str(base), *QUICK, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("preset cpu-small: 12 rows, about 3 steps\n")
    assert "memory: about 0." in printed
    assert "minutes: unknown" in printed
    assert not Path("trained").exists()
    assert run(["lessons", "train", "labels", "--base", str(base), "--dry-run", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["preset"], shown["estimate"]["rows"]) == ("cpu", 12)
    assert shown["estimate"]["learnt_tokens"] == 24  # a label a row, in two epochs


@pytest.mark.torch
def test_a_trained_student_is_a_model_with_a_card_and_the_same_command_returns_it(base: Path, capsys: Capsys) -> None:
    command = ["lessons", "train", "words", "--base", str(base), *QUICK, "--export", "merged"]
    assert run(command) == 0
    printed = capsys.readouterr()
    student = Path("trained/words/student").resolve()
    assert f"student: --lm transformers/{student}\n" in printed.out
    assert "serve: vllm serve " in printed.out
    assert "training  step 3 of 3, loss " in printed.err
    card = Path("trained/words/student/README.md").read_text()
    for words in ("# words", "- not tested on people's labels yet", "| rows | 12 |", '"one_token": 0'):
        assert words in card
    assert get_lm(f"transformers/{student}", cache=False) is not None
    assert run([*command, "--json"]) == 0
    again = capsys.readouterr()
    assert json.loads(again.out)["model"] == f"transformers/{student}"
    assert "step 3" not in again.err
    assert run([*command, "--train", "rank=2"]) == 3
    assert "holds a training with another recipe" in capsys.readouterr().err


@pytest.mark.torch
def test_a_training_that_is_stopped_continues_after_its_last_step(base: Path) -> None:
    stop, lines = threading.Event(), list[str]()

    class Stopping(Progress):
        def step(self, name: str, text: str) -> None:
            lines.append(text.partition(",")[0])
            stop.set()

    fixed: dict[str, Any] = {"base": str(base), "training": {"epochs": 1, "global_batch": 4, "packing": False}}
    first = workflows.train_student("words", **fixed, progress=Stopping(), stop=stop)
    assert (first.status, lines) == ("stopped", ["step 1 of 3"])
    assert not Path("trained/words/student").exists()
    stop = threading.Event()
    second = workflows.train_student("words", **fixed, progress=Stopping())
    assert (second.status, lines) == ("complete", ["step 1 of 3", "step 2 of 3", "step 3 of 3"])
