"""The recipe of a distillation: what the student is, what it learns from, and what it must show."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from ..data.case import Record
from ..optimizers.recipe import Fraction, Parts, Recipe
from .acceptance import MARGIN

Mode = Literal["verdict", "chain", "probe"]
Targets = Literal["labels", "teacher", "both"]
# A student is surer of the cases that it was trained on than of others, so that its head is fitted to the select part.
HEAD_PARTS: dict[Mode, tuple[str, ...]] = {
    "verdict": ("select",),
    "chain": ("select",),
    "probe": ("train", "select"),
}


class DistilRecipe(Record):
    """Everything of a distillation but its models, cases and gradient steps."""

    mode: Mode = Field(
        default="verdict",
        description="verdict: one token decides, its probability is the certainty; chain: the teacher's whole program; "
        "probe: no gradient step, a head on the base's hidden states",
    )
    targets: Targets = Field(
        default="both", description="what label tokens are learnt from: people's labels, the teacher's distribution"
    )
    human_weight: float = Field(default=0.5, ge=0, le=1, description="of people's labels where targets are both")
    set: dict[str, Any] = Field(default_factory=dict, description="parameters of the student's program")
    objective: str | None = Field(default=None, description="as of dicast compile")
    parts: Parts | None = Field(default=None, description="as of dicast compile, so that the test part is the same")
    seed: Annotated[int, Field(ge=0, description="of the split; that of the teacher's compilation")] = 0
    length: bool = Field(default=False, description="whether the student's head may use the length of texts")
    margin: Fraction = Field(default=MARGIN, description="the loss against the teacher that is accepted")
    risk: Annotated[float, Field(gt=0, le=0.5, description="the disagreement that is certified")] = 0.1
    delta: Annotated[float, Field(gt=0, le=0.25, description="the probability of a certificate that fails")] = 0.05

    @model_validator(mode="after")
    def _has_a_test_part(self) -> Self:
        if self.mode == "chain" and self.targets == "labels":
            raise ValueError("mode chain learns what the teacher wrote; targets labels has none. Use mode verdict")
        return self

    @property
    def head_parts(self) -> tuple[str, ...]:
        """The labelled cases that the student's head is fitted to."""
        return HEAD_PARTS[self.mode]

    def compile_recipe(self) -> Recipe:
        """The recipe of the student's compilation: a head, a certificate and the test, without any search."""
        return Recipe(
            objective=self.objective,
            parts=self.parts,
            seed=self.seed,
            length=self.length,
            trials=0,
            estimate="split",  # the student is accepted or not on the test part
            baseline=None,
            risk=self.risk,
            delta=self.delta,
        )
