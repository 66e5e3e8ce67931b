"""The recipe of a compilation: its parts, steps and limits, as a YAML file or defaults."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ..data.case import Record
from ..engines.ledger import Budget
from ..errors import DeclarationError
from ..parsing import parse_record, read_yaml
from ..registry import Registry
from .cost_account import CostUnit
from .structure.pareto import Prefer

if TYPE_CHECKING:
    from .prompts.optimizer import PromptOptions

ADDED = ("cost", "per_verdict", "criteria", "criteria_lm")  # fields that earlier versions did not have
Fraction = Annotated[float, Field(gt=0, lt=1)]


class Parts(Record):
    """Proportions of the labelled cases; all cases of a group go to the same part."""

    train: Fraction = Field(default=0.35, description="to fit heads and to optimise prompts")
    select: Fraction = Field(default=0.15, description="to fit heads, and to compare prompts and structures")
    certify: Fraction | Literal[0] = Field(
        default=0.15, description="to certify a threshold; 0 leaves the certificate out; texts have none"
    )
    test: Fraction = Field(default=0.35, description="to test the compiled judge, once")

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        if abs(sum(self.model_dump().values()) - 1) > 1e-9:
            raise ValueError(f"the proportions of the parts must sum to 1, got {sum(self.model_dump().values()):g}")
        return self

    def proportions(self, certify: bool) -> dict[str, float]:
        """The proportion of each part, of sum 1; without a certify part the others grow in proportion."""
        parts = {name: part for name, part in self.model_dump().items() if part and (certify or name != "certify")}
        return {name: part / sum(parts.values()) for name, part in parts.items()}


class Baseline(Record):
    """A simple judge to compare the compiled judge with."""

    judge: str = Field(default="direct", description="a program, a YAML file or a judge file")
    set: dict[str, Any] = Field(default_factory=dict, description="parameters of the judge")

    @property
    def title(self) -> str:
        """The name in tables."""
        settings = ", ".join(f"{name}={value}" for name, value in self.set.items())
        return f"{self.judge} ({settings})" if settings else self.judge


class Recipe(Record):
    """The steps of a compilation; everything has a default."""

    objective: str | None = Field(default=None, description="None: accuracy of pairs and choices, Spearman of texts")
    parts: Parts | None = Field(
        default=None,
        description="proportions of the labelled cases; None: the defaults without a certify part, whose proportion "
        "goes to the test part, and the test part certifies",
    )
    seed: Annotated[int, Field(ge=0, description="of splits, folds and searches")] = 0
    head: bool = Field(default=True, description="whether to fit a head: calibrated probabilities from the evidence")
    length: bool = Field(default=False, description="whether the head may use the length of texts")
    criteria: Literal["none", "learn"] = Field(
        default="none",
        description="learn: questions that an LM proposes and the labels choose; for the judge questions",
    )
    criteria_lm: str | None = Field(default=None, description="the LM that proposes questions; None: the judge's")
    prompts: str = Field(default="none", description="a prompt optimizer; none leaves prompts as they are")
    prompt_lm: str | None = Field(default=None, description="the LM that writes prompts; None: the judge's")
    stages: tuple[str, ...] = Field(default=(), description="the stages whose prompts are optimised; empty: all")
    demos: Annotated[int, Field(ge=0, description="the most demos per stage")] = 4
    prompt_trials: Annotated[int, Field(ge=1, description="the approximate number of wordings to try")] = 10
    trials: Annotated[int, Field(ge=0)] = Field(default=8, description="of the structure search; 0 leaves it out")
    space: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict, description="parameter: values; empty: the defaults"
    )
    prefer: Prefer = Field(default="best", description="which structure of the Pareto front to take")
    cost: CostUnit = Field(default="calls", description="the cost of a verdict that the structure search weighs")
    per_verdict: dict[CostUnit, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="the most that a verdict may cost: calls, tokens or seconds -> number"
    )
    risk: Annotated[float, Field(gt=0, le=0.5, description="the disagreement allowed among accepted verdicts")] = 0.1
    delta: Annotated[float, Field(gt=0, le=0.25, description="the probability of a certificate that fails")] = 0.05
    baseline: Baseline | None = Field(
        default=Baseline(),
        description="a judge to compare with on the test part, or its name. In Python give the judge to the Compiler",
    )

    @field_validator("objective")
    @classmethod
    def _is_objective(cls, name: str | None) -> str | None:
        from .objective import OBJECTIVES

        return None if name is None else _registered(OBJECTIVES, name)

    @field_validator("prompts")
    @classmethod
    def _is_prompt_optimizer(cls, name: str) -> str:
        from .prompts.optimizer import PROMPT_OPTIMIZERS

        return name if name == "none" else _registered(PROMPT_OPTIMIZERS, name)

    @field_validator("baseline", mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return {"judge": value} if isinstance(value, str) else value

    def proportions(self, certify: bool) -> dict[str, float]:
        """The proportion of each part, of sum 1.

        Args:
            certify: whether verdicts are right or wrong, so that they can be certified.
        """
        parts = self.parts or Parts()
        if self.parts is None and certify:
            parts = Parts(certify=0, test=parts.test + float(parts.certify))
        return parts.proportions(certify)

    def identity(self) -> dict[str, Any]:
        """The recipe as JSON in the identity of a compilation; defaults as earlier versions wrote them."""
        defaults = {name: Recipe.model_fields[name].get_default(call_default_factory=True) for name in ADDED}
        new = {name for name, value in defaults.items() if getattr(self, name) == value}
        fields = self.model_dump(mode="json", exclude=new)
        return fields | {"parts": (self.parts or Parts()).model_dump(mode="json")}

    def prompt_options(self, objective: str, workers: int, budget: Budget | None = None) -> "PromptOptions":
        """The options of the prompt search.

        Raises:
            DeclarationError: the recipe has no method.
        """
        from .prompts.optimizer import PromptOptions

        if self.prompts == "none":
            raise DeclarationError("recipe: prompts is 'none', so there is nothing to search. Name a method.")
        return PromptOptions(
            method=self.prompts,
            objective=objective,
            prompt_lm=self.prompt_lm,
            stages=self.stages or None,
            demos=self.demos,
            trials=self.prompt_trials,
            budget=budget or Budget(),
            workers=workers,
            seed=self.seed,
        )


def _registered(registry: Registry[Any], name: str) -> str:
    try:
        registry.find(name)
    except DeclarationError as error:
        raise ValueError(str(error)) from None
    return name


def read_recipe(path: Path, **changed: Any) -> Recipe:
    """The recipe of a YAML file with some values changed.

    Raises:
        DeclarationError: no such file, no YAML mapping, or a field that is unknown or out of range.
    """
    content = (
        read_yaml(path, f"recipe {path}", error=DeclarationError, advice="Give a YAML file, or fix this one.") or {}
    )
    if not isinstance(content, dict):
        raise DeclarationError(f"recipe {path}: holds a {type(content).__name__}, not fields. Write NAME: VALUE lines.")
    return recipe(f"recipe {path}", content | changed)


def recipe(who: str, values: dict[str, Any]) -> Recipe:
    """A recipe of these fields; raises DeclarationError for a field that is unknown or out of range."""
    return parse_record(Recipe, values, who, error=DeclarationError)
