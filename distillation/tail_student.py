"""A base with low-rank matrices that are trained on the tails of prompts alone.

A pass over tails computes the layers from the first with matrices on; what is below it, and the keys and values of
what is before the tail, is the base's and was kept (`kept_prefixes`). So a step costs the tail's tokens, some twenty a
prompt, and the gradient reaches nothing else.
"""

import copy
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..engines.torch_models.adapter_files import CONFIG, MATRICES
from ..engines.torch_models.low_rank import DOWN, PREFIX, UP, LowRank
from ..engines.torch_models.network import Network
from ..engines.torch_models.weights import write_base
from ..errors import ModelError
from .kept_prefixes import TailBatch

PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class TailStudent:
    """Low-rank matrices beside the projections of layers, in fp32, and the pass that trains them.

    Args:
        network: of the base, whose weights are frozen.
        layers: the first with matrices, from 0, and the one after the last.
        rank: of the matrices.
        alpha: their product is scaled by alpha / rank.
        seed: of what the first matrices begin with; the second ones begin with 0.

    Raises:
        ModelError: the layers have no projections of the usual names.
    """

    def __init__(self, network: Network, layers: tuple[int, int], *, rank: int, alpha: float, seed: int) -> None:
        torch = self.torch = network.torch
        self.network, self.layers, self.rank, self.alpha = network, layers, rank, alpha
        network.model.requires_grad_(False)
        generator = torch.Generator().manual_seed(seed)
        pairs = {}
        for name, layer in _projections(network, layers).items():
            outputs, inputs = layer.weight.shape
            down = torch.randn(rank, inputs, generator=generator) / math.sqrt(inputs)
            up = torch.zeros(outputs, rank)
            pairs[name] = tuple(torch.nn.Parameter(values.to(network.device)) for values in (down, up))
        self.low_rank = LowRank(network.model, pairs, alpha / rank)
        self._upper = self._cut()

    @property
    def parameters(self) -> list[Any]:
        """The matrices, in the order of their names."""
        return [matrix for name in sorted(self.low_rank.pairs) for matrix in self.low_rank.pairs[name]]

    def last_states(self, batch: TailBatch) -> Any:
        """The states after the last layer at the tails' last tokens, with the final norm: (rows, width)."""
        network = self.network
        cache = network._transformers.DynamicCache(config=network.config)
        for number, (keys, values) in enumerate(batch.layers, start=self.layers[0]):
            cache.update(keys, values, number)

        def enter(module: Any, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
            return (batch.states, *inputs[1:])

        hook = self._upper.layers[0].register_forward_pre_hook(enter)
        try:
            with self.low_rank.acting():
                output = self._upper(
                    batch.ids,
                    attention_mask=batch.mask,
                    position_ids=batch.places,
                    past_key_values=cache,
                    use_cache=True,
                )
        finally:
            hook.remove()
        return output.last_hidden_state[:, -1]

    def log_probabilities(self, batch: TailBatch, tokens: Sequence[int]) -> Any:
        """Of these tokens to come after the tails, fp32 (rows, tokens).

        The logits of the tokens are computed in fp32; those of the others, which count in the normaliser, in the
        model's number type.
        """
        states = self.last_states(batch)
        exact = self.network.logits(states, tokens)
        others = self.network._scaled(self.network.model.get_output_embeddings()(states).float())
        columns = self.torch.tensor(list(tokens), device=others.device)
        normaliser = others.index_fill(-1, columns, -math.inf).logsumexp(-1, keepdim=True)
        return exact - self.torch.logaddexp(exact.logsumexp(-1, keepdim=True), normaliser)

    def save(self, folder: Path, base: str, marker: Sequence[int]) -> None:
        """Write the adapter as peft does, with the tokens from which on it acts."""
        from safetensors.torch import save_file

        tensors = {}
        for name, pair in self.low_rank.pairs.items():
            for end, matrix in zip((DOWN, UP), pair, strict=True):
                tensors[f"{PREFIX}{name}{end}"] = matrix.detach().cpu().contiguous()
        save_file(tensors, folder / MATRICES, metadata={"format": "pt"})
        config = {
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
            "base_model_name_or_path": base,
            "r": self.rank,
            "lora_alpha": self.alpha,
            "lora_dropout": 0.0,
            "bias": "none",
            "target_modules": sorted({name.rpartition(".")[2] for name in self.low_rank.pairs}),
            "layers_to_transform": list(range(*self.layers)),
            "layers_pattern": "layers",
            "alora_invocation_tokens": list(marker),
            "inference_mode": True,
        }
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        write_base(folder, base)

    def _cut(self) -> Any:
        """The decoder from the first layer with matrices on."""
        decoder, first = copy.copy(self.network.decoder), self.layers[0]
        decoder._modules = {**decoder._modules, "layers": decoder.layers[first:]}
        if getattr(decoder.config, "layer_types", None):
            decoder.config = copy.copy(decoder.config)
            decoder.config.layer_types = decoder.config.layer_types[first:]
        return decoder


def _projections(network: Network, layers: tuple[int, int]) -> Mapping[str, Any]:
    """The linear layers that get matrices, by their names in the model."""
    inside = {id(module) for layer in network.decoder.layers[slice(*layers)] for module in layer.modules()}
    chosen = {
        name: module
        for name, module in network.model.named_modules()
        if id(module) in inside and name.rpartition(".")[2] in PROJECTIONS
    }
    if not chosen:
        raise ModelError(
            f"model {network.name!r}: layers {layers[0]} to {layers[1] - 1} of {network.depth} have none of the "
            f"projections {', '.join(PROJECTIONS)}."
        )
    return chosen
