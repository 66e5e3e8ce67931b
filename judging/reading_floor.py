"""How much of the probability the options of a question must hold, for its answer to count as read.

A model that begins with a thought, a line break or "The" gives the offered letters and digits next to nothing. What is
read from that remainder is noise that looks like an answer, so such a case is unscored with the reason `unreadable`.
docs/measuring.md says how much models give.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import Unreadable
from .hparam import HParam

LEAST_MASS = 0.05
MOST_SHOWN = 24  # characters of a token
# Tokens that begin a thought: <think>, [THINK], <|channel|>, analysis, <, Okay, ...
THOUGHT = re.compile(r"think|thought|reason|analysis|channel|^(<|okay|hmm)\W*$", re.IGNORECASE)

_least: ContextVar[float] = ContextVar("dicast_least_mass", default=LEAST_MASS)


def min_mass_parameter() -> HParam:
    """The parameter `min_mass` of a judge whose questions can be read from probabilities; `Judge` applies it."""
    about = "the least probability that the options of a question must hold together; below it a case is unscored"
    return HParam(LEAST_MASS, least=0.0, most=1.0, search=(), implied=True, about=about)


@contextmanager
def reading_from(least: float) -> Iterator[None]:
    """Inside, a question is read if its options hold at least this probability, in [0, 1]."""
    token = _least.set(least)
    try:
        yield
    finally:
        _least.reset(token)


def check_mass(who: str, answer: Mapping[str, Any]) -> None:
    """Refuse an answer of a decision LM whose options hold too little; an answer without `mass_read` passes.

    Args:
        who: the stage and the question.
        answer: `mass_read`, and `tokens`, the most probable ones with their probabilities.

    Raises:
        Unreadable: with the tokens that the model gave instead, and what to do.
    """
    mass, least = answer.get("mass_read", 1.0), _least.get()
    if mass >= least:
        return
    raise Unreadable(
        f"{who}: the options hold {mass:.2%} of the probability, less than {100 * least:g}%. {instead(answer)}"
        f"{_advice(answer)}"
    )


def _advice(answer: Mapping[str, Any]) -> str:
    """What to do about the tokens that the model gives instead of the options."""
    tokens = [str(token).strip() for token, _ in answer.get("tokens", ())]
    if not tokens:
        return "Use --readout generate, or another model."
    if any(map(THOUGHT.search, tokens)):
        return "Use --readout generate or auto, another model, or a chat template that does not begin with thinking."
    return "The model ignores the options that it is asked to choose from. Use --readout generate, or another model."


def instead(answer: Mapping[str, Any]) -> str:
    """What the model would have said, as a sentence; empty where the reader did not say."""
    tokens = ", ".join(f"{token[:MOST_SHOWN]!r} {p:.0%}" for token, p in answer.get("tokens", ()))
    return f"The model's first token is {tokens}. " if tokens else ""
