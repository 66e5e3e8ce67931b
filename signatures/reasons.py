"""The reason for a verdict that is settled, and which verdict a reason speaks for."""

from typing import Literal

import dspy


class ExplainVerdict(dspy.Signature):
    """A judge has settled on a verdict about one response or several. Say why, in one to three sentences: name what in
    the texts speaks for exactly this verdict, and where it is. Do not change the verdict, and do not argue for another
    one. With a profile, say what this person would care about."""

    request: str = dspy.InputField()
    context: str = dspy.InputField(desc="what a response must rest on")
    reference: str = dspy.InputField(desc="a right answer, as people wrote it")
    profile: str = dspy.InputField(desc="the person for whom the judge decides")
    responses: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what is judged")
    evidence: str = dspy.InputField(desc="how the judge read each criterion")
    verdict: str = dspy.InputField(desc="settled; the reason is for this one")
    correction: str = dspy.InputField(desc="what was wrong with an earlier reason")
    reason: str = dspy.OutputField(desc="why this is the verdict, in one to three sentences")


class SpeaksFor(dspy.Signature):
    """You read the reason that somebody gave for a verdict, and say which of the verdicts it speaks for. Judge the
    reason alone."""

    reason: str = dspy.InputField()
    verdicts: str = dspy.InputField(desc="one of them is the answer")
    speaks_for: Literal["A", "B", "C"] = dspy.OutputField(desc="Which verdict does the reason speak for?")
