"""Models for tests: a language model that answers from a function, and an OpenAI-compatible server on loopback."""

from .mock_server import MockServer
from .schema import smallest_value
from .scripted_lm import ScriptedLM, answer_fields, prompt_text

__all__ = ["MockServer", "ScriptedLM", "answer_fields", "prompt_text", "smallest_value"]
