"""A GGUF file as a folder in transformers' format: dequantised to bf16, with its tokenizer and chat template."""

from pathlib import Path

from ...errors import ModelError
from .torch_import import quiet, torch_and_transformers


def dequantise(path: Path, folder: Path) -> None:
    """Write the model of a .gguf file as safetensors in bf16, with its tokenizer.

    Raises:
        ModelError: transformers cannot read the file.
        DeclarationError: torch, transformers or gguf is not installed.
    """
    torch, transformers = torch_and_transformers("transformers/")
    place = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        with quiet(transformers):
            tokenizer = transformers.AutoTokenizer.from_pretrained(**place)
            model = transformers.AutoModelForCausalLM.from_pretrained(
                **place, dtype=torch.bfloat16, quantization_config=transformers.GgufConfig(dequantize=True)
            )
            if hasattr(model.config, "quantization_config"):
                del model.config.quantization_config  # else the saved folder is read as GGUF again
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
    except Exception as error:  # of a file without a tokenizer, or with odd values, errors of many kinds
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ModelError(
            f"{path}: transformers cannot read it ({reason}). Use local/{path} (llama.cpp), or the model's folder."
        ) from None
