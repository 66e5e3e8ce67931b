"""A scripted LM for unit tests: a function from a request to the answer, on the same path as a real one."""

import itertools
import json
from collections.abc import Callable, Mapping
from math import log
from typing import Any

from dspy.lm15 import Message, Request, Response, TextPart, TokenLogprob, TopLogprob, Usage

from dicast.engines.lm import MeteredLM, Transport

Answer = str | Mapping[str, Any] | Exception
_names = itertools.count()


class Script:
    """A DSPy engine that answers from a function; `requests` holds what it was asked.

    The function returns text, a dict (sent as JSON), {"logprobs": {token: probability}}, or an error to raise.
    """

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Response:
        self.requests.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        logprobs = None
        if isinstance(answer, Mapping) and set(answer) == {"logprobs"}:
            top = tuple(TopLogprob(token=token, logprob=log(p)) for token, p in answer["logprobs"].items())
            logprobs = (TokenLogprob(token=top[0].token, logprob=top[0].logprob, top=top),)
            text = top[0].token
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


def scripted(
    answer: Callable[[Request], Answer], *, cache: bool = False, schema: bool = True
) -> tuple[MeteredLM, Script]:
    """An LM that answers from `answer`, and the script that records its requests."""
    script = Script(answer)
    name = f"scripted/{next(_names)}"
    transport = Transport(script, wire_model=name, pricing=None, schema=schema, most=8)
    return MeteredLM(name, transport, cache=cache, num_retries=0), script


def prompt(request: Request) -> str:
    """All that a request says, as one text."""
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    return "\n".join([system, *(message.text or "" for message in request.messages)])


def asked_for(request: Request) -> set[str]:
    """The names of the fields that a written answer must hold."""
    schema = (request.config.response_format or {}).get("schema", {})
    return set(schema.get("properties", {}))
