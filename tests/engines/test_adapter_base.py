"""The base of an adapter is found where it was, and beside the adapter if both were moved; another one is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from dicast.engines.torch_models.adapter_files import read_adapter
from dicast.engines.torch_models.weights import find_torch_weights, write_base
from dicast.errors import ModelError

CONFIG = {"peft_type": "LORA", "r": 2, "lora_alpha": 4.0, "base_model_name_or_path": "base"}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a base, and an adapter that was trained there with a relative name of the base."""
    folder = tmp_path / "project"
    base, adapter = folder / "base", folder / "out" / "training" / "student"
    base.mkdir(parents=True)
    adapter.mkdir(parents=True)
    (base / "config.json").write_text("{}")
    save_file({"w": np.ones(3, np.float32)}, base / "model.safetensors")
    (adapter / "adapter_config.json").write_text(json.dumps(CONFIG))
    save_file({"a": np.ones(3, np.float32)}, adapter / "adapter_model.safetensors")
    monkeypatch.chdir(folder)
    write_base(adapter, "base")
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_base_that_was_named_by_a_relative_path_is_found_from_everywhere(project: Path) -> None:
    adapter = read_adapter(project / "out" / "training" / "student")
    assert adapter.base == str((project / "base").resolve())


def test_an_adapter_that_was_moved_with_its_base_finds_it(project: Path, tmp_path: Path) -> None:
    digest = find_torch_weights(str(project / "out" / "training" / "student")).digest
    moved = project.rename(tmp_path / "elsewhere")
    weights = find_torch_weights(str(moved / "out" / "training" / "student"))
    assert weights.base is not None
    assert (weights.base.path, weights.digest) == ((moved / "base").resolve(), digest)
    save_file({"w": np.zeros(3, np.float32)}, moved / "base" / "model.safetensors")
    with pytest.raises(ModelError, match="the adapter belongs to"):
        find_torch_weights(str(moved / "out" / "training" / "student"))


def test_an_adapter_that_was_moved_alone_says_where_its_base_was(project: Path, tmp_path: Path) -> None:
    base = (project / "base").resolve()
    (project / "out").rename(tmp_path / "out")
    (project / "base").rename(tmp_path / "another name")
    with pytest.raises(ModelError, match=f"the base of this adapter is missing. transformers/{base}: there is no such"):
        find_torch_weights(str(tmp_path / "out" / "training" / "student"))
