"""Scoring without a reference: explicit, implicit and pairwise forms (arXiv 2304.00723, section 3 and appendix).

The wording is ours; what the forms differ in is the paper's. What was to be written and by which aspect it is judged
are inputs, so that one program serves summaries, dialogues, stories, paraphrases and whatever a user describes.
"""

from typing import Literal

import dspy
from dspy.experimental import Noul

from .scales import OneToFiveStars, Percent


class Rated(dspy.Signature):
    """One text to score by one aspect."""

    task: str = dspy.InputField(desc="what the text is")
    source: str = dspy.InputField()
    text: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what to judge")


class RatedWithEnds(Rated):
    """One text to score, with the two ends of the scale described."""

    worst: str = dspy.InputField(desc="what 0 means")
    best: str = dspy.InputField(desc="what 100 means")


class ExplicitV1(RatedWithEnds):
    """Score the text by the aspect on a continuous scale from 0 to 100. 0 means the worst, 100 the best, as described."""  # noqa: E501

    score: Percent = dspy.OutputField()


class ExplicitV2(RatedWithEnds):
    """Where does the text stand in this aspect? Say a number: zero for as bad as the worst described, a hundred for as
    good as the best, anything between otherwise.
    """

    score: Percent = dspy.OutputField()


class ExplicitV3(Rated):
    """Score the text from 0 (worst) to 100 (best), considering the aspect alone."""

    score: Percent = dspy.OutputField()


class RatedWithStars(Rated):
    """One text to score, with five levels described."""

    levels: str = dspy.InputField(desc="what each number of stars means")


class ExplicitV4(RatedWithStars):
    """Give the text one to five stars by the aspect; choose the level whose description fits best."""

    stars: OneToFiveStars = dspy.OutputField(desc="How many stars does the text deserve?")


class ExplicitV5(RatedWithEnds):
    """First describe in one or two sentences how the text does in the aspect, then score it from 0 to 100."""

    reason: str = dspy.OutputField(desc="what is good and bad in the text by the aspect")
    score: Percent = dspy.OutputField(desc="0 for the worst, 100 for the best")


class IsGood(Rated):
    """Answer one question about the text with Yes or No."""

    good: Noul[(True, "Yes"), (False, "No")] = dspy.OutputField(desc="Is the text good by the aspect?")


class Compared(dspy.Signature):
    """Two texts to compare by one aspect."""

    task: str = dspy.InputField(desc="what the texts are")
    source: str = dspy.InputField()
    text_a: str = dspy.InputField()
    text_b: str = dspy.InputField()
    aspect: str = dspy.InputField(desc="what to judge")


class ComparedQuestionFirst(dspy.Signature):
    """The same, with the question before the texts."""

    aspect: str = dspy.InputField(desc="which text is better by this aspect?")
    task: str = dspy.InputField(desc="what the texts are")
    source: str = dspy.InputField()
    text_a: str = dspy.InputField()
    text_b: str = dspy.InputField()


class PairwiseV1(Compared):
    """Compare two texts by the aspect: is A better, is B better, or are they equally good (C)?"""

    better: Literal["A", "B", "C"] = dspy.OutputField(
        desc="Which text is better, A or B, or C if they are equally good?"
    )


class PairwiseV2(ComparedQuestionFirst):
    """Two texts follow the question which of them is better by an aspect: A, B, or C for equally good."""

    better: Literal["A", "B", "C"] = dspy.OutputField(desc="Your answer, A, B or C?")


class PairwiseV3(Compared):
    """Compare two texts by the aspect: is A worse, is B worse, or are they equally good (C)?"""

    worse: Literal["A", "B", "C"] = dspy.OutputField(desc="Which text is worse, A or B, or C if they are equally good?")


class PairwiseV4(Compared):
    """Compare two texts by the aspect: give your reason first, then say which is better, or C if they are equally good."""  # noqa: E501

    reason: str = dspy.OutputField(desc="one or two sentences on what sets them apart")
    better: Literal["A", "B", "C"] = dspy.OutputField(
        desc="Which text is better, A or B, or C if they are equally good?"
    )
