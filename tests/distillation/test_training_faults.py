"""What may go wrong in a training: each is said in words, leaves nothing half-written that counts, and can go on."""

import errno
import json

import numpy as np
import pytest
from tiny_students import label_rows, tiny_recipe, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.base_model import open_base
from dicast.distillation.tail_student import TailStudent
from dicast.distillation.train import train
from dicast.errors import DeclarationError, ModelError, RunError

pytestmark = [pytest.mark.torch, pytest.mark.fault]
FULL = "[enforce fail at inline_container.cc] PytorchStreamWriter failed: No space left on device"


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    torch_or_skip()
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", num_hidden_layers=2)


@pytest.fixture
def rows(tmp_path):
    return write_set(tmp_path / "set", label_rows(24))


def losses(out):
    lines = map(json.loads, (out / "log.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


def out_of_memory(kind):
    torch, _ = torch_or_skip()
    return {"cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), "host": MemoryError()}[
        kind
    ]


@pytest.mark.parametrize("kind", ["cuda", "host"])
@pytest.mark.parametrize("method", ["lora", "tail"])
def test_memory_that_runs_out_leaves_no_student(base, rows, tmp_path, monkeypatch, kind, method):
    _, transformers = torch_or_skip()

    def fail(*_, **__):
        raise out_of_memory(kind)

    monkeypatch.setattr(transformers.LlamaForCausalLM, "forward", fail)
    monkeypatch.setattr(TailStudent, "last_states", fail)
    with pytest.raises(DeclarationError, match="ran out of memory. Set gradient_checkpointing"):
        train(tiny_recipe(base, method=method), rows, tmp_path / "out")
    assert not (tmp_path / "out" / "student").exists()


@pytest.mark.parametrize("method", ["lora", "tail"])
def test_a_disk_that_is_full_at_a_checkpoint_is_said_and_the_training_goes_on_later(
    base, rows, tmp_path, monkeypatch, method
):
    """The second checkpoint does not fit: the first one, of step 1, is taken up again, with the same losses."""
    torch, _ = torch_or_skip()
    recipe = tiny_recipe(base, method=method, packing=False, save_minutes=1e-9)
    train(recipe, rows, tmp_path / "whole")
    save, saved = torch.save, []

    def full(content, file, *more, **options):
        saved.append(file)
        if len(saved) > (4 if method == "lora" else 1):  # optimizer, schedule, random state and arguments, or one file
            raise OSError(errno.ENOSPC, "No space left on device") if method == "lora" else RuntimeError(FULL)
        save(content, file, *more, **options)

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(RunError, match="cannot be written"):
        train(recipe, rows, tmp_path / "out")
    monkeypatch.setattr(torch, "save", save)
    assert not (tmp_path / "out" / "student").exists()
    steps = []
    train(recipe, rows, tmp_path / "out", on_progress=lambda progress: steps.append(progress.step))
    assert steps == [2, 3, 4, 5, 6]
    assert losses(tmp_path / "out") == pytest.approx(losses(tmp_path / "whole"), rel=1e-5)


def test_a_gguf_file_without_a_tokenizer_is_refused(tmp_path, monkeypatch):
    """A whole model, whose file says nothing of tokens."""
    torch_or_skip()
    from gguf import GGUFWriter

    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    writer = GGUFWriter(tmp_path / "tiny.gguf", "llama")
    writer.add_block_count(1)
    writer.add_embedding_length(8)
    writer.add_context_length(64)
    writer.add_feed_forward_length(16)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tensor("token_embd.weight", np.ones((16, 8), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ModelError, match=r"tiny.gguf: transformers cannot read it \("):
        open_base(str(tmp_path / "tiny.gguf"))
    assert not list((tmp_path / "home" / "models").glob("*/config.json"))
