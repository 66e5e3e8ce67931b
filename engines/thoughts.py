"""Thoughts of models that think before they answer: where a reply holds one, and the answer without it.

Servers with a parser for a model's thoughts give them beside the answer (`reasoning_content`, `reasoning`), or only
their number of tokens; others leave them in the text, between <think> and </think>. Some chat templates put <think>
into the prompt, so that only </think> is in the reply (Qwen3.5, DeepSeek-R1).
"""

import dataclasses
import re
from typing import Any

from dspy.lm15 import Request, Response, TextPart, ThinkingPart

OPENING = re.compile(r"\s*(?:<think(?:ing)?>|\[THINK\]|<thought>|◁think▷)", re.IGNORECASE)
CLOSING = re.compile(r"</think(?:ing)?>|\[/THINK\]|</thought>|◁/think▷", re.IGNORECASE)
FORMED = re.compile(r'\s*(?:[\[{"]|```)')  # how an answer in a form begins, which may quote a mark of a thought
FIRST_TOKEN = re.compile(r"\s*(?:<think|\[THINK|<\|channel|<thought|◁think)", re.IGNORECASE)


def without_thought(response: Response) -> Response:
    """The reply with thoughts out of its text, as separate parts; a thought without its end leaves no text."""
    parts: list[Any] = []
    for part in response.message.parts:
        thought, answer = split_thought(part.text) if isinstance(part, TextPart) else ("", "")
        parts += [ThinkingPart(thought), TextPart(answer)] if thought else [part]
    if len(parts) == len(response.message.parts):
        return response
    return dataclasses.replace(response, message=dataclasses.replace(response.message, parts=tuple(parts)))


def split_thought(text: str) -> tuple[str, str]:
    """The thought at the beginning of a text and the text behind it; no thought where it begins with none.

    Example:
        >>> split_thought("<think>A is short.</think>\\n\\nB"), split_thought("B")
        (('A is short.', 'B'), ('', 'B'))
    """
    opening, closing = OPENING.match(text), CLOSING.search(text)
    if opening is None and (closing is None or FORMED.match(text)):
        return "", text
    begin = opening.end() if opening else 0
    if closing is None:
        return text[begin:].strip() or "...", ""
    return text[begin : closing.start()].strip() or "...", text[closing.end() :].lstrip()


def has_thought(response: Response) -> bool:
    """Whether the model has thought before it answered, or begun to."""
    if any(isinstance(part, ThinkingPart) and part.text for part in response.message.parts):
        return True
    first = response.logprobs[0].token if response.logprobs else ""
    return bool(response.usage.reasoning_tokens) or FIRST_TOKEN.match(first) is not None


def used_up_by_thought(response: Response) -> bool:
    """Whether the thought took all tokens that the answer may have, so that nothing is written behind it."""
    return response.finish_reason == "length" and has_thought(response) and not (response.text or "").strip()


def reads_tokens(request: Request) -> bool:
    """Whether a request reads token probabilities; no thought can come before the token that it reads."""
    return request.config.logprobs is not None
