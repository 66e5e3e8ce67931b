"""The base of blocks: what turns the numbers of one source of evidence into one number a candidate."""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ..data import Case
from ..data.case import Record
from ..evidence.source_spec import SourceSpec

Vectors = NDArray[np.floating]  # (candidates, width)


class BlockBase(Record):
    """A learnt map of a source's numbers; each kind is one file and has a `kind` and `measure`."""

    source: SourceSpec = Field(description="what was read")
    reads: str = Field(default="", description="name of the evidence that it reads; empty: that of the block")

    def describe(self) -> str:
        """What it reads, in words."""
        spec = self.source
        layer = "" if spec.layer is None else f" after layer {spec.layer}"
        return f"{spec.width:,} numbers of {spec.model or spec.kind}{layer}"

    def measure(self, case: Case, vectors: Vectors) -> tuple[float, ...]:
        """One number a candidate. Exchanged candidates exchange the numbers, bit for bit: each is a function of the
        case without the order of its candidates, and of the candidate's own vector.

        Args:
            case: the case that was read.
            vectors: one row a candidate, `source.width` numbers each.
        """
        raise NotImplementedError
