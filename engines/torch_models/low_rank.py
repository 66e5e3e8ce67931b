"""Low-rank matrices beside linear layers (LoRA, arXiv 2106.09685), on all tokens of a pass or on some.

The layers themselves stay as they are, so that a model and its adapters share weights. Training and serving compute
with the same function: y + scale * (x A^T) B^T, in the number type of x.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ...errors import ModelError
from .adapter_files import MATRICES, AdapterFiles

PREFIX = "base_model.model."  # of peft's names; what follows names the layer in the model
DOWN, UP = ".lora_A.weight", ".lora_B.weight"


class LowRank:
    """Pairs of matrices by the name of the layer that they are beside.

    Args:
        model: which has the layers.
        pairs: (A, B) by name: (rank, inputs), (outputs, rank).
        scale: of their product.
    """

    def __init__(self, model: Any, pairs: Mapping[str, tuple[Any, Any]], scale: float) -> None:
        self.pairs, self.scale = dict(pairs), scale
        self._layers = {name: model.get_submodule(name) for name in pairs}

    @contextmanager
    def acting(self, mask: Any = None) -> Iterator[None]:
        """Inside, passes of the model compute with the matrices.

        Args:
            mask: on which tokens: (rows, tokens), booleans; all by default.
        """
        hooks = [
            layer.register_forward_hook(self._hook(*self.pairs[name], mask)) for name, layer in self._layers.items()
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()

    def _hook(self, down: Any, up: Any, mask: Any) -> Any:
        from torch.nn.functional import linear

        def add(module: Any, inputs: tuple[Any, ...], output: Any) -> Any:
            state = inputs[0]
            change = linear(linear(state, down.to(state.dtype)), up.to(state.dtype)) * self.scale
            return output + (change if mask is None else change * mask[..., None].to(change.dtype))

        return add


def load_low_rank(model: Any, files: AdapterFiles) -> LowRank:
    """The matrices of an adapter's folder, in the model's number type and on its device.

    Raises:
        ModelError: the file is no safetensors file, or the model has no such layers.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = files.folder / MATRICES
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read ({error}). Is the file whole?") from None
    names = {name.removesuffix(DOWN) for name in tensors if name.endswith(DOWN)}
    if not names or set(tensors) != {name + end for name in names for end in (DOWN, UP)}:
        raise ModelError(f"{path}: holds other tensors than pairs of lora_A and lora_B, or none.")
    pairs = {}
    for name in sorted(names):
        layer = name.removeprefix(PREFIX)
        down, up = (tensors[name + end].to(model.device, model.dtype) for end in (DOWN, UP))
        check_shapes(model, layer, down, up, files)
        pairs[layer] = (down, up)
    return LowRank(model, pairs, files.scale)


def check_shapes(model: Any, layer: str, down: Any, up: Any, files: AdapterFiles) -> None:
    """Raises ModelError where the model has no linear layer of this name and the matrices' sizes."""
    weight = None
    with suppress(AttributeError):  # no such layer
        weight = getattr(model.get_submodule(layer), "weight", None)
    sizes = (up.shape[0], down.shape[1])
    if weight is None or tuple(weight.shape) != sizes or up.shape[1] != down.shape[0]:
        has = "none of this name" if weight is None else f"one of {tuple(weight.shape)}"
        raise ModelError(
            f"{files.folder}: the adapter changes a layer {layer!r} of {sizes}; its base {files.base} has {has}."
        )


def last_place(tokens: tuple[int, ...], marker: tuple[int, ...]) -> int:
    """Where a marker begins for the last time; the number of tokens where it does not occur.

    Example:
        >>> last_place((5, 1, 2, 7, 1, 2, 3), (1, 2)), last_place((5, 1), (1, 2))
        (4, 2)
    """
    for place in range(len(tokens) - len(marker), -1, -1):
        if tokens[place : place + len(marker)] == marker:
            return place
    return len(tokens)
