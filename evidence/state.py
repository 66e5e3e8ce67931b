"""`state`: the mean state of a candidate's tokens after a layer, as a model reads the candidate alone after the query.

A linear probe on it knows more of a text's quality than the letters that the same model writes: docs/evidence.md.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..engines.states.kept import KeptReader, open_reader
from ..engines.states.reader import StateRequest
from ..engines.weights import OnProgress, silent
from ..errors import ExecutionError
from .layout import LAYOUT, requests_of
from .source import EvidenceSource, SourceItem, register
from .source_spec import SourceSpec


@register
class StateSource(EvidenceSource):
    """Hidden states of a local model, or the embeddings of a server.

    Args:
        reader: by default `open_reader` of the item's model and layer.
    """

    kind = "state"
    summary = "the mean hidden state of a text's tokens, at a layer (70 % of the depth)"

    def __init__(self, item: SourceItem, reader: KeptReader | None = None) -> None:
        super().__init__(item)
        self._given = reader

    @cached_property
    def reader(self) -> KeptReader:
        """Reads the states; fetches the weights of a local model."""
        return self._given or open_reader(
            self.item.model, self.item.layer, trusted=self.item.trusted, stage=self.item.name
        )

    @cached_property
    def spec(self) -> SourceSpec:
        reader = self.reader.reader
        return SourceSpec(
            kind=self.kind,
            model=self.item.model,
            digest=reader.digest,
            layer=reader.layer or None,
            width=reader.width,
            layout=LAYOUT,
            engine=reader.engine,
        )

    def prepare(self, progress: OnProgress = silent) -> None:
        self.reader.prepare(progress)

    def requests(self, case: Case) -> list[StateRequest]:
        """A request for each candidate."""
        return requests_of(case)

    def read(self, case: Case) -> NDArray[np.float32]:
        requests, rows = self.requests(case), []
        for number, request in enumerate(requests, 1):
            try:
                rows.append(self.reader.read(request).mean)
            except ExecutionError as error:
                raise type(error)(f"evidence {self.name!r}, case {case.id!r}, text {number}: {error}") from error
        return np.stack(rows)
