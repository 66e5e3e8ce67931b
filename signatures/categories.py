"""Which category one response belongs to: asked as a choice among lettered categories, or as one yes-no question."""

from typing import Literal

import dspy


class OneResponse(dspy.Signature):
    """One response to one request; context and reference are left out where a case has none."""

    request: str = dspy.InputField()
    context: str = dspy.InputField(desc="what the response must rest on")
    reference: str = dspy.InputField(desc="a right answer, as people wrote it")
    response: str = dspy.InputField()


class Classify(OneResponse):
    """You say which of several categories a response to a request belongs to."""

    aspect: str = dspy.InputField(desc="what to judge")
    categories: str = dspy.InputField(desc="one of them is the answer")
    category: Literal["A", "B"] = dspy.OutputField(desc="Which category does the response belong to? Its letter:")


class YesNoOfResponse(OneResponse):
    """You answer one question about a response to a request. Judge by what it says; being long is no merit."""

    question: str = dspy.InputField()
    answer: Literal["yes", "no"] = dspy.OutputField(desc="Your answer, yes or no?")
