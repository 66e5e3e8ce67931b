"""A language model that answers from a function; requests pass through the same adapter, cache and ledger as real ones.

Example:
    >>> lm = ScriptedLM(lambda request: {"token_probabilities": {"A": 0.9, "B": 0.1}})
    >>> lm("Which one is better?", logprobs=True)[0]["text"]
    'A'
    >>> len(lm.requests)
    1
"""

import itertools
import json
from collections.abc import Callable, Mapping
from math import log
from typing import Any

from dspy.lm15 import Message, Request, Response, TextPart, TokenLogprob, TopLogprob, Usage

from ..engines.answer_store import AnswerStore
from ..engines.lm import MeteredLM, Transport
from .schema import DEFAULT_PROBABILITIES, smallest_value

Answer = str | Mapping[str, Any] | Exception
TOKENS = "token_probabilities"
_numbers = itertools.count()


class ScriptedLM(MeteredLM):
    """A `dspy.LM` whose answers a test decides.

    It answers a judge inside `with dspy.context(lm=...)`, where no model is bound to the judge's stages.

    Args:
        answer: what the model answers to a request: a text; a mapping, sent as JSON; {"token_probabilities": {token:
            probability}}, the distribution of the next token, or a list of these, one a token; or an exception, which
            is raised. A value answers every request, a function each by its text (`prompt_text`) or expected fields
            (`answer_fields`). None gives the smallest value that the request's schema allows, or a fixed distribution
            where tokens are read.
        cache: whether a repeated request is answered from memory.
        schema: whether the model enforces a JSON schema, as most servers do.
    """

    def __init__(
        self, answer: Callable[[Request], Answer] | Answer | None = None, *, cache: bool = False, schema: bool = True
    ) -> None:
        self._script = _Script(answer)
        name = f"scripted/{next(_numbers)}"
        transport = Transport(self._script, wire_model=name, pricing=None, schema=schema, attempts=1)
        super().__init__(name, transport, cache=cache, store=AnswerStore(None))

    @property
    def requests(self) -> list[Request]:
        """The requests so far; a request that the cache answered is not among them."""
        return self._script.requests


class _Script:
    """The engine below a ScriptedLM."""

    def __init__(self, answer: Callable[[Request], Answer] | Answer | None) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answer(request) if callable(self.answer) else self.answer
        if answer is None:
            answer = _default(request)
        if isinstance(answer, Exception):
            raise answer
        logprobs = None
        if isinstance(answer, Mapping) and set(answer) == {TOKENS}:
            tokens = answer[TOKENS]
            logprobs = tuple(_logprob(token) for token in ([tokens] if isinstance(tokens, Mapping) else tokens))
            text = "".join(token.token for token in logprobs)
        else:
            text = answer if isinstance(answer, str) else json.dumps(answer)
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Usage(input_tokens=10, output_tokens=2),
            logprobs=logprobs,
        )

    def close(self) -> None:
        pass


def prompt_text(request: Request) -> str:
    """The whole text of a request: system prompt and messages, joined by newlines."""
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    return "\n".join([system, *(message.text or "" for message in request.messages)])


def answer_fields(request: Request) -> set[str]:
    """The names of the fields that a JSON answer must hold; empty where the request has no schema."""
    return set(_schema(request).get("properties", {}))


def _schema(request: Request) -> dict[str, Any]:
    schema: dict[str, Any] = (request.config.response_format or {}).get("schema", {})
    return schema


def _logprob(probabilities: Mapping[str, float]) -> TokenLogprob:
    """A token, the first of those named, with its alternatives."""
    top = tuple(TopLogprob(token=token, logprob=log(p)) for token, p in probabilities.items() if p > 0)
    return TokenLogprob(token=top[0].token, logprob=top[0].logprob, top=top)


def _default(request: Request) -> Answer:
    if request.config.logprobs is not None:
        return {TOKENS: DEFAULT_PROBABILITIES}
    value = smallest_value(_schema(request))
    return value if isinstance(value, dict) else str(value)
