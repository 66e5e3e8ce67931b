"""A linear block: w . (x - centre) for the vector x of each candidate, in double precision and correctly summed."""

import math
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from ..data import Case
from .arrays import Array
from .block_base import BlockBase, Vectors


class LinearBlock(BlockBase):
    """One weight a number of the source."""

    kind: Literal["linear"] = "linear"
    weights: Array = Field(description="one a number, of the shape (width,)")
    centre: Array | None = Field(default=None, description="taken from each vector first; None: nothing is")

    @model_validator(mode="after")
    def _fit_the_source(self) -> Self:
        for name, array in (("weights", self.weights), ("centre", self.centre)):
            if array is not None and array.shape != (self.source.width,):
                raise ValueError(f"{name} of the shape {array.shape} for {self.source.width} numbers a candidate")
        return self

    def measure(self, case: Case, vectors: Vectors) -> tuple[float, ...]:
        weights = self.weights.values.astype(np.float64)
        centre = 0.0 if self.centre is None else self.centre.values.astype(np.float64)
        # fsum: a matrix product rounds by the processor, and by the row's place among others.
        return tuple(math.fsum(((row.astype(np.float64) - centre) * weights).tolist()) for row in vectors)
