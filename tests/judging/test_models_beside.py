"""A judge file whose model lies in its own folder: moved as a whole it names the model there, and other weights are
refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from dicast.errors import DeclarationError
from dicast.judging import Judge, build
from dicast.judging.judge_file import fingerprint, load, read, save

CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 4.0, "base_model_name_or_path": "smollm2-135m"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A judge file with an adapter's folder below it."""
    adapter = tmp_path / "out" / "training" / "student"
    adapter.mkdir(parents=True)
    (adapter / "adapter_config.json").write_text(json.dumps(CONFIG))
    save_file({"a": np.ones(3, np.float32)}, adapter / "adapter_model.safetensors")
    path = tmp_path / "out" / "student.judge.json"
    save(judge_of(adapter), path)
    return path


def judge_of(adapter: Path) -> Judge:
    return build("direct", grading="pairwise", readout="probability").bind(f"transformers/{adapter.resolve()}")


def models(judge: Judge) -> set[str]:
    return {stage.model for stage in judge.stages()}


def test_a_moved_folder_names_its_model_where_it_is_now(saved: Path, tmp_path: Path) -> None:
    assert json.loads(saved.read_text())["judge"]["lm"] == {"judge": "transformers/./training/student"}
    before = fingerprint(saved)
    moved = saved.parent.rename(tmp_path / "elsewhere")
    path = moved / saved.name
    assert models(load(path)) == {f"transformers/{(moved / 'training' / 'student').resolve()}"}
    assert fingerprint(path) == before
    save(load(path), tmp_path / "copy.judge.json")  # the copy finds the folder below it
    assert models(load(tmp_path / "copy.judge.json")) == models(load(path))


def test_other_weights_in_the_place_are_refused(saved: Path) -> None:
    adapter = saved.parent / "training" / "student"
    save_file({"a": np.zeros(3, np.float32)}, adapter / "adapter_model.safetensors")
    with pytest.raises(DeclarationError, match=r"the weights in \./training/student are not those"):
        load(saved)


def test_a_card_beside_the_weights_changes_nothing(saved: Path) -> None:
    (saved.parent / "training" / "student" / "README.md").write_text("# student\n")
    assert models(load(saved))


def test_a_file_without_its_folder_is_answered_by_another_model(saved: Path, tmp_path: Path) -> None:
    alone = shutil.copy(saved, tmp_path / "alone.judge.json")
    assert models(load(alone)) == {"transformers/./training/student"}
    assert models(load(alone, lm="transformers/smollm2-135m")) == {"transformers/smollm2-135m"}


def test_a_model_that_lies_elsewhere_keeps_its_whole_path(saved: Path, tmp_path: Path) -> None:
    adapter = saved.parent / "training" / "student"
    path = tmp_path / "other" / "x.judge.json"
    save(judge_of(adapter), path)
    assert json.loads(path.read_text())["judge"]["lm"] == {"judge": f"transformers/{adapter.resolve()}"}
    assert not read(path).weights
