"""What a cut GGUF file holds: which tensors and metadata of its source, and in which form.

Models of the architectures llama and qwen2 become `llama-embed`, llama.cpp's form of llama that computes no logits:
states are the same bit for bit, in less time and less than half of the memory. qwen2 differs from llama
in the order of the rows of queries and keys, as rotary positions pair neighbouring rows in the former and halves in the
latter; the rows are put in llama's order (llama.cpp's conversion from Hugging Face's order, convert_hf_to_gguf.py,
`permute`). Their blocks are written as float16, as long as these are not more than 4 GB: llama.cpp reads them faster
than most 4-bit types, and without rounding the activations to 8 bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

# Architectures whose unembedding matrix llama.cpp takes from the token embeddings where the file has none.
TIED = frozenset({"llama", "qwen2", "qwen3"})
WITHOUT_LOGITS = frozenset({"llama", "qwen2"})
MOST_FLOAT16 = 2_000_000_000  # numbers of the blocks that are written as float16


@dataclass(frozen=True)
class CutTensor:
    """A tensor to write.

    Attributes:
        shape, dtype, bytes: of the array that is written, in numpy's order.
        type: its number type in GGUF.
    """

    source: Any
    name: str
    shape: tuple[int, ...]
    dtype: Any
    bytes: int
    type: Any
    heads: int  # whose rows are put in another order; 0: as they are

    def data(self) -> Any:
        """The array to write."""
        from gguf import dequantize

        array = self.source.data
        if self.type != self.source.tensor_type:
            array = dequantize(array, self.source.tensor_type).astype(np.float16)
        return neighbours_paired(array, self.heads) if self.heads else array


class CutForm:
    """The cut of an opened GGUF file.

    Args:
        reader: a `gguf.GGUFReader`.
        layer: blocks that are kept.
        unconverted: keep architecture and number types.
    """

    def __init__(self, reader: Any, layer: int, *, unconverted: bool = False) -> None:
        self._reader, self._layer = reader, layer
        self._source = str(self._value("general.architecture"))
        self._is_lean = not unconverted and self._source in WITHOUT_LOGITS and not self._of_model("expert_count")
        self.architecture = "llama-embed" if self._is_lean else self._source

    @property
    def size(self) -> int:
        """Bytes of the tensors."""
        return sum(tensor.bytes for tensor in self.tensors)

    @cached_property
    def tensors(self) -> list[CutTensor]:
        """What is written, in the source's order."""
        return [self._tensor(tensor) for tensor in self._reader.tensors if self._is_kept(tensor.name)]

    def metadata(self) -> Iterator[tuple[str, Any, list[Any]]]:
        """Names, values and GGUF types; the number of blocks is that of the cut, and lists of a value a block too."""
        depth = self._of_model("block_count")
        for name, field in self._reader.fields.items():
            if name.startswith("GGUF.") or name == "general.architecture":
                continue
            value = field.contents()
            key = name.removeprefix(f"{self._source}.")
            if key == "block_count":
                value = self._layer
            elif key != name and isinstance(value, list) and len(value) == depth:
                value = value[: self._layer]
            yield (name if key == name else f"{self.architecture}.{key}"), value, field.types

    def _is_kept(self, tensor: str) -> bool:
        if tensor.startswith("blk."):
            return int(tensor.split(".")[1]) < self._layer
        return tensor != "output.weight" or not (self._is_lean or self._source in TIED)

    def _tensor(self, tensor: Any) -> CutTensor:
        from gguf import GGMLQuantizationType

        kind, shape, dtype, size = tensor.tensor_type, tensor.data.shape, tensor.data.dtype, tensor.data.nbytes
        if self._as_float16 and _is_matrix_of_block(tensor) and kind != GGMLQuantizationType.F32:
            kind, shape, dtype = GGMLQuantizationType.F16, tuple(int(n) for n in tensor.shape[::-1]), np.float16
            size = 2 * int(tensor.n_elements)
        return CutTensor(tensor, tensor.name, shape, dtype, int(size), kind, self._heads_to_order(tensor.name))

    @cached_property
    def _as_float16(self) -> bool:
        names = (tensor for tensor in self._reader.tensors if self._is_kept(tensor.name))
        return self._is_lean and sum(int(t.n_elements) for t in names if _is_matrix_of_block(t)) <= MOST_FLOAT16

    def _heads_to_order(self, tensor: str) -> int:
        if not (self._is_lean and self._source == "qwen2"):
            return 0
        part = tensor.split(".")[-2]
        keys = {"attn_q": "attention.head_count", "attn_k": "attention.head_count_kv"}
        return int(self._of_model(keys[part])) if part in keys else 0

    def _of_model(self, key: str) -> Any:
        return self._value(f"{self._source}.{key}")

    def _value(self, name: str) -> Any:
        field = self._reader.fields.get(name)
        return None if field is None else field.contents()


def _is_matrix_of_block(tensor: Any) -> bool:
    return bool(tensor.name.startswith("blk.") and len(tensor.shape) == 2)


def neighbours_paired(array: Any, heads: int) -> Any:
    """The rows of each head in the order first, first of the second half, second, second of the second half, ...

    Example:
        >>> neighbours_paired(np.arange(8), heads=2).tolist()
        [0, 2, 1, 3, 4, 6, 5, 7]
    """
    halves = array.reshape(heads, 2, array.shape[0] // heads // 2, *array.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(array.shape))
