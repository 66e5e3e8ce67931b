"""A published judgment in one form, whatever set it is of, and the sets whose rows can be read.

A set's module registers a function from a row, as it was published, to judgments. Rows that cannot be used raise
`UnusableRow` with a reason, and are counted; a row of another shape is an error.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import Field, model_validator

from ...data.case import Candidate, Case, Letter, Record, Scores, Text, Winner, digest
from ...errors import DataError
from ...parsing import explain
from ...registry import Registry

WRONG_SHAPE = (KeyError, IndexError, TypeError, AttributeError, ValueError)  # what a row of another shape raises
NUMBERED = re.compile(r"\b(?P<noun>[Rr]esponse|[Aa]ssistant|[Aa]nswer)(?P<apart>[ _]?)(?P<number>[12])\b")
Row = Mapping[str, Any]


class SetJudgment(Record):
    """What somebody said of one response, or of two, to a request."""

    id: str = Field(description="unique in its set")
    source: str = Field(description="the set's name")
    request: Text = Field(description="what the responses answer")
    responses: tuple[Text, ...] = Field(min_length=1, max_length=2, description="one response, or the two compared")
    judgment: Text = Field(default="", description="what was said, in words; responses are called A and B")
    winner: Letter | None = Field(default=None, description="of two responses; None: the scores say it")
    scores: tuple[float, ...] | None = Field(default=None, description="one per response")
    scale: tuple[float, float] = Field(default=(1, 10), description="of the scores")
    criterion: Text = Field(default="", description="what was judged, where the set says it")
    guideline: Text = Field(default="", description="what each score 1..5 means, where the set says it")

    @model_validator(mode="after")
    def _says_who_won_or_how_well(self) -> Self:
        if self.scores is not None and len(self.scores) != len(self.responses):
            raise ValueError(f"{len(self.scores)} scores for {len(self.responses)} responses")
        if self.scores is None and (self.winner is None or len(self.responses) != 2):
            raise ValueError("there is neither a score nor the winner of a pair")
        return self

    @property
    def case(self) -> Case:
        """The judgment as a labelled case; its label is the set's, not of people unless the set's is."""
        label: Scores | Winner
        if self.winner is not None or self.scores is None:
            label = Winner(value=self.winner or "tie")
        else:
            label = Scores(values=self.scores, lo=self.scale[0], hi=self.scale[1])
        return Case(
            id=self.id,
            query=self.request,
            candidates=tuple(Candidate(text=text) for text in self.responses),
            label=label,
            group=digest(self.request),
            meta={"source": self.source},
        )


class UnusableRow(Exception):
    """A row cannot be used; the message is the reason, in words that are counted."""


@dataclass(frozen=True)
class JudgmentSet:
    """How the rows of a published set are read.

    Attributes:
        name: as users write it.
        title: the set and its paper.
        licence: of the data, as its publisher states it.
        read: the judgments of a row; `number` makes ids where rows have none.
    """

    name: str
    title: str
    licence: str
    read: Callable[[Row, int], Iterable[SetJudgment]]


SETS: Registry[JudgmentSet] = Registry("judgment set", ".distillation.bridging", "dicast.judgment_sets")


@dataclass
class ReadCounts:
    """How many rows were read, and why some were left out."""

    rows: int = 0
    judgments: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


def read_judgments(name: str, rows: Iterable[Row], counts: ReadCounts | None = None) -> Iterator[SetJudgment]:
    """The judgments of a set's rows, as they were published.

    Args:
        name: of the set.
        counts: filled in as rows are read.

    Raises:
        DeclarationError: an unknown set.
        DataError: a row of another shape.
    """
    judgment_set, counts = SETS.find(name), counts or ReadCounts()
    for number, row in enumerate(rows):
        counts.rows += 1
        try:
            judgments = list(judgment_set.read(row, number))
        except UnusableRow as reason:
            counts.left_out[str(reason)] += 1
            continue
        except WRONG_SHAPE as error:
            reason_text = f"field {error} is missing." if isinstance(error, KeyError) else explain(error)
            raise DataError(f"{name}: row {number}: {reason_text} Give the rows as the set is published.") from None
        counts.judgments += len(judgments)
        yield from judgments


def in_letters(text: str) -> str:
    """The words of a judgment with the responses called A and B, as dicast's judges call them.

    Example:
        >>> in_letters("Response 1 is short, and Assistant 2's is long.")
        "Response A is short, and Response B's is long."
    """
    return NUMBERED.sub(lambda named: f"Response {'AB'[int(named['number']) - 1]}", text)
