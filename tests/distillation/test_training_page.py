"""docs/training-students.md: its code runs as it is printed, with a tiny base in place of the named one."""

import re
import shlex
from pathlib import Path

import pytest
from tiny_students import label_rows, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.cli import run
from dicast.distillation.presets import PRESETS

PAGE = (Path(__file__).parents[2] / "docs" / "training-students.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = re.findall(r"^dicast .*$", PAGE, re.MULTILINE)
CONVERTER = "import sys\nopen(sys.argv[3], 'w').write('gguf')\n"


def test_the_presets_of_the_page_are_all_there_are():
    assert re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE) == PRESETS.names()


@pytest.mark.torch
def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    torch_or_skip()
    monkeypatch.chdir(tmp_path)
    base = save_model(tmp_path / "base", "Llama", num_hidden_layers=1)
    write_set(tmp_path / "set", label_rows(8))
    (tmp_path / "convert_hf_to_gguf.py").write_text(CONVERTER)
    monkeypatch.setenv("DICAST_LLAMA_CPP", str(tmp_path))
    assert len(COMMANDS) == 2
    for command in COMMANDS:
        assert run([*shlex.split(command.replace("smollm2-135m", str(base)))[1:], "--train", "epochs=1"]) == 0
    assert (tmp_path / "trained/set/student/README.md").is_file()
    capsys.readouterr()
    names = {}
    for block in BLOCKS:
        exec(block.replace("Qwen/Qwen3-1.7B", str(base)), names)
    shown = capsys.readouterr().out
    assert "TrainingProgress(step=1, " in shown
    lines = [line for line in shown.splitlines() if line.startswith("vllm serve ")]
    assert lines[0].startswith("vllm serve runs/student/export/merged --served-model-name my-judge ")
    assert "--lora-modules my-judge=runs/student/export/adapter" in lines[1]
    assert (tmp_path / "runs/student/export/my-judge-q8_0.gguf").is_file()
