"""Replies as the answer store keeps them: what readouts need, as compact JSON, under a key of what was asked.

The key is a digest of the request with the model's identity (its address included) and of the number of the sample. A
reply loses its identifier, its raw body and the bytes of its tokens.
"""

import hashlib
from typing import Any

import orjson
from dspy.lm15 import (
    DataPart,
    Message,
    RefusalPart,
    Request,
    Response,
    TextPart,
    ThinkingPart,
    TokenLogprob,
    TopLogprob,
    Usage,
)

FORMAT = 1  # of keys and answers: answers of another format are never found
TEXTS: dict[str, Any] = {"text": TextPart, "thinking": ThinkingPart, "refusal": RefusalPart}


def key_of_request(request: Request, sample: Any) -> bytes | None:
    """SHA-256 of everything that can change the answer; None for a request that is no JSON.

    Args:
        request: whose model is the LM's identity.
        sample: makes equal requests separate calls; a JSON value.
    """
    try:
        question = orjson.dumps([FORMAT, request, sample], default=str, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return None
    return hashlib.sha256(question).digest()


def pack(response: Response) -> bytes | None:
    """The reply as JSON; None for one with parts that no readout takes, such as tool calls."""
    tokens = [
        [token.token, token.logprob, [[entry.token, entry.logprob] for entry in token.top]]
        for token in response.logprobs or ()
    ]
    usage = [response.usage.input_tokens, response.usage.output_tokens]
    try:
        parts = [_packed(part) for part in response.message.parts]
        return orjson.dumps([response.model, response.finish_reason, usage, parts, tokens])
    except TypeError:
        return None


def unpack(stored: bytes) -> Response | None:
    """The reply of `pack`; None when it is damaged."""
    try:
        model, finish_reason, (input_tokens, output_tokens), parts, tokens = orjson.loads(stored)
        logprobs = tuple(
            TokenLogprob(text, _number(p), top=tuple(TopLogprob(other, _number(q)) for other, q in top))
            for text, p, top in tokens
        )
        return Response(
            id=None,
            model=model,
            message=Message.assistant([_unpacked(*part) for part in parts]),
            finish_reason=finish_reason,
            usage=Usage(input_tokens=input_tokens, output_tokens=output_tokens),
            logprobs=logprobs or None,
        )
    except (ValueError, TypeError, KeyError):
        return None


def _packed(part: Any) -> list[Any]:
    if part.type in TEXTS:
        return [part.type, part.text]
    if isinstance(part, DataPart):
        return [part.type, part.value, part.probabilities, part.method]
    raise TypeError(f"{part.type} parts are not stored")


def _unpacked(kind: str, value: Any, *measured: Any) -> Any:
    return DataPart(value, *measured) if kind == "data" else TEXTS[kind](value)


def _number(logprob: float | None) -> float:
    """A log-probability; JSON has no infinity, for which null is written."""
    return float("-inf") if logprob is None else logprob
