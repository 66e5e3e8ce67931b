"""A source of evidence that counts letters, for tests of what chooses by nearness."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from dicast.data import Case
from dicast.evidence.source_spec import SourceSpec

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SPEC = SourceSpec(kind="state", model="local/made", digest="0" * 64, layer=3, width=len(LETTERS), engine="made")


def letters(case: Case) -> Any:
    """(candidates, 36): the proportion of each letter in query and text."""
    texts = [f"{case.query} {candidate.text} {candidate.text}".casefold() for candidate in case.candidates]
    return np.array([[text.count(letter) / len(text) for letter in LETTERS] for text in texts], dtype=np.float32)


def source(read: Any = letters, spec: SourceSpec = SPEC, name: str = "state") -> Any:
    return SimpleNamespace(name=name, spec=spec, width=spec.width, read=read)
