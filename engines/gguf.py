"""What a GGUF file says of itself: its control tokens, such as `<|im_end|>`, and the shape of its model.

Only the metadata are read, which come before the weights (format: ggml-org/ggml, docs/gguf.md); 0.1 s for 150,000
tokens.
"""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..errors import ModelError

CONTROL = 3  # of tokenizer.ggml.token_type, as llama.cpp's LLAMA_TOKEN_TYPE_CONTROL
TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
TEXT, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@lru_cache(maxsize=8)
def control_tokens(path: Path) -> frozenset[str]:
    """The control tokens that the file lists; empty where its metadata cannot be read."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            metadata = _Metadata(content).read()
    except (OSError, ValueError, struct.error):
        return frozenset()
    tokens, types = metadata.get(TOKENS, ()), metadata.get(TYPES, ())
    return frozenset(
        token.decode("utf-8", "replace") for token, kind in zip(tokens, types, strict=False) if kind == CONTROL
    )


@dataclass(frozen=True)
class ModelShape:
    """The architecture by llama.cpp's name, blocks, numbers a state has, and tokens that the model was trained on."""

    architecture: str
    depth: int
    width: int
    context: int


def model_shape(path: Path) -> ModelShape:
    """The shape of the model in a GGUF file.

    Raises:
        ModelError: no GGUF file, or its metadata do not say.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            metadata = _Metadata(content).read()
        name = metadata["general.architecture"].decode()
        keys = ("block_count", "embedding_length", "context_length")
        return ModelShape(name, *(int(metadata[f"{name}.{key}"]) for key in keys))
    except (OSError, ValueError, struct.error, KeyError, AttributeError) as error:
        raise ModelError(f"{path}: not a GGUF file of a language model ({error}). Give a .gguf file.") from None


class _Metadata:
    """Reads values one after the other."""

    def __init__(self, content: mmap.mmap) -> None:
        self.content, self.place = content, 0

    def read(self) -> Mapping[str, Any]:
        """Every key with its value.

        Raises:
            ValueError, struct.error: no GGUF file of version 2 or 3, or a damaged one.
        """
        magic, version, _, count = self._numbers("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"not a GGUF file of version 2 or 3 ({magic!r}, {version})")
        return {self._text().decode("utf-8", "replace"): self._value(self._numbers("I")[0]) for _ in range(count)}

    def _value(self, kind: int) -> Any:
        if kind == TEXT:
            return self._text()
        if kind != ARRAY:
            return self._numbers(_format(kind))[0]
        kind, count = self._numbers("IQ")
        if count > len(self.content):
            raise ValueError(f"an array of {count} values in {len(self.content)} bytes")
        if kind == TEXT:
            return [self._text() for _ in range(count)]
        return self._numbers(f"{count}{_format(kind)}")

    def _text(self) -> bytes:
        (length,) = self._numbers("Q")
        start, self.place = self.place, self.place + length
        if self.place > len(self.content):
            raise ValueError(f"a text of {length} bytes in {len(self.content)} bytes")
        return self.content[start : self.place]

    def _numbers(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{form}", self.content, self.place)
        self.place += struct.calcsize(f"<{form}")
        return values


def _format(kind: int) -> str:
    if kind not in NUMBERS:
        raise ValueError(f"unknown type {kind}")
    return NUMBERS[kind]
