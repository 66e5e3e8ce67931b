"""The model that a student begins as: its files, checked before anything is trained."""

import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..engines.torch_models.torch_import import quiet, torch_and_transformers
from ..engines.torch_models.weights import find_torch_weights
from ..engines.weights import OnProgress, silent
from ..errors import DeclarationError, ModelError
from ..parsing import read_text

WRITES = re.compile("CausalLM|LMHead|ConditionalGeneration")  # in the names of classes with an output matrix


@dataclass(frozen=True)
class StudentBase:
    """A base on this machine.

    Attributes:
        name: as the user wrote it.
        digest: SHA-256 of its weights in hex.
        folder: in transformers' format.
        tokenizer: of transformers, with a chat template.
        config: of transformers.
    """

    name: str
    digest: str
    folder: Path
    tokenizer: Any
    config: Any


def open_base(name: str, template: str = "", progress: OnProgress = silent) -> StudentBase:
    """The base of a name, fetched from the hub, or dequantised from a .gguf file, where need be.

    Args:
        name: of `dicast models list`, a folder, a .gguf file or the hub's OWNER/NAME.
        template: a file with the chat template that takes the place of the base's.

    Raises:
        ModelError: there is no such model, or it does not write text.
        DeclarationError: it has no chat template, or torch or transformers is not installed.
    """
    if not name:
        raise DeclarationError("recipe: names no base. Give --base and a model's name, folder or .gguf file.")
    _, transformers = torch_and_transformers("A training", "train")
    weights = find_torch_weights(name, progress)
    folder = weights.folder(progress)
    try:
        with quiet(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            config = transformers.AutoConfig.from_pretrained(folder)
    except Exception as error:  # values of a config are checked with errors of several kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"base {name!r}: transformers cannot read it ({reason}). Is the folder whole?") from None
    kinds = config.architectures or []
    if type(config) not in transformers.AutoModelForCausalLM._model_mapping or not any(map(WRITES.search, kinds)):
        kind = (kinds or [config.model_type])[0]
        raise ModelError(f"base {name!r}: {kind} does not write text. Give a language model such as Qwen3.")
    if template:
        tokenizer.chat_template = read_text(Path(template))
    if tokenizer.chat_template is None:
        raise DeclarationError(
            f"base {name!r}: has no chat template, so a student could not be asked. Give an instruct model, or set "
            "template to a .jinja file with one."
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return StudentBase(name, weights.digest, folder, tokenizer, config)


def load_for_training(base: StudentBase, recipe_precision: str, *, attention: str, four_bits: bool) -> Any:
    """The base's network, with all weights frozen or not as they are loaded; on the CPU, or quantised on the GPU.

    Raises:
        ModelError: the weights cannot be loaded.
        DeclarationError: see `check_machine`.
    """
    check_machine(base.name, four_bits=four_bits, attention=attention)
    torch, transformers = torch_and_transformers("A training", "train")
    options: dict[str, Any] = {"dtype": getattr(torch, recipe_precision), "use_safetensors": True}
    if attention != "auto":
        options["attn_implementation"] = attention
    if four_bits:
        options["quantization_config"] = _four_bits(torch, transformers)
    try:
        with quiet(transformers):
            return transformers.AutoModelForCausalLM.from_pretrained(base.folder, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(f"base {base.name!r}: its weights cannot be loaded ({reason}). Is the folder whole?") from None


def check_machine(name: str, *, four_bits: bool, attention: str) -> None:
    """Do nothing, or refuse what this machine cannot train.

    Args:
        name: of the base.
        four_bits: whether its weights are quantised.
        attention: of a recipe.

    Raises:
        DeclarationError: four bits without a GPU or without bitsandbytes, or flash_attention_2 without its package.
    """
    torch, transformers = torch_and_transformers("A training", "train")
    if four_bits and find_spec("bitsandbytes") is None:
        raise DeclarationError(
            f"base {name!r}: qlora needs the package bitsandbytes. Run: pip install bitsandbytes; or use lora."
        )
    if four_bits and not torch.cuda.is_available():
        raise DeclarationError(f"base {name!r}: qlora needs a GPU. Use lora, or tail on processor cores.")
    if attention == "flash_attention_2" and not transformers.utils.is_flash_attn_2_available():
        raise DeclarationError(
            f"base {name!r}: attention=flash_attention_2 needs a GPU and the package flash-attn. Use attention=auto."
        )


def _four_bits(torch: Any, transformers: Any) -> Any:
    """NF4 with doubly quantised constants (QLoRA, arXiv 2305.14314)."""
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
