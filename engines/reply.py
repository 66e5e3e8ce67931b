"""What a server's reply must hold before it is stored and read: a message, encodable text, usable log-probabilities.

A reply that does not is an error like one of the server's own: the call is made again, and in the end the judgment is
unscored. Nothing behind this check meets a missing choice, half an emoji or a probability of e to the 1000.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from dspy.lm15 import Request, Response, ServerError, TokenLogprob, UnsupportedFeatureError, Usage

from ..errors import NoTokenProbabilities

ROUNDING = 1e-4  # a log-probability this far above 0 is a rounded 0
MOST_TOKENS = 10**9  # of one call; a greater number is no count
MASS_LIMIT = 2.0  # the alternatives of a token share a probability of 1; servers that round and cut give somewhat more
ADVICE = "Use --readout auto or generate, or a server with logprobs (vLLM, llama.cpp, OpenAI)."
NO_PROBABILITIES = f"{NoTokenProbabilities.words}. {ADVICE}"
CONTENT_KEYS = ("content", "candidates", "output")  # where bodies without `choices` hold the message
TEXT_FIELDS = ("text", "value", "probabilities", "id", "name", "input", "title", "url")  # of a message's parts


class ReplyWithoutProbabilities(ServerError):
    """A reply without the token probabilities that were asked for."""


def check_reply(response: Response, request: Request) -> Response:
    """The reply, with log-probabilities of at most 0 and without numbers of tokens that cannot be.

    Raises:
        ServerError: it cannot be used; the message says what is wrong with it.
        ReplyWithoutProbabilities: the request asks for token probabilities and it holds none.
        UnsupportedFeatureError: the provider has none, and was not even asked for them.
    """
    if not isinstance(response, Response):
        raise _unusable(f"it is a {type(response).__name__}")
    if not all(map(_is_encodable, _texts(response))):
        raise _unusable("its text holds half a character (a lone surrogate)")
    if not _has_message(response):
        raise _unusable("it holds no message")
    usage = response.usage
    if any(count and count > MOST_TOKENS for count in (usage.input_tokens, usage.output_tokens, usage.total_tokens)):
        response = dataclasses.replace(response, usage=Usage())
    if request.config.logprobs is None:
        return response
    if any(adaptation.field == "config.logprobs" for adaptation in response.adaptations):
        raise UnsupportedFeatureError(f"the provider gives no token probabilities. {ADVICE}", feature="logprobs")
    if not response.logprobs:
        raise ReplyWithoutProbabilities(NO_PROBABILITIES, retry_after=0.0)
    checked = tuple(map(_checked, response.logprobs))
    return dataclasses.replace(response, logprobs=checked) if checked != response.logprobs else response


def _unusable(problem: str) -> ServerError:
    return ServerError(f"the server's reply cannot be used: {problem}")


def _has_message(response: Response) -> bool:
    """Whether an empty text is an answer, and not the reader's stand-in for a missing message."""
    body = response.provider_data
    if response.text != "" or not body or any(body.get(key) for key in CONTENT_KEYS):
        return True
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, dict) and isinstance(first.get("message"), dict)


def _checked(token: TokenLogprob) -> TokenLogprob:
    """One position's log-probabilities, none above 0; raises ServerError when they cannot be that."""
    entries = (*token.top, token)
    if not all(_is_encodable(entry.token) for entry in entries):
        raise _unusable("a token holds half a character (a lone surrogate)")
    highest = max(entry.logprob for entry in entries)
    if not all(entry.logprob <= ROUNDING for entry in entries):
        odd = next(entry.logprob for entry in entries if not entry.logprob <= ROUNDING)
        raise _unusable(f"{odd} is not a log-probability")
    if (
        math.fsum(math.exp(logprob) for logprob in {entry.token: entry.logprob for entry in entries}.values())
        > MASS_LIMIT
    ):
        raise _unusable("the probabilities of a token's alternatives add up to far more than 1")
    if highest <= 0:
        return token
    top = tuple(dataclasses.replace(entry, logprob=min(entry.logprob, 0.0)) for entry in token.top)
    return dataclasses.replace(token, logprob=min(token.logprob, 0.0), top=top)


def _texts(response: Response) -> Iterator[Any]:
    yield response.model
    for part in response.message.parts:
        for name in TEXT_FIELDS:
            yield getattr(part, name, None)


def _is_encodable(value: Any) -> bool:
    """Whether every text in nested containers is valid Unicode."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            try:
                item.encode()
            except UnicodeEncodeError:
                return False
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
    return True
