"""A row of a training set: a conversation whose last message is learnt, as words or as one token's probabilities."""

from typing import Literal, Self

from pydantic import Field, model_validator

from ..data.case import Record, Text
from ..data.verdict import Order, Probability

TOLERANCE = 1e-6  # of the sum of the targets


class ChatMessage(Record):
    """One message of a conversation with an LM."""

    role: Literal["system", "user", "assistant"] = Field(description="who speaks")
    content: Text = Field(description="what is said")


class TrainingRow(Record):
    """What a student learns of one question.

    Raises:
        pydantic.ValidationError: the last message is not the assistant's, targets do not sum to 1, or the answer is not
            the most probable target.
    """

    task: str = Field(description="what is asked, as in fennec.pairwise; mixing counts by it")
    messages: tuple[ChatMessage, ...] = Field(min_length=2, description="the conversation; the last one is the answer")
    targets: dict[str, Probability] = Field(
        default_factory=dict,
        description="token -> probability, to be learnt on the answer's one token; empty: learn the answer's words",
    )
    case_id: str = Field(description="the case that the question is about")
    group: str = Field(description="what must not straddle train and validation")
    order: Order | None = Field(default=None, description="how a pair was shown; None: the question shows no pair")
    source: str = Field(description='"traces", "labels", "histories" or "bridged:NAME"')
    weight: float = Field(default=1.0, gt=0, description="in the loss")

    @model_validator(mode="after")
    def _ends_with_what_is_learnt(self) -> Self:
        if self.messages[-1].role != "assistant":
            raise ValueError(f"the last message is of the {self.messages[-1].role}, not of the assistant")
        if self.targets and abs(sum(self.targets.values()) - 1) > TOLERANCE:
            raise ValueError(f"the targets sum to {sum(self.targets.values()):g}, not to 1")
        if self.targets and self.targets.get(self.answer, -1.0) < max(self.targets.values()):
            raise ValueError(f"the answer {self.answer!r} is not the most probable target")
        return self

    @property
    def answer(self) -> str:
        """What the last message says."""
        return self.messages[-1].content

    @property
    def prompt(self) -> tuple[ChatMessage, ...]:
        """The messages before the answer."""
        return self.messages[:-1]


def most_probable(targets: dict[str, float]) -> str:
    """The token of the highest probability; of equal ones the first.

    Example:
        >>> most_probable({"A": 0.2, "B": 0.4, "C": 0.4})
        'B'
    """
    return max(targets, key=lambda token: targets[token])
