"""Question banks: many short questions about a text, or about two, each answered by one token.

`question_banks.yaml` holds banks for responses, summaries, stories and dialogues. A user can write another YAML file of
the same form; `dicast compile --criteria learn` writes one too.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from ..errors import DeclarationError
from ..parsing import parse_record, parse_yaml, read_yaml
from .case import NonEmpty, Record, Text, encodable

DEFAULT_BANK, NO_BANK = "response", "none"
MOST_QUESTIONS = 200  # of a bank
LONGEST_QUESTION = 300  # characters; it is asked as one line
SUFFIXES = (".yaml", ".yml")
NEEDS = (
    "It needs `questions`, a list of {name, ask}; each may have answer: yes-no or levels, about: text or pair, "
    "sign: 1 or -1, aspects and source (docs/questions.md)."
)
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def _one_line(text: str) -> str:
    if UNSEEN.search(text):
        raise ValueError("has a line break or a control character; write it as one line")
    return text


Line = Annotated[
    str,
    StringConstraints(min_length=1, max_length=LONGEST_QUESTION, strip_whitespace=True),
    AfterValidator(encodable),
    AfterValidator(_one_line),
]


class BankQuestion(Record):
    """One question of a bank."""

    name: Line = Field(
        max_length=60, pattern="^[^:]*$", description="a short name without a colon, which its finding and weight have"
    )
    ask: Line = Field(description="the question itself, in one line")
    answer: Literal["yes-no", "levels"] = Field(
        default="yes-no", description="what is answered about a text; about two texts it is always A or B"
    )
    about: Literal["text", "pair"] = Field(default="text", description="what is shown: one text, or both of a pair")
    sign: Literal[1, -1] = Field(
        default=1, description="1: yes, a high level or A speaks for the text; -1: it speaks against it"
    )
    aspects: tuple[NonEmpty, ...] = Field(
        default=(), description="aspects of cases for which it counts without a head; empty: for all"
    )
    source: Text = Field(default="", description="where the question comes from")

    @field_validator("aspects", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value


class QuestionBank(Record):
    """Questions that are asked of every case."""

    task: Text = Field(default="", description="what the texts are, in a sentence before them; may be empty")
    questions: tuple[BankQuestion, ...] = Field(
        min_length=1, max_length=MOST_QUESTIONS, description="in the order in which they are asked"
    )

    @model_validator(mode="after")
    def _differ(self) -> "QuestionBank":
        for field, values in (
            ("name", [question.name for question in self.questions]),
            ("question", [question.ask for question in self.questions]),
        ):
            if repeated := first_repeated(values):
                raise ValueError(f"the {field} {repeated!r} is there twice; keep one of them")
        return self


def first_repeated(values: Iterable[str]) -> str | None:
    """The first value that equals an earlier one but for case; None where all differ."""
    seen: set[str] = set()
    for value in values:
        if value.casefold() in seen:
            return value
        seen.add(value.casefold())
    return None


def question_bank(described: str) -> QuestionBank | None:
    """The bank of a name in `question_banks.yaml` or of a YAML file; None for "none".

    Raises:
        DeclarationError: no such name, or a file that cannot be read or is no bank.
    """
    if described == NO_BANK:
        return None
    if described.endswith(SUFFIXES):
        advice = "Give a YAML file with `questions`."
        content = read_yaml(Path(described), f"bank {described}", error=DeclarationError, advice=advice)
        return parse_bank(content, f"bank {described}")
    known = ready_banks()
    if described not in known:
        listed = ", ".join([*known, NO_BANK])
        raise DeclarationError(f"bank: there is no bank {described!r}. Use one of {listed}, or a .yaml file.")
    return known[described]


def parse_bank(content: Any, where: str) -> QuestionBank:
    """The bank that a value of a YAML file describes; `where` begins the message of a DeclarationError."""
    return parse_record(QuestionBank, content, where, error=DeclarationError, advice=NEEDS)


@cache
def ready_banks() -> dict[str, QuestionBank]:
    """The banks that the package has, by name."""
    text = files(__package__).joinpath("question_banks.yaml").read_text(encoding="utf-8")
    return {name: QuestionBank.model_validate(bank) for name, bank in parse_yaml(text, "question_banks.yaml").items()}
