"""Which answers were cut at the most tokens that they may have: a reason why an answer has the wrong form."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dspy.lm15 import Response

LOOP = 40  # characters at the end of a text that it has before, too

_cuts: ContextVar[list[str] | None] = ContextVar("dicast_cut_answers", default=None)


@contextmanager
def noting_cuts() -> Iterator[list[str]]:
    """The texts of the answers inside that were cut."""
    cuts: list[str] = []
    token = _cuts.set(cuts)
    try:
        yield cuts
    finally:
        _cuts.reset(token)


def note_cut(response: Response) -> None:
    """Note an answer, in the scope of this context, if it was cut."""
    cuts = _cuts.get()
    if cuts is not None and response.finish_reason == "length":
        cuts.append(response.text or "")


def repeats_itself(text: str) -> bool:
    """Whether the end of a text is in it before: a model in a loop, which more room does not help.

    Example:
        >>> repeats_itself("A good answer. " + "It is clear and it is complete, as asked. " * 5)
        True
        >>> repeats_itself("It is clear and it is complete, but it leaves out the second half of what was asked.")
        False
    """
    end = text[-LOOP:]
    return len(end) == LOOP and end in text[:-LOOP]
