"""What a compilation is asked to do: parts, steps, and their limits, as a YAML file or defaults."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from ..data.case import Record
from ..data.rows import explain
from ..engines.ledger import Budget
from ..errors import DeclarationError
from ..registry import Registry
from .structure.pareto import Prefer

if TYPE_CHECKING:
    from .prompts.optimizer import PromptOptions

Share = Annotated[float, Field(gt=0, lt=1)]


class Parts(Record):
    """Shares of the labelled cases; whole groups go to one part."""

    train: Share = 0.35
    select: Share = 0.15
    certify: Share | Literal[0] = Field(default=0.15, description="0 leaves the certificate out; texts have none")
    test: Share = 0.35

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        if abs(sum(self.model_dump().values()) - 1) > 1e-9:
            raise ValueError(f"the shares of the parts must sum to 1, got {sum(self.model_dump().values()):g}")
        return self

    def shares(self, certify: bool) -> dict[str, float]:
        """The parts that there are, of sum 1; those that are left over where nothing is certified grow alike."""
        given = {name: share for name, share in self.model_dump().items() if share and (certify or name != "certify")}
        return {name: share / sum(given.values()) for name, share in given.items()}


class Baseline(Record):
    """A plain judge to stand beside the compiled one: a program, a YAML or a judge file, and its settings."""

    judge: str = "direct"
    set: dict[str, Any] = Field(default_factory=dict, description="parameters of it")

    @property
    def title(self) -> str:
        """Its name in tables."""
        told = ", ".join(f"{name}={value}" for name, value in self.set.items())
        return f"{self.judge} ({told})" if told else self.judge


class Recipe(Record):
    """The steps of a compilation; everything has a default."""

    objective: str | None = Field(default=None, description="None: accuracy of pairs and choices, Spearman of texts")
    parts: Parts = Parts()
    seed: Annotated[int, Field(ge=0)] = 0
    head: bool = True
    length: bool = Field(default=False, description="whether the head may use the texts' length")
    prompts: str = Field(default="none", description="a prompt optimizer; none leaves prompts as they are")
    prompt_lm: str | None = None
    stages: tuple[str, ...] = Field(default=(), description="whose prompts are optimised; empty: all")
    demos: Annotated[int, Field(ge=0, description="a stage shows at most")] = 4
    prompt_trials: Annotated[int, Field(ge=1)] = 10
    trials: Annotated[int, Field(ge=0)] = Field(default=8, description="of the structure search; 0 leaves it out")
    space: dict[str, tuple[Any, ...]] = Field(default_factory=dict, description="parameter: values; empty: defaults")
    prefer: Prefer = "best"
    risk: Annotated[float, Field(gt=0, le=0.5)] = 0.1
    delta: Annotated[float, Field(gt=0, le=0.25)] = 0.05
    baseline: Baseline | None = Field(
        default=Baseline(),
        description="beside it on the test part; a name will do. In Python give the judge itself to the Compiler",
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

    def prompt_options(self, objective: str, workers: int, budget: Budget | None = None) -> "PromptOptions":
        """How prompts are searched for.

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
    import yaml

    try:
        told = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise DeclarationError(f"recipe {path}: cannot be read ({error.strerror}). Give a YAML file.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DeclarationError(f"recipe {path}: not YAML ({' '.join(str(error).split())}). Mend it.") from None
    if not isinstance(told, dict):
        raise DeclarationError(f"recipe {path}: holds a {type(told).__name__}, not fields. Write NAME: VALUE lines.")
    return recipe(f"recipe {path}", told | changed)


def recipe(who: str, told: dict[str, Any]) -> Recipe:
    """A recipe of these fields; raises DeclarationError for one that is unknown or out of range."""
    try:
        return Recipe.model_validate(told)
    except ValidationError as error:
        raise DeclarationError(f"{who}: {explain(error)}") from None
