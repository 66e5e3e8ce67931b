"""The folder of a low-rank adapter as peft writes it: the base that it belongs to, and where in a prompt it acts.

An adapter with `alora_invocation_tokens` ("activated LoRA", arXiv 2504.12397) acts from the last place of these tokens
on. What is before them is the base model's, so that its keys and values serve the base and every such adapter. Without
them it acts on every token.

`base.json` beside peft's files names the base as model strings do, and its digest; folders of other programs have none.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from ...errors import ModelError
from ...parsing.json_text import read_object

CONFIG, MATRICES, BASE = "adapter_config.json", "adapter_model.safetensors", "base.json"
NOT_READ = ("use_dora", "modules_to_save", "fan_in_fan_out", "rank_pattern", "alpha_pattern", "lora_bias")
SAVE = "Save the adapter again, as peft's LoraConfig writes it."


@dataclass(frozen=True)
class AdapterFiles:
    """A low-rank adapter.

    Attributes:
        base: the name of its base model: of `dicast models list`, a folder, a .gguf file or OWNER/NAME of the hub.
        base_digest: of the base's weights; empty where the folder does not say it.
        scale: of the product of its matrices.
        marker: the tokens from whose last place on it acts; empty: on every token.
        digest: SHA-256 in hex of both of peft's files.
    """

    folder: Path
    base: str
    base_digest: str
    scale: float
    marker: tuple[int, ...]
    digest: str

    def check_base(self, digest: str) -> None:
        """Raises ModelError where the base that is on this machine has other weights than the adapter's."""
        if self.base_digest and digest != self.base_digest:
            raise ModelError(
                f"{self.folder}: the adapter belongs to {self.base} with the digest {self.base_digest[:12]}, and the "
                f"one on this machine has {digest[:12]}. Get the base that it was trained on, or train it again."
            )


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter, and no whole model."""
    return (folder / CONFIG).is_file() and not (folder / "config.json").is_file()


def read_adapter(folder: Path) -> AdapterFiles:
    """The adapter of a folder.

    Raises:
        ModelError: a file is missing or broken, or it is another kind of adapter than plain low-rank matrices.
    """
    config = read_object(folder / CONFIG, error=ModelError, advice=SAVE)
    if not (folder / MATRICES).is_file():
        raise ModelError(f"{folder}: has {CONFIG} and no {MATRICES}. {SAVE}")
    kind = config.get("peft_type")
    unread = [name for name in NOT_READ if config.get(name)]
    if kind != "LORA" or unread or config.get("bias", "none") != "none":
        setting = f"peft_type {kind!r}" if kind != "LORA" else ", ".join(unread) or "bias"
        raise ModelError(f"{folder}: {setting} is not read, only LoRA matrices are. Merge the adapter into its base.")
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if not _is_positive(rank) or not _is_positive(alpha):
        raise ModelError(f"{folder / CONFIG}: r and lora_alpha must be positive numbers, got {rank!r} and {alpha!r}.")
    marker = config.get("alora_invocation_tokens") or []
    if not isinstance(marker, list) or not all(isinstance(token, int) for token in marker):
        raise ModelError(f"{folder / CONFIG}: alora_invocation_tokens must be a list of token ids, got {marker!r}.")
    base = read_object(folder / BASE, error=ModelError, advice=SAVE) if (folder / BASE).is_file() else {}
    name = base.get("name") or config.get("base_model_name_or_path")
    if not isinstance(name, str) or not name:
        raise ModelError(f"{folder / CONFIG}: names no base model. Set base_model_name_or_path.")
    place = base.get("place")
    if isinstance(place, str) and Path(name).is_absolute() and not Path(name).exists() and (folder / place).exists():
        name = str((folder / place).resolve())  # both were moved; the digest says whether it is the same base
    return AdapterFiles(
        folder=folder,
        base=name,
        base_digest=str(base.get("digest") or ""),
        scale=alpha / (math.sqrt(rank) if config.get("use_rslora") else rank),
        marker=tuple(marker),
        digest=_digest_of(folder, config),
    )


def _digest_of(folder: Path, config: Mapping[str, Any]) -> str:
    """Of the settings without the name of the base, which may be a path, and of every byte of the matrices."""
    settings = {name: value for name, value in config.items() if name != "base_model_name_or_path"}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    with (folder / MATRICES).open("rb") as file:
        digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _is_positive(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
