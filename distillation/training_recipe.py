"""The recipe of a training: how a base model learns the rows of a training set."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..data.case import Record
from ..errors import DeclarationError
from ..parsing import parse_record, read_yaml

Method = Literal["lora", "qlora", "full", "tail"]
# Full: arXiv 2405.12163, LoRA: ten times as much (LoRA Without Regret, thinkingmachines.ai, 2025); tail: measured here.
LEARNING_RATES: dict[str, float] = {"lora": 1e-4, "qlora": 1e-4, "full": 1e-5, "tail": 2e-4}
Count = Annotated[int, Field(ge=1)]


class TrainingRecipe(Record):
    """What a training needs besides its rows; everything but the base has a default."""

    base: str = Field(
        default="", description="a name of `dicast models list`, a folder, a .gguf file, or OWNER/NAME of the hub"
    )
    method: Method = Field(
        default="lora",
        description="lora: adapters of all linear layers; qlora: the same over 4-bit weights (a GPU, bitsandbytes); "
        "full: all weights; tail: adapters that act only on what follows the texts of a prompt",
    )
    rank: Count = Field(default=16, description="of the adapters")
    alpha: float = Field(default=32.0, gt=0, description="adapters are scaled by alpha / rank")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="of what adapters read")
    first_layer: float = Field(
        default=0.0, ge=0, lt=1, description="adapters begin at this proportion of the depth; 0: in every layer"
    )
    learning_rate: float | None = Field(
        default=None, gt=0, description="the highest; None: 1e-4 for adapters, 1e-5 for all weights, 2e-4 for a tail"
    )
    epochs: float = Field(default=3.0, gt=0, description="passes over the training rows")
    schedule: Literal["cosine", "linear", "constant"] = Field(
        default="cosine", description="how the learning rate falls after the warm-up"
    )
    warm_up: float = Field(default=0.1, ge=0, lt=1, description="proportion of the steps in which the rate rises")
    global_batch: Count = Field(default=32, description="rows a step, over all devices and by accumulation")
    packing: bool = Field(default=True, description="whether short rows share a sequence of `length` tokens")
    length: int = Field(
        default=2048, ge=16, description="tokens of a packed sequence, and the most of a row; longer rows are left out"
    )
    precision: Literal["auto", "bf16", "fp32"] = Field(
        default="auto", description="of weights and states; auto: bf16 where the machine is fast in it"
    )
    gradient_checkpointing: bool = Field(
        default=False, description="compute states again in the backward pass: less memory, about a third more time"
    )
    attention: Literal["auto", "sdpa", "flash_attention_2", "eager"] = Field(
        default="auto", description="auto: flash_attention_2 where it is installed on a GPU, else sdpa"
    )
    weight_decay: float = Field(default=0.0, ge=0, description="of trained weights, a step and unit of the rate")
    max_gradient: float = Field(default=1.0, gt=0, description="the gradient is scaled down to this norm")
    label_weight: float | None = Field(
        default=None,
        gt=0,
        description="how many learnt words a label counts as; None: as many as a row of words has on average",
    )
    template: str = Field(default="", description="a .jinja file with a chat template; empty: the base's template")
    save_minutes: float = Field(default=10.0, gt=0, description="between checkpoints; one is also kept at each epoch")
    seed: int = Field(default=0, ge=0, description="of the adapters and the order of rows")

    @model_validator(mode="after")
    def _can_be_done(self) -> Self:
        if self.method == "full" and self.first_layer:
            raise ValueError("first_layer is for adapters; full trains all layers. Leave it out")
        if self.method == "tail" and self.epochs != round(self.epochs):
            raise ValueError(f"the method tail makes whole passes, got epochs={self.epochs:g}. Give a whole number")
        return self

    @property
    def highest_rate(self) -> float:
        """The learning rate after the warm-up."""
        return LEARNING_RATES[self.method] if self.learning_rate is None else self.learning_rate

    @property
    def has_adapters(self) -> bool:
        return self.method != "full"


def read_recipe(path: Path) -> TrainingRecipe:
    """The recipe of a YAML file.

    Raises:
        DeclarationError: an unknown field or a wrong value, which the message names.
        DataError: the file cannot be read, or is not YAML.
    """
    return parse_record(TrainingRecipe, read_yaml(path, str(path)), str(path), error=DeclarationError)
