"""Settings that DSPy reads as it is imported; a wrong value would end every command in the middle of that import."""

import os

from ..errors import DeclarationError


def check_settings() -> None:
    """Raises DeclarationError for a DSPY_CACHE_LIMIT that is no number of bytes."""
    limit = os.environ.get("DSPY_CACHE_LIMIT", "0")
    try:
        int(limit)
    except ValueError:
        raise DeclarationError(
            f"DSPY_CACHE_LIMIT: must be a whole number of bytes, got {limit!r}. Unset it: only an LM of your own uses "
            "DSPy's cache, and DICAST_CACHE_LIMIT bounds the answers that dicast stores."
        ) from None
