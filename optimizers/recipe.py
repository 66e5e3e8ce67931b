"""The recipe of a compilation: its parts, steps and limits, as a YAML file or defaults."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ..data.case import MOST_SCORE, Record
from ..engines.ledger import Budget
from ..errors import DeclarationError
from ..evaluation.renamed_measures import BOTH_ORDERS, current_name
from ..parsing import parse_record, read_yaml
from ..registry import Registry
from .cost_account import CostUnit
from .structure.pareto import Prefer

if TYPE_CHECKING:
    from .prompts.optimizer import PromptOptions

ADDED = (
    "cost",
    "per_verdict",
    "criteria",
    "criteria_lm",
    "finetune",
    "preset",
    "training",
    "costs",
    "estimate",
)  # fields that earlier versions did not have
LEAST = 40  # labelled cases; with fewer, no part is large enough to fit or test a judge
FEW_LABELS = 600  # below, half of them are too few for a test part: docs/results/cross-fitting.md
TRIALS = 8  # of the structure search, where there are more labels
Fraction = Annotated[float, Field(gt=0, lt=1)]
Estimate = Literal["cross-fitted", "split"]


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
    costs: dict[str, Annotated[float, Field(gt=0, le=MOST_SCORE)]] = Field(
        default_factory=dict,
        description="of an error, by the category that people give; those not named cost 1. The head says the category "
        "of the least expected cost, and the mean cost is the objective",
    )
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
    trials: Annotated[int, Field(ge=0)] | None = Field(
        default=None,
        description="of the structure search; 0 leaves it out; None: 8, but 0 of fewer than 600 labels without a space",
    )
    space: dict[str, tuple[Any, ...]] = Field(
        default_factory=dict, description="parameter: values; empty: the defaults"
    )
    prefer: Prefer = Field(default="best", description="which structure of the Pareto front to take")
    cost: CostUnit = Field(default="calls", description="the cost of a verdict that the structure search weighs")
    per_verdict: dict[CostUnit, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="the most that a verdict may cost: calls, tokens or seconds -> number"
    )
    estimate: Estimate | None = Field(
        default=None,
        description="what measures the compiled judge: cross-fitted verdicts of all labels, or a test part; None: "
        "cross-fitted where there are fewer than 600 labels, no parts are chosen and nothing is fitted but a head of "
        "the judge's answers",
    )
    finetune: str | None = Field(
        default=None, description="the base of a student that is trained on the train part; None: nothing is trained"
    )
    preset: str | None = Field(default=None, description="of the training; None: cpu")
    training: dict[str, Any] = Field(
        default_factory=dict, description="fields of the training recipe in place of the preset's"
    )
    risk: Annotated[float, Field(gt=0, le=0.5, description="the disagreement allowed among accepted verdicts")] = 0.1
    delta: Annotated[float, Field(gt=0, le=0.25, description="the probability of a certificate that fails")] = 0.05
    baseline: Baseline | None = Field(
        default=Baseline(),
        description="a judge to compare with on the test part, or its name. In Python give the judge to the Compiler",
    )

    @model_validator(mode="after")
    def _trains_something(self) -> Self:
        if self.finetune is None and (self.preset or self.training):
            raise ValueError("preset and training are of a fine-tuning. Name its base with finetune")
        return self

    @model_validator(mode="after")
    def _has_one_estimate(self) -> Self:
        if self.estimate == "cross-fitted" and self.parts is not None:
            raise ValueError("a cross-fitted estimate is of all labels, and parts divides them. Give one of both")
        return self

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

    @property
    def head_options(self) -> dict[str, Any]:
        """What `head.fit.fit` takes of the recipe."""
        return {"seed": self.seed, "length": self.length, "costs": self.costs}

    @property
    def objective_name(self) -> str | None:
        """The objective, that of the costs where there are costs and no other is named; None: by the kind of case."""
        from .error_costs import objective_name

        return objective_name(self.costs) if self.costs and self.objective is None else self.objective

    def proportions(self, certify: bool) -> dict[str, float]:
        """The proportion of each part, of sum 1.

        Args:
            certify: whether verdicts are right or wrong, so that they can be certified.
        """
        parts = self.parts or Parts()
        if self.parts is None and certify:
            parts = Parts(certify=0, test=parts.test + float(parts.certify))
        return parts.proportions(certify)

    def for_labels(self, labels: int) -> "Recipe":
        """The recipe with as many trials as so many labelled cases are enough for.

        It has no head where the objective is of each order by itself, as a head weighs both at once.
        """
        update: dict[str, Any] = {"head": False} if current_name(self.objective_name or "") == BOTH_ORDERS else {}
        if self.trials is None:
            update["trials"] = TRIALS if labels >= FEW_LABELS or self.space else 0
        return self.model_copy(update=update)

    def is_cross_fitted(self, labels: int, *, searched: bool, many: bool = False) -> bool:
        """Whether all labels measure the judge, each out of fold, and no part is set aside.

        Args:
            labels: labelled cases.
            searched: whether anything but a head is learnt from labelled cases, which folds do not repeat.
            many: whether the head weighs hidden states, so that intervals of cross-fitted verdicts are too narrow
                (docs/results/cross-fitting.md); then only who asks for them gets them.

        Raises:
            DeclarationError: a cross-fitted estimate was requested of a search.
        """
        if self.estimate is None:
            return self.head and not (searched or many) and self.parts is None and labels < FEW_LABELS
        if self.estimate == "cross-fitted" and (searched or not self.head):
            raise DeclarationError(
                "compile: a cross-fitted estimate repeats the fit of a head in every fold, and nothing else. Leave out "
                "what else is learnt from the labels (trials 0), or give estimate: split."
            )
        return self.estimate == "cross-fitted"

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
