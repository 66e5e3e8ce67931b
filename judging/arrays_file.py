"""The arrays of a judge file, `NAME.judge.safetensors` beside `NAME.judge.json`, which holds their digest.

New arrays are written beside the earlier ones, then the JSON, which makes them count, then they take the place of the
earlier ones. Wherever the writing ends, the JSON and the file with its digest are both old or both new. The format
holds numbers alone, and nothing in it is ever executed: https://github.com/huggingface/safetensors
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ..engines.jsonl import rewriting
from ..errors import DeclarationError
from ..parsing.text import read_bytes
from .arrays import Array, Kind

JSON_SUFFIX, SUFFIX, NEXT = ".judge.json", ".judge.safetensors", ".next"


def arrays_path(path: Path) -> Path:
    """The file of the arrays of a judge file.

    Example:
        >>> arrays_path(Path("compiled/tone.judge.json")).as_posix()
        'compiled/tone.judge.safetensors'
    """
    return path.with_name(path.name.removesuffix(JSON_SUFFIX) + SUFFIX)


def packed(arrays: Mapping[str, Array]) -> bytes:
    """The content of a file of these arrays; the same for equal arrays. Without arrays it is empty."""
    from safetensors.numpy import save

    return save({name: arrays[name].values for name in sorted(arrays)}) if arrays else b""


def digest_of(content: bytes) -> str:
    """SHA-256 in hex; empty of nothing."""
    return hashlib.sha256(content).hexdigest() if content else ""


def write_next(path: Path, content: bytes) -> None:
    """Write the arrays of a judge file that is about to be written.

    Args:
        path: the judge file.
        content: as of `packed`.
    """
    if content:
        with rewriting(_next(path)) as file:
            file.write(content)


def settle(path: Path, digest: str) -> None:
    """After a judge file with this digest is there: its arrays get their name, and those of an earlier one go."""
    waiting, final = _next(path), arrays_path(path)
    if digest and waiting.is_file() and digest_of(waiting.read_bytes()) == digest:
        waiting.replace(final)
    waiting.unlink(missing_ok=True)
    if not digest:
        final.unlink(missing_ok=True)


def read_arrays(path: Path, digest: str, who: str) -> dict[str, Array]:
    """The arrays of a judge file by name.

    Raises:
        DeclarationError: the file is missing, has other bytes than the digest says, or holds what is no array.
    """
    final, waiting = arrays_path(path), _next(path)
    both = f"Copy both files, {path.name} and {final.name}, or compile anew."
    places = [place for place in (final, waiting) if place.is_file()]
    if not places:
        raise DeclarationError(f"{who}: the arrays of its head, {final.name}, are missing beside it. {both}")
    for place in places:
        content = read_bytes(place, who, error=DeclarationError, advice=both)
        if digest_of(content) == digest:
            return _unpacked(content, f"{who}: {final.name}")
    raise DeclarationError(f"{who}: {final.name} has other bytes than it had when the judge was saved. {both}")


def _unpacked(content: bytes, who: str) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return {name: Array.of(values, cast(Kind, values.dtype.name)) for name, values in load(content).items()}
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DeclarationError(f"{who}: holds no arrays of numbers ({str(error)[:200]}). Compile anew.") from None


def _next(path: Path) -> Path:
    final = arrays_path(path)
    return final.with_name(final.name + NEXT)
