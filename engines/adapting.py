"""Calls in the shape that a model takes: what it refuses is left out, thinking is switched off, limits grow.

A model that thinks may use up the tokens of its answer for the thought. Then it is asked again with room for more, in
`STEPS`, and the room is kept on its card, so that later calls have it from the beginning.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial

from dspy.lm15 import ProviderError, RateLimitError, Request, Response, ServerError, UnsupportedFeatureError

from .capabilities import Card, KeptCard
from .reply import ADVICE
from .request_shape import after_answer, after_refusal, is_without_thought, shaped, with_room
from .thoughts import has_thought, reads_tokens, used_up_by_thought, without_thought

STEPS = (1_024, 4_096, 16_384)  # tokens of an answer with its thought
MOST_LESSONS = 12  # of one call

_is_fixed: ContextVar[bool] = ContextVar("dicast_fixed_limit", default=False)


@contextmanager
def fixed_limit(is_fixed: bool) -> Iterator[None]:
    """Inside, the most tokens of an answer are as a user has set them, and do not grow."""
    token = _is_fixed.set(is_fixed)
    try:
        yield
    finally:
        _is_fixed.reset(token)


def no_probabilities(reason: str) -> str:
    """The message where a server refuses to give token probabilities."""
    return f"the model gives no token probabilities: {reason.strip().rstrip('.')}. {ADVICE}"


def next_limit(most: int) -> int | None:
    """The next step above so many tokens; None above the last."""
    return next((step for step in STEPS if step > most), None)


def adapted(request: Request, book: KeptCard, ask: Callable[[Request], Response]) -> Response:
    """The answer to a request, without thoughts in its text, as `ask` gives it to the request in the model's shape.

    Raises:
        LM15Error: of the last call, where nothing can be learned from it.
    """
    cut: Response | None = None
    for _ in range(MOST_LESSONS):
        card = _card(book)
        wire = shaped(request, card)
        try:
            response = without_thought(ask(wire))
        except (RateLimitError, ServerError):
            raise
        except (ProviderError, UnsupportedFeatureError) as error:
            if cut is not None:  # the server allows no more
                return cut
            learned = after_refusal(card, wire, error) if isinstance(error, ProviderError) else card
            if learned == card and "logprobs" not in card.refuses:
                raise
            book.learn(partial(after_refusal, request=wire, error=error))
            if reads_tokens(request) and "logprobs" in learned.refuses:
                raise UnsupportedFeatureError(no_probabilities(str(error.message)), feature="logprobs") from error
            continue
        card = book.learn(partial(after_answer, request=wire, response=response))
        if has_thought(response) and is_without_thought(request, card) and card.next_switch:
            continue
        if reads_tokens(request) or _is_fixed.get() or not used_up_by_thought(response):
            return response
        limit = request.config.max_tokens
        step = None if limit is None else next_limit(limit + card.room)
        if step is None or limit is None:
            return response
        cut = response
        book.learn(partial(with_room, room=step - limit))
    return response if cut is None else cut


def _card(book: KeptCard) -> Card:
    card = book.now
    return card.model_copy(update={"room": 0}) if _is_fixed.get() else card
