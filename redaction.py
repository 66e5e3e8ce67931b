"""What is removed from every text that leaves dicast: API keys, and control characters that a terminal would obey.

Texts leave as errors, verdicts, manifests, logs, crash files and terminal output. Error messages pass through here when
they are made (`DicastError`).
"""

import os
import re
import threading

MASK = "[key removed]"
SHORTEST_SECRET = 6  # characters; a shorter value of a *_API_KEY variable, such as "none", would remove common words
SECRET_NAMES = ("_API_KEY", "_TOKEN", "_SECRET", "_SECRET_ACCESS_KEY")
# Authorization headers that a server or a library repeats, and keys of well-known shape that the environment lacks.
SHAPES = re.compile(
    r"(?P<kept>\b(?:Bearer|Basic|(?:x-)?api[-_]key['\"]?\s*[:=])\s*['\"]?)[\w.~+/=-]{6,}|\b(?:(?:sk|hf|gsk|xai)[-_]|AIza)[\w-]{16,}",
    re.IGNORECASE,
)
# C0 without tab and newline, DEL, C1, the marks that reorder text (bidirectional controls), and lone surrogates.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_secrets: set[str] = set()
_lock = threading.Lock()


def register_secret(value: str | None) -> None:
    """Remove this value from every text that leaves, for the rest of the process."""
    if value and len(value) >= SHORTEST_SECRET:
        with _lock:
            _secrets.add(value)


def secrets() -> tuple[str, ...]:
    """The registered values, and those of environment variables with a secret's name; the longest first."""
    environment = (value.strip() for name, value in os.environ.items() if name.upper().endswith(SECRET_NAMES))
    with _lock:
        known = _secrets.union(value for value in environment if len(value) >= SHORTEST_SECRET)
    return tuple(sorted(known, key=len, reverse=True))


def redact(text: str) -> str:
    """The text without known keys and without what has the shape of one.

    Example:
        >>> redact("401: Authorization: Bearer abcdef123456")
        '401: Authorization: Bearer [key removed]'
    """
    for secret in secrets():
        text = text.replace(secret, MASK)
    return SHAPES.sub(lambda match: (match["kept"] or "") + MASK, text)


def printable(text: str) -> str:
    """The text with visible symbols in place of characters that a terminal would obey (escape sequences, bells).

    Tab and newline stay; C1 controls and marks that reorder text become U+FFFD.

    Example:
        >>> printable("title\\x1b]0;gotcha\\x07")
        'title␛]0;gotcha␇'
    """
    return CONTROLS.sub(_symbol, text)


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """The text without keys and control characters."""
    return printable(redact(text))
