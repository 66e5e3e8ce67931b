"""Perplexity of texts under a local model: exp of the mean negative log-probability of a text's tokens."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..engines.given_text import GivenText

BETWEEN = "\n\n"  # a context and the text after it


@lru_cache(maxsize=8)
def reader_of(model: str) -> GivenText:
    """The reader of a model string, which asks its server for the context's length once."""
    return GivenText(model)


def perplexity(model: str, texts: Sequence[str], context: str = "") -> NDArray[np.float64]:
    """The perplexity of each text, from 1 on, (n,); NaN for a text without a token that has a probability.

    Without a context and without a token that the model puts before every text, the first token of a text has none.

    Args:
        model: `local/NAME` or `local/PATH.gguf`.
        context: is read before each text, with a blank line between.

    Raises:
        ModelError: no local model, or a model that cannot be loaded.
        DeclarationError: xllamacpp is not installed.
        Infrastructure: the server failed.
    """
    before = context + BETWEEN if context.strip() else ""
    return np.array([_one(reader_of(model).log_probabilities(before, text)) for text in texts], dtype=np.float64)


def _one(log_probabilities: Sequence[float]) -> float:
    return float(np.exp(-np.mean(log_probabilities))) if log_probabilities else float("nan")
