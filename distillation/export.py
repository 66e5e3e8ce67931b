"""What a student can be handed on as: adapters, one model in safetensors, a .gguf file, a line that serves it."""

import os
import shlex
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..engines.jsonl import writing
from ..engines.torch_models.adapter_files import is_adapter, read_adapter
from ..engines.torch_models.weights import find_torch_weights
from ..errors import DeclarationError
from ..parsing import read_object
from .gguf_file import Precision, converter, write_gguf
from .merge import merge
from .model_card import CARD

Form = Literal["adapter", "merged", "gguf"]
MERGED: tuple[Form, ...] = ("merged",)
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)  # that vLLM's --max-lora-rank takes
LISTED = 20  # alternatives of a token, which the probability readout asks for


@dataclass(frozen=True)
class Exported:
    """A student's files.

    Attributes:
        student: the adapters, or the whole model.
        adapter: a copy of the adapters; None where none was asked for.
        merged: one model in safetensors; the student's folder where that is whole; None where none was asked for.
        gguf: None where none was asked for.
        serve: commands that serve it over HTTP, the first of them the simplest; none of adapters of a prompt's tail.
    """

    student: Path
    adapter: Path | None
    merged: Path | None
    gguf: Path | None
    serve: tuple[str, ...]


def check_forms(forms: Collection[Form], method: str) -> None:
    """Refuse, before a training is spent, what its student could not be handed on as.

    Args:
        method: of the training recipe.

    Raises:
        DeclarationError: a form that a student of this method does not have, or no converter for a .gguf file.
    """
    if method == "tail" and (whole := sorted({"merged", "gguf"} & set(forms))):
        raise DeclarationError(
            f"--export {','.join(whole)}: adapters of the method tail act on a part of the prompt alone and cannot be "
            "merged. Export the adapter, or train by lora, as --preset cpu-small does."
        )
    if method == "full" and "adapter" in forms:
        raise DeclarationError("--export adapter: the method full trains all weights. Use --export merged.")
    if "gguf" in forms:
        converter()


def export(
    student: Path, out: Path, *, name: str, forms: Collection[Form] = MERGED, gguf: Precision = "q8_0"
) -> Exported:
    """Write a student in these forms; what exists whole is used.

    Args:
        student: of `train`.
        out: a folder; `adapter/`, `merged/` and `NAME-PRECISION.gguf` come into it.
        name: what servers call the student.
        forms: a .gguf file is made from the merged model, which is then written as well.
        gguf: the precision of the .gguf file.

    Raises:
        DeclarationError, ModelError, RunError: see `check_forms`, `merge` and `write_gguf`.
    """
    out.mkdir(parents=True, exist_ok=True)
    has_adapters = is_adapter(student)
    adapter, merged, file = None, None, None
    if "adapter" in forms:
        if not has_adapters:
            check_forms(forms, "full")
        adapter = _copied(student, out / "adapter")
    if "merged" in forms or "gguf" in forms:
        merged = _merged(student, out / "merged") if has_adapters else student
    if merged is not None and "gguf" in forms:
        file = out / f"{name}-{gguf}.gguf"
        if not file.exists():
            write_gguf(merged, file, precision=gguf)
    return Exported(student, adapter, merged, file, serve_lines(adapter or student, merged, name))


def _copied(student: Path, out: Path) -> Path:
    """A copy, there whole or not at all."""
    if not out.exists():
        part = out.with_name(f"{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        with writing(out):
            shutil.copytree(student, part)
            os.replace(part, out)
    return out


def _merged(student: Path, out: Path) -> Path:
    """The merged model, with the student's card."""
    if not out.exists():
        merge(student, out)
    if (student / CARD).is_file():
        with writing(out / CARD):
            shutil.copyfile(student / CARD, out / CARD)
    return out


def serve_lines(student: Path, merged: Path | None, name: str) -> tuple[str, ...]:
    """Commands of vLLM: the merged model, and the base with the adapters, so that one server has both.

    vLLM gives at most 20 alternatives of a token unless --max-logprobs says more; a probability readout asks for 20.
    """
    lines = []
    if merged is not None:
        lines.append(["vllm", "serve", str(merged), "--served-model-name", name, *_options(merged)])
    if is_adapter(student) and not (adapter := read_adapter(student)).marker:
        base = find_torch_weights(adapter.base).folder()
        rank = int(read_object(student / "adapter_config.json")["r"])
        least = next((choice for choice in RANKS if choice >= rank), RANKS[-1])
        lora = ["--enable-lora", "--max-lora-rank", str(least), "--lora-modules", f"{name}={student}"]
        lines.append(["vllm", "serve", str(base), *lora, *_options(base)])
    return tuple(shlex.join(line) for line in lines)


def _options(folder: Path) -> list[str]:
    length = int(read_object(folder / "config.json").get("max_position_embeddings") or 4096)
    return ["--max-logprobs", str(LISTED), "--max-model-len", str(min(length, 8192))]
