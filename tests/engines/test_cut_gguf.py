"""GGUF files cut after a block: what is kept, what is refused, and what a kill leaves."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny_gguf import write_tiny_gguf

from dicast.engines.gguf import model_shape
from dicast.engines.states import cut_gguf
from dicast.engines.states.cut_gguf import cut_after, cut_path, cuts_of, sha256_of
from dicast.errors import ModelError

gguf = pytest.importorskip("gguf")


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return write_tiny_gguf(tmp_path / "tiny.gguf")


def cut(source, layer=2):
    return cut_after(source, layer, sha256_of(source))


def tensors_of(path):
    return {tensor.name: tensor.data.copy() for tensor in gguf.GGUFReader(path).tensors}


def test_the_blocks_below_are_the_same_bytes_and_those_above_are_gone(source):
    before, after = tensors_of(source), tensors_of(cut(source))
    assert set(after) == {"token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "blk.1.attn_q.weight"}
    assert all(np.array_equal(before[name], after[name]) for name in after)


def test_the_metadata_are_those_of_a_model_of_so_many_blocks(source):
    path = cut(source)
    assert model_shape(source).depth == 4
    assert model_shape(path).depth == 2
    fields = gguf.GGUFReader(path).fields
    assert fields["llama-embed.attention.head_count"].contents() == [2, 2]
    assert not any(name.startswith("llama.") for name in fields)
    assert fields["tokenizer.ggml.tokens"].contents() == ["<s>", "a", "b"]


def test_an_architecture_that_needs_its_unembedding_keeps_it(tmp_path, source):
    other = write_tiny_gguf(tmp_path / "other.gguf", architecture="falcon")
    assert "output.weight" in tensors_of(cut(other))


def test_a_cut_file_is_used_again_until_it_changes(source):
    path = cut(source)
    first = path.stat().st_mtime_ns
    assert cut(source).stat().st_mtime_ns == first
    with path.open("r+b") as file:
        file.write(b"damaged!")
    assert cut(source).read_bytes()[:4] == b"GGUF"


def test_another_file_of_the_same_name_gets_its_own_cut(source):
    first = cut(source)
    write_tiny_gguf(source, seed=1)
    second = cut(source)
    assert first != second
    assert cuts_of(source) == sorted([first, second])


def test_a_source_of_another_digest_is_not_cut(source):
    with pytest.raises(ModelError, match="its SHA-256 is not 000"):
        cut_after(source, 2, "0" * 64)
    assert not cut_path(source, 2, "0" * 64).exists()


@pytest.mark.parametrize("layer", [0, 4, 9])
def test_only_inner_layers_can_be_cut(source, layer):
    with pytest.raises(ModelError, match=f"has 4 blocks and cannot be cut after block {layer}"):
        cut(source, layer)


def test_a_file_that_is_no_model_is_refused_in_words(tmp_path):
    (tmp_path / "x.gguf").write_bytes(b"GGUF" + bytes(40))
    with pytest.raises(ModelError, match="not a GGUF file of a language model"):
        model_shape(tmp_path / "x.gguf")


def test_a_full_disk_leaves_no_file(source, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 100, 0))
    with pytest.raises(ModelError, match="of disk"):
        cut(source)
    assert cuts_of(source) == []


def test_a_copy_that_differs_from_its_source_is_no_cut(source, monkeypatch):
    monkeypatch.setattr(cut_gguf, "_sum", lambda data: int.from_bytes(os.urandom(8)))
    with pytest.raises(ModelError, match="not written as it should be"):
        cut(source)
    assert cuts_of(source) == []


KILLED = """
import os, sys
from pathlib import Path
from dicast.engines.states import cut_gguf
written = []
def progress(name, done, total):
    written.append(done)
    if len(written) == 2:
        os._exit(9)
source = Path(sys.argv[1])
cut_gguf.cut_after(source, 2, cut_gguf.sha256_of(source), progress)
"""


@pytest.mark.fault
def test_a_kill_while_cutting_leaves_nothing_that_looks_whole(source):
    root = str(Path(__file__).parents[3])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(source)], env=environment, check=False)
    assert killed.returncode == 9
    path = cut_path(source, 2, sha256_of(source))
    assert not path.exists()
    assert path.with_suffix(".part").exists()
    assert cut(source) == path
    assert set(tensors_of(path)) >= {"blk.1.attn_q.weight"}
    assert not path.with_suffix(".part").exists()
