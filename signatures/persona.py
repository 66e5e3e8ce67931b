"""Which of two responses one person would prefer, told by who they are (arXiv 2406.11657, section 3).

Three settings: the choice alone; with a certainty 1..100 that the model states; with a tie allowed. Our own wording.
"""

from typing import Literal

import dspy

from .scales import Certainty


class PersonaPair(dspy.Signature):
    """A person, a question and two responses to it."""

    person: str = dspy.InputField(desc="who the person is; nothing when nothing is known")
    question: str = dspy.InputField()
    response_a: str = dspy.InputField()
    response_b: str = dspy.InputField()


class PreferAsPerson(PersonaPair):
    """Say which of two responses to a question this person would prefer, given who they are."""

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response would this person prefer, A or B?")


class PreferAsPersonSure(PersonaPair):
    """Say which of two responses to a question this person would prefer, given who they are, and how certain you are.

    Certainty goes from 1 (a mere guess) to 100 (beyond doubt); say a low one when too little is known of the person.
    """

    preferred: Literal["A", "B"] = dspy.OutputField(desc="Which response would this person prefer, A or B?")
    certainty: Certainty = dspy.OutputField()


class PreferAsPersonOrTie(PersonaPair):
    """Say which of two responses to a question this person would prefer, given who they are, or C for neither."""

    preferred: Literal["A", "B", "C"] = dspy.OutputField(
        desc="Which response would this person prefer, A or B, or C if both alike?"
    )
