"""Models for tests: a language model that answers from a function, and an OpenAI-compatible server on loopback."""

from .faults import FAULTS, Exchange, Fault, Reply
from .mock_server import MockServer
from .schema import smallest_value
from .scripted_lm import Answer, ScriptedLM, answer_fields, prompt_text

__all__ = [
    "FAULTS",
    "Answer",
    "Exchange",
    "Fault",
    "MockServer",
    "Reply",
    "ScriptedLM",
    "answer_fields",
    "prompt_text",
    "smallest_value",
]
