"""What a model wrote, parsed so that nothing it can write ends a run: it fits the form, or it is a parse failure."""

import re
from typing import Any

import dspy
from dspy.utils.exceptions import AdapterParseError

# An escape of half a UTF-16 pair without its other half: no file and no request could hold the character.
HALF_ESCAPE = re.compile(
    r"\\u(?:d[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab][0-9a-f]{2}\\u)d[c-f][0-9a-f]{2})", re.IGNORECASE
)


class AnswerParsing:
    """Before a DSPy adapter in a class's bases: whatever fails while an answer is parsed is an AdapterParseError."""

    def parse(self, signature: type[dspy.Signature], completion: str) -> dict[str, Any]:
        try:
            fields: dict[str, Any] = super().parse(signature, whole_characters(completion))  # type: ignore[misc]
            return fields
        except AdapterParseError:
            raise
        except Exception as error:  # too deep, a number of 5,000 digits: a library's own error
            raise AdapterParseError(
                adapter_name=type(self).__name__,
                signature=signature,
                lm_response=completion,
                message=f"{type(error).__name__}: {error}",
            ) from error


class PlainAdapter(AnswerParsing, dspy.ChatAdapter):
    """DSPy's ChatAdapter without its second call in another form, for servers that enforce no JSON schema."""

    def __init__(self) -> None:
        super().__init__(use_json_adapter_fallback=False)


def whole_characters(text: str) -> str:
    r"""The text with U+FFFD for each JSON escape of half a character.

    Example:
        >>> whole_characters(r'{"why": "good \ud83d"}, {"why": "fine \ud83d\ude00"}')
        '{"why": "good \\ufffd"}, {"why": "fine \\ud83d\\ude00"}'
    """
    return HALF_ESCAPE.sub(r"\\ufffd", text)
