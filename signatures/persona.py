"""Which of two texts one person would prefer, or wrote, given who they are (arXiv 2406.11657, section 3).

Each question is asked in three settings: the choice alone; with a certainty 1..100 that the model states, on a scale of
five bands of evidence; with a tie allowed. Where nothing is known of the person, an impartial question is asked that
names nobody, as in the paper's runs without a persona (its appendix A.5). Our own wording.

The sets of the paper ask: PRISM prefers; PR (posts of made-up people) wrote-answer; EC (essays on news) wrote, with a
tie prefers; OpinionQA would-answer.
"""

from functools import cache
from typing import Any, Literal

import dspy

from .scales import Certainty


class PlainPair(dspy.Signature):
    """A question and two responses to it."""

    question: str = dspy.InputField()
    response_a: str = dspy.InputField()
    response_b: str = dspy.InputField()


class PersonaPair(dspy.Signature):
    """A person, a question and two responses to it."""

    person: str = dspy.InputField(desc="who the person is")
    question: str = dspy.InputField()
    response_a: str = dspy.InputField()
    response_b: str = dspy.InputField()


class PreferAsPerson(PersonaPair):
    """Say which of two responses to a question this person would prefer, given who they are."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response would this person prefer, A or B?")


class WrittenByPerson(PersonaPair):
    """Say which of two responses this person wrote, given who they are."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response did this person write, A or B?")


class AnswerByPerson(PersonaPair):
    """Of two questions with an answer each, say which answer this person wrote, given who they are."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Of which pair did this person write the answer, A or B?")


class AnswerOfPerson(PersonaPair):
    """Say which of two answers to a question this person would give, given who they are."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which answer would this person give, A or B?")


class BetterResponse(PlainPair):
    """As an impartial judge, say which of two responses to a question is better."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response is better, A or B?")


class MostReasonable(PlainPair):
    """Say which of two responses is the more reasonable one."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response is more reasonable, A or B?")


class OwnAnswer(PlainPair):
    """Answer a question by choosing one of two answers."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which is the answer, A or B?")


QUESTIONS: dict[str, Any] = {
    "prefers": PreferAsPerson,
    "wrote": WrittenByPerson,
    "wrote-answer": AnswerByPerson,
    "would-answer": AnswerOfPerson,
    "better": BetterResponse,
    "most-reasonable": MostReasonable,
    "answer": OwnAnswer,
}
# What is asked where nothing is known of the person; the last three ask of nobody anyway.
IMPARTIAL = {
    "prefers": "better",
    "wrote": "most-reasonable",
    "wrote-answer": "most-reasonable",
    "would-answer": "answer",
    "better": "better",
    "most-reasonable": "most-reasonable",
    "answer": "answer",
}

# The bands are the paper's (the threshold 80 of its tables is the edge of the last), the words ours.
BANDS = """
Say also how certain you are, from 1 to 100, by what {known} tells:
1-20: too little to go by, or hints that are weak or indirect
21-40: something speaks for the choice, but it is incomplete and leaves room for the other one
41-60: clear evidence for the choice that does not settle it
61-80: strong evidence for the choice and hardly any doubt
81-100: direct and explicit evidence that settles the choice"""


@cache  # judges share their signatures
def asks_for_certainty(signature: Any) -> Any:
    """The question with the certainty 1..100 that the model states, by the five bands of evidence."""
    known = "the profile of the person" if "person" in signature.input_fields else "the question and the texts"
    stated = signature.append("certainty", dspy.OutputField(), type_=Certainty)
    return _named(signature, "Sure", stated.with_instructions(signature.instructions + BANDS.format(known=known)))


@cache
def allows_tie(signature: Any) -> Any:
    """The question with a third answer, C for a tie."""
    wording = signature.output_fields["preferred"].json_schema_extra["desc"].removesuffix("A or B?")
    changed = signature.with_updated_fields(
        "preferred", type_=Literal["A", "B", "C"], desc=wording + "A or B, or C for a tie?"
    )
    return _named(signature, "OrTie", changed.with_instructions(signature.instructions + " C is a tie."))


def _named(signature: type[dspy.Signature], suffix: str, changed: type[dspy.Signature]) -> type[dspy.Signature]:
    changed.__name__ = signature.__name__ + suffix
    return changed
