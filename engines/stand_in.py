"""A stand-in for a model: answers of a usual length that hold nothing, to count calls and tokens before any is made.

Prompts are those that a model would get, so that their length is known but for what earlier answers put into them.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from dspy.lm15 import Message, Request, Response, TextPart, TokenLogprob, TopLogprob, Usage

from .answer_store import AnswerStore
from .asked_distributions import DRAW_TOKENS, STATE
from .known_reading import KnownWay
from .lm import MeteredLM, Transport

CHARACTERS_PER_TOKEN = 4.0  # of English text
WORDS = 40  # of a written text
MOST_ITEMS = 10  # of a list without a bound
PROBABILITIES: Mapping[str, float] = {"A": 0.4, "Yes": 0.3, "B": 0.15, "3": 0.1, "No": 0.05}
SAMPLED = "A 3 Yes"
SENTENCE = "the text says what was asked for in clear words and leaves out little "
_numbers = itertools.count()


class StandInLM(MeteredLM):
    """A `dspy.LM` without a model; it answers inside `with dspy.context(lm=...)`, and the ledger counts its calls.

    Args:
        way: how distributions are read with `--readout auto`.
    """

    def __init__(self, way: KnownWay = "tokens") -> None:
        name = f"stand-in/{next(_numbers)}"
        transport = Transport(_StandIn(), wire_model=name, pricing=None, schema=True, attempts=1)
        if way != "tokens":
            transport.card.learn(lambda card: card.model_copy(update={"way": way}))
        super().__init__(name, transport, cache=False, store=AnswerStore(None))


class _StandIn:
    """The engine below."""

    def complete(self, request: Request) -> Response:
        logprobs = None
        if request.config.logprobs is not None:
            top = tuple(TopLogprob(token=token, logprob=math.log(p)) for token, p in PROBABILITIES.items())
            logprobs = (TokenLogprob(token=top[0].token, logprob=top[0].logprob, top=top),)
            text = top[0].token
        else:
            schema: dict[str, Any] = (request.config.response_format or {}).get("schema", {})
            value = usual_value(schema) if schema else _asked_for(request)
            text = value if isinstance(value, str) else json.dumps(value)
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(text)]),
            finish_reason="stop",
            usage=Usage(input_tokens=_tokens(_prompt(request)), output_tokens=_tokens(text)),
            logprobs=logprobs,
        )

    def close(self) -> None:
        pass


def _asked_for(request: Request) -> Any:
    """A sampled letter, which names one option of each kind of question; a stated distribution; or a text."""
    if STATE.partition("{")[0] in _prompt(request):
        return {name: round(100 * p) for name, p in PROBABILITIES.items()}
    return SAMPLED if request.config.max_tokens == DRAW_TOKENS else usual_value({})


def usual_value(
    schema: Mapping[str, Any], root: Mapping[str, Any] | None = None, numbers: Iterator[int] | None = None
) -> Any:
    """A value of a JSON schema as large as a model's answer usually is: lists are full, texts have some words.

    Args:
        schema: a JSON schema, such as the `response_format` of a request holds.
        root: the schema whose `$defs` are referred to; `schema` itself by default.
        numbers: which makes every text another one.

    Example:
        >>> usual_value({"type": "array", "maxItems": 2, "items": {"enum": [1, 2]}})
        [1, 1]
    """
    root, numbers = schema if root is None else root, numbers or itertools.count(1)
    if "$ref" in schema:
        return usual_value(root["$defs"][schema["$ref"].rpartition("/")[2]], root, numbers)
    for union in ("anyOf", "oneOf", "allOf"):
        if schema.get(union):
            return usual_value(schema[union][0], root, numbers)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "array":
            count = min(schema.get("maxItems", MOST_ITEMS), max(MOST_ITEMS, schema.get("minItems", 0)))
            return [usual_value(schema.get("items", {}), root, numbers) for _ in range(count)]
        case "object":
            return {name: usual_value(part, root, numbers) for name, part in schema.get("properties", {}).items()}
        case "integer":
            return schema.get("minimum", 1)
        case "number":
            return float(schema.get("minimum", 1.0))
        case "boolean":
            return True
        case "null":
            return None
    words = f"number {next(numbers)} {SENTENCE * 4}".split()[:WORDS]
    return " ".join(words)[: schema.get("maxLength")]


def _prompt(request: Request) -> str:
    system = request.system if isinstance(request.system, str) else "".join(part.text for part in request.system or ())
    return "\n".join([system, *(message.text or "" for message in request.messages)])


def _tokens(text: str) -> int:
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)
