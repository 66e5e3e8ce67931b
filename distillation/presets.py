"""Recipes by name: for a 7B model on one GPU, for a small one, and for two processor cores.

The rates, epochs, schedule, batch and length of the 7B presets are those of Fennec (arXiv 2405.12163, section 4.1).
"""

from typing import Any

from ..errors import DeclarationError
from ..parsing import parse_record
from ..registry import Registry
from .training_recipe import TrainingRecipe

PRESETS: Registry[TrainingRecipe] = Registry("preset", None, "dicast.training_presets")

# LoRA and QLoRA: one GPU of 24 GB (QLoRA) to 80 GB.
GPU_7B = TrainingRecipe(
    method="lora", rank=16, alpha=32, epochs=3, global_batch=512, length=2048, gradient_checkpointing=True
)
PRESETS.add("gpu-7b", GPU_7B)
PRESETS.add("gpu-7b-qlora", GPU_7B.model_copy(update={"method": "qlora"}))
PRESETS.add("gpu-7b-full", GPU_7B.model_copy(update={"method": "full"}))  # several GPUs: accelerate, see distributed
# 1.5 to 4 billion parameters on one consumer GPU of 12 to 24 GB.
PRESETS.add(
    "gpu-small",
    TrainingRecipe(method="lora", rank=16, alpha=32, epochs=3, global_batch=64, gradient_checkpointing=True),
)
# Adapters over the question alone, whose prefix is computed once: 16 times as fast as all tokens of the top layers.
PRESETS.add(
    "cpu",
    TrainingRecipe(method="tail", rank=8, alpha=16, first_layer=0.4, epochs=2, global_batch=16, packing=False),
)
# A model of 0.1 to 0.5 billion parameters, all tokens: minutes, for tests of a pipeline.
PRESETS.add(
    "cpu-small",
    TrainingRecipe(method="lora", rank=8, alpha=16, learning_rate=2e-4, epochs=2, global_batch=16, length=1024),
)


def recipe_of(preset: str, **changes: Any) -> TrainingRecipe:
    """The recipe of a preset with other values in some of its fields.

    Raises:
        DeclarationError: no such preset, an unknown field or a wrong value.

    Example:
        >>> recipe_of("gpu-7b", base="Qwen/Qwen3-8B", method="full").highest_rate
        1e-05
    """
    fields = PRESETS.find(preset).model_dump() | changes
    unknown = sorted(set(changes) - set(TrainingRecipe.model_fields))
    if unknown:
        raise DeclarationError(
            f"preset {preset!r}: a recipe has no field {', '.join(unknown)}. "
            f"It has {', '.join(TrainingRecipe.model_fields)}."
        )
    return parse_record(TrainingRecipe, fields, f"preset {preset!r}", error=DeclarationError)
