"""A GGUF file cut after a layer: what an engine needs to read the states of that layer, in less memory and time.

The blocks above, and the unembedding matrix where llama.cpp can do without, are left out (`CutForm` says what becomes
of the others). Tensors are written one after the other, the finished file is read back and compared, and takes its
place in one step, so that a kill leaves no file that looks whole. Of several processes one cuts.
"""

import contextlib
import hashlib
import re
import shutil
import zlib
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
from .cut_form import CutForm

CHUNK = 1 << 24  # bytes
SPARE = 64 << 20  # bytes of disk that are left free


def cut_path(source: Path, layer: int, sha256: str, *, unconverted: bool = False) -> Path:
    """Where the cut of a file of this digest is or will be: in the folder of models."""
    return home() / "models" / f"{source.stem}-{sha256[:12]}-{'plain' if unconverted else 'cut'}{layer}.gguf"


def cut_after(
    source: Path, layer: int, sha256: str, progress: OnProgress = silent, *, unconverted: bool = False
) -> Path:
    """The file cut after so many blocks, made when it is not there yet or has changed since.

    Args:
        layer: blocks that are kept, at least 1 and fewer than the file has.
        sha256: of the source.
        unconverted: with the source's architecture and number types, for versions of llama.cpp that cannot load ours.

    Raises:
        ModelError: the source is not of this digest, it cannot be cut, or the disk has no room.
        DeclarationError: the package gguf is not installed.
    """
    target = cut_path(source, layer, sha256, unconverted=unconverted)
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
            _cut(source, part, layer, progress, unconverted=unconverted)
            _mark(part, target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ModelError(f"{target}: cannot be written ({error}). Free the disk, or set DICAST_HOME.") from None
    return target


def cuts_of(source: Path) -> list[Path]:
    """The existing cut files of a model, by layer."""
    names = re.compile(re.escape(source.stem) + r"-[0-9a-f]{12}-(?:cut|plain)(\d+)\.gguf")
    folder = home() / "models"
    files = [(path, names.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ())]
    return [path for _, path in sorted((int(match[1]), path) for path, match in files if match)]


def cut_size(source: Path, layer: int) -> int:
    """Bytes that the tensors of a cut take, about the size of its file."""
    reader = _reader(source)
    return CutForm(reader, layer).size


def _cut(source: Path, part: Path, layer: int, progress: OnProgress, *, unconverted: bool) -> None:
    from gguf import GGUFValueType, GGUFWriter

    depth = model_shape(source).depth
    if not 1 <= layer < depth:
        raise ModelError(f"{source}: has {depth} blocks and cannot be cut after block {layer}.")
    form = CutForm(_reader(source), layer, unconverted=unconverted)
    if shutil.disk_usage(part.parent).free < form.size + SPARE:
        raise ModelError(f"{part.parent}: the cut model needs {form.size / 2**20:,.0f} MiB of disk. Free some.")
    writer = GGUFWriter(part, form.architecture)
    for name, value, types in form.metadata():
        kind = types[0]
        writer.add_key_value(name, value, kind, types[-1] if kind == GGUFValueType.ARRAY else None)
    for tensor in form.tensors:
        writer.add_tensor_info(tensor.name, tensor.shape, tensor.dtype, tensor.bytes, tensor.type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    done, sums = 0, {}
    for tensor in form.tensors:
        data = tensor.data()
        sums[tensor.name] = _sum(data)
        writer.write_tensor_data(data)
        done += tensor.bytes
        progress(f"cutting {source.name} after layer {layer}", done, form.size)
    writer.close()
    _compare(part, sums)


def _compare(part: Path, sums: dict[str, int]) -> None:
    """Read the file back: the same tensors, the same bytes."""
    if {tensor.name: _sum(tensor.data) for tensor in _reader(part).tensors} != sums:
        part.unlink()
        raise ModelError(f"{part}: was not written as it should be. Is the disk damaged? Try again.")


def _sum(data: Any) -> int:
    return zlib.crc32(data.tobytes())


def _reader(path: Path) -> Any:
    try:
        from gguf import GGUFReader
    except ImportError:
        raise DeclarationError(f"the states of a local model need gguf. {install_hint('local')}") from None
    return GGUFReader(path)


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
