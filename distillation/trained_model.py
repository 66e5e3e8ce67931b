"""A trained model as a student asks it, and what trains one."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from ..data.case import Record
from ..data.verdict import Digest
from ..engines.model_string import ModelString
from ..engines.weights import CATALOG
from ..errors import DeclarationError
from ..judging.models_beside import digest_beside, place_beside, whole_place
from ..optimizers.evidence import ProgressCallbacks

TRAINABLE = ("transformers", "local")  # providers whose models' weights are on this machine


class TrainedModel(Record):
    """A trained model."""

    model: str = Field(
        default="",
        description="`provider/model`, in a file by its place in the folder; empty where nothing was trained",
    )
    digest: Digest = Field(default="", description="of the weights in the folder; empty of other models")
    figures: dict[str, Any] = Field(default_factory=dict, description="of the training, by name")
    recipe: dict[str, Any] = Field(default_factory=dict, description="of the training; empty where it is not known")

    def named_in(self, folder: Path) -> "TrainedModel":
        """The same, with a model in the folder named relative to it."""
        model = place_beside(self.model, folder)
        return self.model_copy(update={"model": model, "digest": digest_beside(model, folder)})

    def found_in(self, folder: Path, training: str) -> "TrainedModel":
        """The same, with the whole path of a model in the folder, which may have been moved or copied.

        Args:
            folder: where it is now.
            training: the folder in it that has the student of a record with a whole path, as earlier versions wrote.

        Raises:
            DeclarationError: other weights are in its place.
        """
        provider, _, name = self.model.partition("/")
        before, path = Path(name), folder / training / Path(name).name
        if provider == "transformers" and before.is_absolute() and before.parent.name == training and path.is_dir():
            return self.model_copy(update={"model": f"{provider}/{path.resolve()}"})
        model = whole_place(self.model, folder, self.digest, str(folder), "distil again with another --out.")
        return self.model_copy(update={"model": model})

    @property
    def folder(self) -> Path | None:
        """Where its weights or adapters are; None of a server's model."""
        provider, _, name = self.model.partition("/")
        return Path(name) if provider == "transformers" and Path(name).is_dir() else None


# the folder of a training set, a folder for the training, progress and stop -> the model; the same call continues
Trainer = Callable[[Path, Path, ProgressCallbacks], TrainedModel]


def figures_text(figures: Mapping[str, Any]) -> str:
    """The figures of a training in a line, without those that it has not.

    Example:
        >>> figures_text({"tokens_per_second": 12.87785, "rows": 28, "validation_loss": None})
        'tokens per second 12.88, rows 28'
    """
    shown = {name.replace("_", " "): value for name, value in figures.items() if value is not None}
    return ", ".join(f"{name} {f'{v:,.4g}' if isinstance(v, float) else v}" for name, v in shown.items())


def base_name(base: str) -> str:
    """The name by which a base is opened for training, without its provider.

    Raises:
        DeclarationError: a model of a server.

    Example:
        >>> base_name("local/smollm2-135m"), base_name("Qwen/Qwen3-0.6B")
        ('smollm2-135m', 'Qwen/Qwen3-0.6B')
    """
    provider, slash, name = base.partition("/")
    if slash and provider in TRAINABLE:
        return _in_full(name)
    if "@" in base or provider in ("openai", "anthropic", "gemini", "hosted_vllm", "vllm", "ollama", "llamacpp"):
        raise DeclarationError(
            f"--base {base}: is a server's model, whose weights are not on this machine. Give a name of dicast models "
            "list, a folder, a .gguf file or OWNER/NAME of the hub."
        )
    return _in_full(base)


def _in_full(name: str) -> str:
    """The name; of a file or folder its whole path, as a student names its base wherever it is used from."""
    path = Path(name).expanduser()
    return str(path.resolve()) if name not in CATALOG and path.exists() else name


def base_model_string(base: str, *, states: bool = False) -> str:
    """The model string that answers for a base before it is trained.

    Args:
        states: of a student that reads hidden states, which llama.cpp gives of local models too.

    Example:
        >>> base_model_string("smollm2-135m"), base_model_string("local/smollm2-135m", states=True)
        ('transformers/smollm2-135m', 'local/smollm2-135m')
    """
    if base.partition("/")[0] == "local" and states:
        return base
    text = f"transformers/{base_name(base)}"
    return ModelString.parse(text).identity
