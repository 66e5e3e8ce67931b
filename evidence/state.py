"""`state`: the mean state of a candidate's tokens after a layer, as a model reads the candidate alone after the query.

A linear probe on it knows more of a text's quality than the letters that the same model writes: docs/evidence.md.
"""

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..engines.states.kept import KeptReader, open_reader
from ..engines.states.reader import StateAnswer, StateRequest
from .layout import requests_of
from .reader_source import ReaderSource
from .source import register


@register
class StateSource(ReaderSource):
    """Hidden states of a local model, or the embeddings of a server."""

    kind = "state"
    summary = "the mean hidden state of a text's tokens, at a layer (70 % of the depth)"

    def open_reader(self) -> KeptReader:
        return open_reader(self.item.model, self.item.layer, trusted=self.item.trusted, stage=self.item.name)

    def requests(self, case: Case) -> list[StateRequest]:
        return requests_of(case)

    def numbers(self, answer: StateAnswer) -> NDArray[np.float32]:
        return answer.mean
