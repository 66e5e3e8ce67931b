"""One row of another tool's verdicts: its fields, and what each of them must be. docs/measuring.md has the table."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from ..data.attributes import scalar_text
from ..data.case import MOST_SCORE, Category, Letter, ScoreNumber
from ..data.category_words import match
from ..data.rows import parse_scale
from ..errors import UnscoredReason
from ..parsing import shown

LETTERS: tuple[Letter, ...] = ("a", "b", "tie")
MOST_OPTIONS = 10_000
ROUNDING = 0.02  # a distribution of rounded probabilities sums to 1 within this

Kind = Literal["letters", "scores", "indexes of options", "categories"]
Value = Letter | int | float | tuple[float, float] | Category  # a letter or the scores of a pair; a score; an index


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST_SCORE <= value <= MOST_SCORE


def _value(value: Any) -> Any:
    """A letter, a finite number, or the two scores of a pair."""
    if (
        value is None
        or isinstance(value, Category)
        or _is_number(value)
        or (isinstance(value, str) and value in LETTERS)
    ):
        return value
    if isinstance(value, list | tuple) and len(value) == 2 and all(map(_is_number, value)):
        return float(value[0]), float(value[1])
    if isinstance(value, int | float) and abs(value) > MOST_SCORE:
        raise ValueError(f"a score is a number from -{MOST_SCORE:g} to {MOST_SCORE:g}")
    raise ValueError("must be 'a', 'b' or 'tie', a score, the index of an option, or two scores [a's, b's]")


def _named(fields: dict[str, Any], categories: Sequence[str]) -> dict[str, Any]:
    """Prediction, label and votes of a row as categories."""

    def named(name: str, value: Any) -> Category | None:
        category = None if value is None else match(value, categories)
        if value is not None and category is None:
            raise ValueError(f"{name} is {shown(value)}, which is none of the categories {', '.join(categories)}")
        return None if category is None else Category(category=category)

    votes = [_vote(vote) for vote in fields.get("votes") or ()]
    answers = {name: named(name, fields[name]) for name in ("prediction", "label") if name in fields}
    return answers | {"votes": [vote | {"label": named("votes", vote.get("label"))} for vote in votes]}


def _vote(vote: Any) -> Any:
    return vote if isinstance(vote, dict) else {"label": vote}


def _name(value: Any) -> Any:
    """A scalar as text: a data frame has numbers where a file had texts."""
    if isinstance(value, list | dict):
        raise ValueError("must be a text or a number")
    return None if value is None else scalar_text(value) or None


def _scale(value: Any) -> Any:
    scale = parse_scale(value) if isinstance(value, str) else value
    if not isinstance(scale, list | tuple) or len(scale) != 2 or not all(map(_is_number, scale)):
        raise ValueError("must be the lowest and the highest score, as in [1, 5] or '1..5'")
    if not scale[0] < scale[1]:
        raise ValueError("the lowest score comes first and is below the highest")
    return scale


def _probabilities(value: Any) -> Any:
    """A distribution that sums to 1; a list is of the options in their order."""
    named = {str(place): p for place, p in enumerate(value)} if isinstance(value, list) else value
    if not isinstance(named, dict) or not all(_is_number(p) and 0 <= p <= 1 for p in named.values()):
        raise ValueError("must be probabilities from 0 to 1, as in {'a': 0.7, 'b': 0.2, 'tie': 0.1}")
    total = math.fsum(named.values())
    if abs(total - 1) > ROUNDING:
        raise ValueError(f"must sum to 1, and sums to {total:g}")
    return {name: min(p / total, 1.0) for name, p in named.items()}


RowValue = Annotated[Value | None, BeforeValidator(_value)]
Name = Annotated[str | None, BeforeValidator(_name)]


class Vote(BaseModel):
    """One annotator's label, with the certainty that they stated."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="forbid")

    label: Annotated[Value, BeforeValidator(_value)]
    certainty: Annotated[float, Field(ge=0, le=1)] | None = None


class ExternalVerdict(BaseModel):
    """One verdict; other fields are attributes where they are short."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False, extra="allow")

    id: Annotated[str, BeforeValidator(_name), Field(validation_alias=AliasChoices("id", "item_id"))]
    prediction: RowValue
    prediction_swapped: RowValue = None
    label: RowValue = None
    votes: tuple[Annotated[Vote, BeforeValidator(_vote)], ...] = ()
    categories: tuple[str, ...] = ()
    options: Annotated[int, Field(ge=2, le=MOST_OPTIONS)] | None = None
    certainty: Annotated[float, Field(ge=0, le=100)] | None = None
    certainty_scale: Literal[1, 100] | None = None
    distribution: Annotated[dict[str, float], BeforeValidator(_probabilities)] | None = None
    scores: tuple[ScoreNumber, ...] = ()
    scale: Annotated[tuple[ScoreNumber, ScoreNumber], BeforeValidator(_scale)] | None = None
    rationale: str = ""
    reason: UnscoredReason | None = None
    group: Name = None
    aspect: Name = None
    system: Name = None
    systems: tuple[Name, ...] = ()
    lengths: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] = ()
    judge: Annotated[str, BeforeValidator(lambda value: _name(value) or "")] = ""
    setting: Annotated[str, BeforeValidator(lambda value: _name(value) or "")] = ""

    @model_validator(mode="before")
    @classmethod
    def _without_missing_values(cls, content: Any) -> Any:
        """Without fields that are null or NaN, as data frames write a missing value; no prediction is null."""
        if not isinstance(content, dict):
            return content
        fields = {name: None if missing else value for name, value in content.items()
                  if not (missing := value is None or value != value) or name == "prediction"}  # fmt: skip
        categories = fields.get("categories")
        return {**fields, **_named(fields, categories)} if categories else fields

    @property
    def case_id(self) -> str:
        return self.id if self.aspect is None else f"{self.id}#{self.aspect}"

    @property
    def kind(self) -> Kind | None:
        """What the verdict and the label are; None where nothing says it."""
        if self.categories:
            return "categories"
        if self.options is not None:
            return "indexes of options"
        values = [value for value in (self.prediction, self.label) if value is not None]
        values += [vote.label for vote in self.votes]
        if not values:
            return "letters" if self.prediction_swapped is not None else None
        return "scores" if _is_number(values[0]) else "letters"

    @property
    def candidates(self) -> int | None:
        """How many texts the verdict is about; None where nothing says it."""
        return self.options or {"letters": 2, "scores": 1, "categories": 1}.get(self.kind or "")

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        voted = [(f"votes.{place}", vote.label) for place, vote in enumerate(self.votes)]
        for name, value in (("prediction", self.prediction), ("label", self.label), *voted):
            if value is not None:
                self._check(name, value)
        if self.prediction_swapped is not None:
            if self.kind != "letters":
                raise ValueError(f"prediction_swapped is for pairs, but the row's verdicts are {self.kind}")
            self._check("prediction_swapped", self.prediction_swapped)
        return self

    def _check(self, name: str, value: Value) -> None:
        if isinstance(value, Category):
            return
        if _is_number(value) == (self.kind == "letters"):
            raise ValueError(f"{name} is {shown(value)}, but the row's verdicts are {self.kind}")
        if self.options is not None and (value not in range(self.options)):
            raise ValueError(f"{name} is {shown(value)}, which is not the index of one of {self.options} options")
        if isinstance(value, float | int) and self.kind == "scores":
            self._check_scale(name, value)
        for score in value if isinstance(value, tuple) else ():
            self._check_scale(name, score)

    def _check_scale(self, name: str, score: float) -> None:
        if self.scale is not None and not self.scale[0] <= score <= self.scale[1]:
            raise ValueError(f"{name} is {score:g}, which is not on the scale {self.scale[0]:g}..{self.scale[1]:g}")

    @model_validator(mode="after")
    def _names_texts_that_exist(self) -> Self:
        count = self.candidates or max(len(self.lengths), len(self.systems), len(self.scores))
        for name in ("lengths", "systems", "scores"):
            values = getattr(self, name)
            if values and len(values) != count:
                raise ValueError(f"{name} are of {len(values)} texts, but there are {count}")
        if self.system is not None and count > 1:
            raise ValueError(
                f"system is {shown(self.system)}, but there are {count} texts; give systems, a list of each"
            )
        if self.scores and (count == 1 or isinstance(self.prediction, tuple)):
            raise ValueError(f"scores is {shown(self.scores)}, but the prediction is a score itself; leave scores out")
        labels = self.categories or (LETTERS if self.kind == "letters" else tuple(map(str, range(count))))
        if self.distribution is not None and (self.kind == "scores" or not set(self.distribution) <= set(labels)):
            named = ", ".join(map(repr, self.distribution))
            raise ValueError(f"distribution is of {named}, but the row's verdicts are {self.kind}")
        return self
