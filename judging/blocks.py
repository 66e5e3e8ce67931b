"""The blocks of a head: the kinds there are, and how their numbers come into a verdict."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ..data import Case, Verdict
from ..errors import DeclarationError
from .block_base import Vectors
from .linear_block import LinearBlock
from .neighbour_block import NeighbourBlock

Block = Annotated[LinearBlock | NeighbourBlock, Field(discriminator="kind")]


def measured(
    blocks: Mapping[str, Block], case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None
) -> Verdict:
    """The verdict with the number of each block for each candidate, under the block's name.

    Args:
        blocks: by the name that their numbers get.
        vectors: what was read of the case by the name of its source, each of the shape (candidates, width).

    Raises:
        DeclarationError: a block of which nothing was read, or another number of candidates or of numbers.
    """
    numbers = {}
    for name, block in blocks.items():
        source = block.reads or name
        read = (vectors or {}).get(source)
        if read is None:
            raise DeclarationError(
                f"head: its evidence {source!r} was not read for case {case.id!r}. Judge with --set evidence={source}."
            )
        if read.shape != (len(case.candidates), block.source.width):
            raise DeclarationError(
                f"head: the evidence {source!r} of case {case.id!r} has the shape {read.shape}, and "
                f"{(len(case.candidates), block.source.width)} is needed. Read it from the model that the head names."
            )
        numbers[name] = block.measure(case, read)
    return verdict.model_copy(update={"measured": verdict.measured | numbers}) if numbers else verdict
