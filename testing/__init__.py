"""Models for tests: a language model that answers from a function, and an OpenAI-compatible server on loopback."""

from .mock_server import MockServer
from .schema import smallest_value
from .scripted_lm import Answer, ScriptedLM, answer_fields, prompt_text

__all__ = ["Answer", "MockServer", "ScriptedLM", "answer_fields", "prompt_text", "smallest_value"]
