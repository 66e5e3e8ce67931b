"""The network that is trained: the base with adapters, or the base itself."""

from pathlib import Path
from typing import Any

from ..engines.torch_models.torch_import import dtype_name, torch_and_transformers
from ..engines.torch_models.weights import write_base
from .base_model import StudentBase, load_for_training
from .training_recipe import TrainingRecipe


def precision_of(recipe: TrainingRecipe) -> str:
    """bfloat16 or float32: what the states are computed in."""
    torch, _ = torch_and_transformers("A training", "train")
    return {"auto": dtype_name(torch), "bf16": "bfloat16", "fp32": "float32"}[recipe.precision]


def attention_of(recipe: TrainingRecipe) -> str:
    """The attention of the recipe; with auto flash_attention_2 where it can run."""
    if recipe.attention != "auto":
        return recipe.attention
    torch, transformers = torch_and_transformers("A training", "train")
    can_flash = torch.cuda.is_available() and transformers.utils.is_flash_attn_2_available()
    return "flash_attention_2" if can_flash and precision_of(recipe) == "bfloat16" else "sdpa"


def open_student(base: StudentBase, recipe: TrainingRecipe) -> Any:
    """The network to train.

    All weights are trained in fp32, with products in the recipe's precision; the frozen weights below adapters are in
    that precision, and the adapters in fp32.

    Raises:
        ModelError: the base cannot be loaded.
        DeclarationError: peft is not installed, or the method cannot run on this machine.
    """
    _, transformers = torch_and_transformers("A training", "train")
    transformers.set_seed(recipe.seed)
    dtype = precision_of(recipe) if recipe.has_adapters else "float32"
    model = load_for_training(base, dtype, attention=attention_of(recipe), four_bits=recipe.method == "qlora")
    model.config.use_cache = False
    return with_adapters(model, recipe) if recipe.has_adapters else model


def with_adapters(model: Any, recipe: TrainingRecipe) -> Any:
    """The model with new LoRA adapters (arXiv 2106.09685) of all linear layers, from the recipe's first layer on."""
    import peft

    depth = model.config.get_text_config().num_hidden_layers
    first = int(depth * recipe.first_layer)
    settings = peft.LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=sorted(_linear_names(model)),
        layers_to_transform=list(range(first, depth)),
        task_type="CAUSAL_LM",
    )
    if recipe.method == "qlora":
        model = peft.prepare_model_for_kbit_training(model, use_gradient_checkpointing=recipe.gradient_checkpointing)
    return peft.get_peft_model(model, settings)


def _linear_names(model: Any) -> set[str]:
    """The last names of the linear modules of layers, such as q_proj; not of the output matrix."""
    torch, _ = torch_and_transformers("A training", "train")
    modules = model.base_model.named_modules()
    return {name.rpartition(".")[2] for name, module in modules if isinstance(module, torch.nn.Linear)}


def save_student(trainer: Any, base: StudentBase, folder: Path) -> None:
    """Write the adapters with what says whose they are, or the whole model in the base's number type; with the
    tokenizer. Every process of a training calls it: weights that are spread are gathered."""
    torch, _ = torch_and_transformers("A training", "train")
    model = trainer.accelerator.unwrap_model(trainer.model)
    is_adapter = hasattr(model, "peft_config")
    if not is_adapter and not trainer.is_fsdp_enabled and str(base.config.dtype).endswith("bfloat16"):
        model.to(torch.bfloat16)
    trainer.save_model(str(folder))
    if trainer.args.should_save:
        (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle
        base.tokenizer.save_pretrained(folder)
        if is_adapter:
            write_base(folder, base.name)
