"""Sources that read a text with a model: what `state` and `reward` share."""

from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..engines.states.kept import KeptReader
from ..engines.states.reader import StateAnswer, StateRequest
from ..engines.weights import OnProgress, silent
from ..errors import DeclarationError, ExecutionError, ModelError
from .layout import LAYOUT
from .source import EvidenceSource, SourceItem
from .source_spec import SourceSpec


class ReaderSource(EvidenceSource):
    """A subclass says which reader reads, what it is asked, and what is taken from the answers.

    Attributes:
        layout: version of the text that is read.

    Args:
        reader: by default `open_reader()`.
    """

    layout: ClassVar[int] = LAYOUT

    def __init__(self, item: SourceItem, reader: KeptReader | None = None) -> None:
        super().__init__(item)
        self._reader = reader

    @cached_property
    def reader(self) -> KeptReader:
        """Reads the states; fetches the weights of a local model.

        Raises:
            ModelError: the model cannot be read, or has no such layer.
            DeclarationError: a package that it needs is not installed.
        """
        try:
            return self._reader or self.open_reader()
        except (ModelError, DeclarationError) as error:
            raise type(error)(f"evidence {self.name!r}: {error}") from error

    @property
    def layer(self) -> int | None:
        """The layer after which states are read; None where it goes without saying."""
        return self.reader.reader.layer or None

    @property
    def model_width(self) -> int:
        """Numbers that are taken of a text."""
        return self.reader.reader.width

    @cached_property
    def spec(self) -> SourceSpec:
        reader = self.reader.reader
        return SourceSpec(
            kind=self.kind,
            model=self.item.model,
            digest=reader.digest,
            layer=self.layer,
            width=self.model_width,
            layout=self.layout,
            engine=reader.engine,
        )

    def prepare(self, progress: OnProgress = silent) -> None:
        self.reader.prepare(progress)

    def read(self, case: Case) -> NDArray[np.float32]:
        rows = []
        for number, request in enumerate(self.requests(case), 1):
            try:
                rows.append(self.numbers(self.reader.read(request)))
            except ExecutionError as error:
                raise type(error)(f"evidence {self.name!r}, case {case.id!r}, text {number}: {error}") from error
        return np.stack(rows)

    def open_reader(self) -> KeptReader:
        """The reader of the item's model; raises as `reader`."""
        raise NotImplementedError

    def requests(self, case: Case) -> list[StateRequest]:
        """A request for each candidate."""
        raise NotImplementedError

    def numbers(self, answer: StateAnswer) -> NDArray[np.float32]:
        """What is taken from an answer, float32 (width,)."""
        raise NotImplementedError
