"""The simplest judge: one question, no criteria (pairwise and single grading, arXiv 2306.05685)."""

from typing import Literal

import dspy

from .scales import OneToFive


class Pair(dspy.Signature):
    """Two responses to one request, as they are shown."""

    request: str = dspy.InputField()
    response_a: str = dspy.InputField()
    response_b: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what to judge")


class Single(dspy.Signature):
    """One response to one request."""

    request: str = dspy.InputField()
    response: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what to judge")


class Prefer(Pair):
    """You compare two responses to a request and say which is better: correct, does what was asked, helpful."""

    better: Literal["A", "B"] = dspy.OutputField(desc="Which response is better, A or B?")


class Grade(Single):
    """You grade a response to a request from 1 (very poor) to 5 (excellent): correct, does what was asked, helpful."""

    score: OneToFive = dspy.OutputField(desc="How good is the response?")


class FirstOfTwo(dspy.Signature):
    """One response to one request, shown as the first of two, so that the prompt begins as that of the pair does."""

    request: str = dspy.InputField()
    response_a: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what to judge")


SHARED = "You judge responses to a request: correct, does what was asked, helpful."


class SharedPrefer(Pair):
    __doc__ = SHARED

    better: Literal["A", "B"] = dspy.OutputField(desc="Which response is better, A or B?")


class SharedGrade(FirstOfTwo):
    __doc__ = SHARED

    score: OneToFive = dspy.OutputField(desc="How good is response A, from 1 (very poor) to 5 (excellent)?")
