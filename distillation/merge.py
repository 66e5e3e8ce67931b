"""A student as one model: the adapters added to the base's weights, in the base's number type."""

import os
import shutil
from pathlib import Path
from typing import Any

from ..engines.jsonl import writing
from ..engines.torch_models.adapter_files import is_adapter, read_adapter
from ..engines.torch_models.answer_form import copy_form
from ..engines.torch_models.torch_import import torch_and_transformers
from ..engines.torch_models.weights import find_torch_weights
from ..errors import DeclarationError
from .quiet_libraries import quiet_libraries
from .training_errors import errors_in_words


def merge(student: Path, out: Path) -> Path:
    """The folder `out` with the whole model of a student: safetensors, tokenizer and chat template.

    Args:
        student: adapters, or a whole model, which is copied.
        out: a new folder; it is there whole or not at all.

    Raises:
        DeclarationError: the adapters act on a prompt's tail alone, so that no single set of weights is the student; or
            `out` exists, or memory is too little.
        ModelError: the base is missing, or has other weights than the student's.
        RunError: the disk is full.
    """
    if out.exists():
        raise DeclarationError(f"{out}: exists. Remove it, or give another folder.")
    part = out.with_name(f"{out.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    with errors_in_words(out.parent), writing(out):
        if is_adapter(student):
            with quiet_libraries():
                model, tokenizer = _merged(student)
                model.save_pretrained(part, safe_serialization=True)
                tokenizer.save_pretrained(part)
                copy_form(student, part)
        else:
            shutil.copytree(student, part)
        os.replace(part, out)
    return out


def _merged(student: Path) -> tuple[Any, Any]:
    """(model, tokenizer), with the adapters in the weights."""
    import peft

    torch, transformers = torch_and_transformers("A merge", "train")
    adapter = read_adapter(student)
    if adapter.marker:
        raise DeclarationError(
            f"{student}: its adapters act on the tail of a prompt alone and cannot be merged. Serve it as "
            f"transformers/{student}, or train by lora."
        )
    weights = find_torch_weights(adapter.base)
    adapter.check_base(weights.digest)
    folder = weights.folder()
    config = transformers.AutoConfig.from_pretrained(folder)
    dtype = config.dtype if isinstance(config.dtype, torch.dtype) else getattr(torch, str(config.dtype or "float32"))
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, use_safetensors=True)
    model = peft.PeftModel.from_pretrained(model, student).merge_and_unload(safe_merge=True)
    model.config.use_cache = True
    return model, transformers.AutoTokenizer.from_pretrained(student)
