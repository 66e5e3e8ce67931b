"""Which answers were cut at the most tokens that they may have: a reason why an answer has the wrong form."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dspy.lm15 import Response

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
