"""Requests in the shape that a model takes, and what a reply or a refusal teaches about this shape.

A server that refuses a part of a request says which part (OpenAI: "Unsupported parameter: 'max_tokens' is not supported
with this model. Use 'max_completion_tokens' instead."). Later requests go out without it.
"""

import dataclasses
import re
from typing import Any

from dspy.lm15 import Config, Message, ProviderError, Reasoning, Request, Response, TextPart

from .capabilities import Card, Part, Switch
from .thoughts import has_thought, reads_tokens

NOT_TAKEN = re.compile(
    r"not support|unsupported|unrecogni[sz]ed|unknown|unexpected|not allowed|not permitted|not enabled|only the default"
    r"|deprecated|not available|invalid value|cannot be|must be",
    re.IGNORECASE,
)
REFUSALS = (400, 404, 405, 415, 422, 500, 501, None)  # statuses; None: refused before anything was sent
# The words by which servers name the parts of a request, in the order in which a refusal is read.
WORDS: dict[Part, re.Pattern[str]] = {
    "max_tokens": re.compile(
        r"max_completion_tokens.*instead|'max_tokens' is not supported", re.IGNORECASE | re.DOTALL
    ),
    "logprobs": re.compile(r"log_?probs", re.IGNORECASE),
    "temperature": re.compile(r"temperature|top_p", re.IGNORECASE),
    "seed": re.compile(r"\bseed\b", re.IGNORECASE),
    "schema": re.compile(r"response_format|json_schema|structured.outputs?|response_schema", re.IGNORECASE),
    "system": re.compile(r"system.{0,20}role|role.{0,20}system|system message|developer instruction", re.IGNORECASE),
}
SWITCH = re.compile(r"chat_template_kwargs|enable_thinking|reasoning|thinking", re.IGNORECASE)


def shaped(request: Request, card: Card) -> Request:
    """The request in the shape that the model takes."""
    config, extensions = request.config, dict(request.config.extensions or {})
    changes: dict[str, Any] = {}
    if "temperature" in card.refuses:
        changes |= {"temperature": None, "top_p": None}
    if "seed" in card.refuses:
        changes |= {"seed": None}
    if "schema" in card.refuses:
        changes |= {"response_format": None}
    most = config.max_tokens
    if most is not None and card.room and not reads_tokens(request):
        most += card.room
        changes |= {"max_tokens": most}
    if most is not None and "max_tokens" in card.refuses:
        changes |= {"max_tokens": None}
        extensions["max_completion_tokens"] = most
    if is_without_thought(request, card):
        switch = card.next_switch
        changes |= {"reasoning": Reasoning("off") if switch == "reasoning_effort" else None}
        if switch == "chat_template_kwargs":
            extensions["chat_template_kwargs"] = {"enable_thinking": False}
    if extensions != (config.extensions or {}):
        changes["extensions"] = extensions
    request = dataclasses.replace(request, config=dataclasses.replace(config, **changes)) if changes else request
    return _without_system(request) if "system" in card.refuses else request


def is_without_thought(request: Request, card: Card) -> bool:
    """Whether the model must not think: the user wants it so, or it thinks and one token is read."""
    reasoning = request.config.reasoning
    return (reasoning is not None and reasoning.effort == "off") or (card.thinks and reads_tokens(request))


def parts_of(request: Request) -> frozenset[Part]:
    """What a request holds that a server may refuse."""
    config: Config = request.config
    holds: dict[Part, bool] = {
        "logprobs": config.logprobs is not None,
        "schema": config.response_format is not None,
        "max_tokens": config.max_tokens is not None,
        "system": bool(request.system),
        "temperature": config.temperature is not None or config.top_p is not None,
        "seed": config.seed is not None,
    }
    return frozenset(name for name, is_held in holds.items() if is_held)


def after_answer(card: Card, request: Request, response: Response) -> Card:
    """The card after an answer to a request of the model's shape."""
    accepts = card.accepts | (parts_of(request) - card.refuses)
    thought = has_thought(response)
    if accepts == card.accepts and card.thinks >= thought and (card.switch or not is_without_thought(request, card)):
        return card
    card = _with(card, accepts=accepts, thinks=card.thinks or thought)
    if not card.thinks or not is_without_thought(request, card):
        return card
    config = request.config
    off = config.reasoning is not None and config.reasoning.effort == "off"
    used = (
        "reasoning_effort"
        if off
        else "chat_template_kwargs"
        if "chat_template_kwargs" in (config.extensions or {})
        else ""
    )
    if not used:
        return card
    if thought:
        failed = card.failed_switches | {used}
        return _with(card, failed_switches=failed, switch="" if card.switch == used else card.switch)
    return _with(card, switch=used)


def after_refusal(card: Card, request: Request, error: ProviderError) -> Card:
    """The card after a server refused a request of the model's shape; the same card where that teaches nothing."""
    text = str(error.message)
    if error.status not in REFUSALS or not NOT_TAKEN.search(text):
        return card
    sent = parts_of(request)
    used: set[Switch] = set()
    if request.config.reasoning is not None and request.config.reasoning.effort == "off":
        used.add("reasoning_effort")
    if "chat_template_kwargs" in (request.config.extensions or {}):
        used.add("chat_template_kwargs")
    if used and SWITCH.search(text):
        return _with(card, failed_switches=card.failed_switches | used, switch=None)
    for part, words in WORDS.items():
        if words.search(text) and part in sent and part not in card.refuses:
            return _with(card, refuses=card.refuses | {part}, accepts=card.accepts - {part})
    return card


def with_room(card: Card, room: int) -> Card:
    """The card with at least so many tokens for the thought."""
    return _with(card, room=max(card.room, room))


def _with(card: Card, **changes: Any) -> Card:
    return card.model_copy(update=changes)


def _without_system(request: Request) -> Request:
    """The system prompt at the head of the first message."""
    system = request.system
    text = system if isinstance(system, str) else "".join(part.text for part in system or ())
    if not text or not request.messages:
        return request
    first, *others = request.messages
    merged = Message(role=first.role, parts=(TextPart(f"{text}\n\n"), *first.parts))
    return dataclasses.replace(request, system=None, messages=(merged, *others))
