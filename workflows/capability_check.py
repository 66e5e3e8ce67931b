"""What `dicast check --lm` says of a model: the card of what it can do, asked anew, and how it is read."""

from typing import Any, Literal

import dspy

from ..engines.lm import MeteredLM
from ..errors import DicastError, ModelError, NoTokenProbabilities, Unreadable
from ..evaluation.metrics.mass_read import LITTLE
from ..judging.question import Question
from ..judging.reading_floor import reading_from
from ..judging.reading_ways import gives_no_tokens
from ..judging.stage import Stage
from ..signatures.direct import Grade, Prefer


class SmallerNumber(dspy.Signature):
    """Which number is smaller?"""

    first: int = dspy.InputField()
    second: int = dspy.InputField()
    smaller: Literal["first", "second"] = dspy.OutputField()


def asked_anew(lm: MeteredLM) -> tuple[bool, str]:
    """Whether anything can be read from a model, and what it answers to three short questions; its card is new then."""
    lm.transport.card.forget()
    writes, (readable, reads) = _writes(lm), _reads(lm)
    return readable, f"{writes}; {reads}"


def card_text(lm: MeteredLM) -> str:
    """The card of a model in a line."""
    return "; ".join(f"{name}: {answer}" for name, answer in lm.transport.card.now.lines())


def _writes(lm: Any) -> str:
    """The model's written answer to a question."""
    with dspy.context(lm=lm):
        answer = Stage(SmallerNumber, "check", max_tokens=64)(first=2, second=7).smaller
    return f"answers ({answer!r} to 'which is smaller: first 2, second 7')"


def _reads(lm: MeteredLM) -> tuple[bool, str]:
    """Whether letters and levels can be read from the model's token probabilities, and how much of them was read."""
    question = {"readout": "probability", "request": "2 + 2?", "aspect": "correctness"}
    try:
        with dspy.context(lm=lm), reading_from(LITTLE):
            letter = Question(Prefer, "check")(**question, response_a="4", response_b="5")
            level = Question(Grade, "check")(**question, response="4")
    except DicastError as error:
        card = lm.transport.card
        is_without = gives_no_tokens(error, card.now)
        if is_without:
            card.learn(lambda card: card.model_copy(update={"way": card.way_without_tokens}))
        if isinstance(error, Unreadable):
            return False, f"token probabilities are of other tokens: {error}"
        if is_without or isinstance(error, (ModelError, NoTokenProbabilities)):
            return True, f"token probabilities no: use --readout auto or generate ({error})"
        return False, f"token probabilities cannot be read: {error}"
    masses = [answer.mass_read for answer in (letter, level) if answer.mass_read is not None]
    return True, f"token probabilities yes (mass read {min(masses, default=0):.2f})"
