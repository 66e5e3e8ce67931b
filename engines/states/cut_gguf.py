"""A GGUF file cut after a layer: what an engine needs to read the states of that layer, in less memory and time.

The blocks above, and the unembedding matrix where llama.cpp can do without, are left out; every kept tensor is the
same bytes. Tensors are copied through one after the other, the finished file is compared with its source and takes its
place in one step, so that a kill leaves no file that looks whole. Of several processes one cuts.
"""

import contextlib
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
from filelock import FileLock

from ...errors import DeclarationError, ModelError, install_hint
from ...paths import home
from ..checked_mark import stamp
from ..gguf import model_shape
from ..weights import OnProgress, silent
from ..wheel_parts import new_file

# Architectures whose unembedding matrix llama.cpp takes from the token embeddings where the file has none.
TIED = frozenset({"llama", "qwen2", "qwen3"})
CHUNK = 1 << 24  # bytes


def cut_path(source: Path, layer: int, sha256: str) -> Path:
    """Where the cut of a file of this digest is or will be: in the folder of models."""
    return home() / "models" / f"{source.stem}-{sha256[:12]}-first{layer}.gguf"


def cut_after(source: Path, layer: int, sha256: str, progress: OnProgress = silent) -> Path:
    """The file cut after so many blocks, made when it is not there yet or has changed since.

    Args:
        layer: blocks that are kept, at least 1 and fewer than the file has.
        sha256: of the source.

    Raises:
        ModelError: the source is not of this digest, it cannot be cut, or the disk has no room.
        DeclarationError: the package gguf is not installed.
    """
    target = cut_path(source, layer, sha256)
    if _is_marked(target):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):
        if _is_marked(target):
            return target
        if sha256_of(source) != sha256:
            raise ModelError(f"{source}: its SHA-256 is not {sha256}. Fetch the model again: dicast models get NAME")
        part = target.with_suffix(".part")
        part.unlink(missing_ok=True)
        try:
            _cut(source, part, layer, progress)
            _mark(part, target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ModelError(f"{target}: cannot be written ({error}). Free the disk, or set DICAST_HOME.") from None
    return target


def cuts_of(source: Path) -> list[Path]:
    """The existing cut files of a model, by layer."""
    folder = home() / "models"
    files = folder.glob(f"{source.stem}-*-first*.gguf") if folder.is_dir() else ()
    return sorted(files, key=lambda path: (int(path.stem.rpartition("first")[2]), path))


def cut_size(source: Path, layer: int) -> int:
    """Bytes that the tensors of a cut take, about the size of its file."""
    return sum(int(tensor.n_bytes) for tensor in _reader(source).tensors if _is_kept(tensor.name, layer, _arch(source)))


def _cut(source: Path, part: Path, layer: int, progress: OnProgress) -> None:
    from gguf import GGUFValueType, GGUFWriter

    reader, shape = _reader(source), model_shape(source)
    if not 1 <= layer < shape.depth:
        raise ModelError(f"{source}: has {shape.depth} blocks and cannot be cut after block {layer}.")
    tensors = [tensor for tensor in reader.tensors if _is_kept(tensor.name, layer, shape.architecture)]
    total = sum(int(tensor.n_bytes) for tensor in tensors)
    if shutil.disk_usage(part.parent).free < total + (64 << 20):
        raise ModelError(f"{part.parent}: the cut model needs {total / 2**20:,.0f} MiB of disk. Free some.")
    writer = GGUFWriter(part, shape.architecture)
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name == "general.architecture":
            continue
        kind = field.types[0]
        value = _value(name, field.contents(), layer, shape.depth, shape.architecture)
        writer.add_key_value(name, value, kind, field.types[-1] if kind == GGUFValueType.ARRAY else None)
    for tensor in tensors:
        writer.add_tensor_info(
            tensor.name, tensor.data.shape, tensor.data.dtype, tensor.data.nbytes, tensor.tensor_type
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    done = 0
    for tensor in tensors:
        writer.write_tensor_data(tensor.data)
        done += int(tensor.n_bytes)
        progress(f"cutting {source.name} after layer {layer}", done, total)
    writer.close()
    _compare(part, {tensor.name: tensor for tensor in tensors})


def _value(name: str, value: Any, layer: int, depth: int, architecture: str) -> Any:
    """A value of the metadata: the number of blocks becomes that of the cut, lists of a value a block are cut."""
    if name == f"{architecture}.block_count":
        return layer
    is_by_block = name.startswith(f"{architecture}.") and isinstance(value, list) and len(value) == depth
    return value[:layer] if is_by_block else value


def _is_kept(tensor: str, layer: int, architecture: str) -> bool:
    if tensor.startswith("blk."):
        return int(tensor.split(".")[1]) < layer
    return tensor != "output.weight" or architecture not in TIED


def _compare(part: Path, expected: Mapping[str, Any]) -> None:
    """Read the file back: the same tensors, the same bytes."""
    tensors = {tensor.name: tensor for tensor in _reader(part).tensors}
    same = tensors.keys() == expected.keys() and all(
        tensors[name].data.shape == tensor.data.shape and _bytes_of(tensors[name]) == _bytes_of(tensor)
        for name, tensor in expected.items()
    )
    if not same:
        part.unlink()
        raise ModelError(f"{part}: was not written as it should be. Is the disk damaged? Try again.")


def _bytes_of(tensor: Any) -> bytes:
    return bytes(tensor.data.tobytes())


def _reader(path: Path) -> Any:
    try:
        from gguf import GGUFReader
    except ImportError:
        raise DeclarationError(f"the states of a local model need gguf. {install_hint('local')}") from None
    return GGUFReader(path)


def _arch(path: Path) -> str:
    return model_shape(path).architecture


def _mark(part: Path, target: Path) -> None:
    """Put the finished file in its place, and say that it is whole."""
    mark = target.with_suffix(".checked")
    mark.unlink(missing_ok=True)
    part.replace(target)
    with new_file(mark) as file:
        file.write(stamp(target).encode())


def _is_marked(path: Path) -> bool:
    mark = path.with_suffix(".checked")
    with contextlib.suppress(OSError):
        return path.is_file() and mark.read_text(encoding="utf-8", errors="replace") == stamp(path)
    return False


def sha256_of(path: Path) -> str:
    """SHA-256 of a file in hex; read again only when the file changes."""
    mark = home() / "models" / f"{path.stem}-{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}.sha256"
    now = stamp(path)
    with contextlib.suppress(OSError, ValueError):
        stamp_then, digest_then = orjson.loads(mark.read_bytes())
        if stamp_then == now:
            return str(digest_then)
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    with contextlib.suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        with new_file(mark) as out:
            out.write(orjson.dumps([now, digest.hexdigest()]))
    return digest.hexdigest()
