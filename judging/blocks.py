"""The blocks of a head: the kinds there are, and how their numbers come into a verdict."""

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from ..data import Case, Verdict
from ..errors import DeclarationError
from .block_base import Vectors
from .linear_block import LinearBlock
from .neighbour_block import NeighbourBlock
from .person_block import PersonBlock

Block = Annotated[LinearBlock | NeighbourBlock | PersonBlock, Field(discriminator="kind")]
DISTANCE = " distance"  # ends the name of how far apart the candidates of one case are
LEAST_DISTANCE = 1e-3  # relative; distances are read on a log scale


def measured(
    blocks: Mapping[str, Block], case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None
) -> Verdict:
    """The verdict with the number of each block for each candidate, by the block's name, and the source's `distances`.

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
        if block.source.width > 1 and len(case.candidates) > 1:
            numbers[source + DISTANCE] = distances(read)
    return verdict.model_copy(update={"measured": verdict.measured | numbers}) if numbers else verdict


def distances(vectors: Vectors) -> tuple[float, ...]:
    """For each candidate of two or more, how far its vector is from that of the nearest other one.

    log(0.001 + |x - y| / |(x + y) / 2|): texts that are nearly the same are often called a tie.

    Example:
        >>> distances(np.array([[1.0, 0.0], [0.5, 0.0]]))
        (-0.4039..., -0.4039...)
    """
    rows = [row.astype(np.float64) for row in vectors]
    return tuple(
        min(_log_distance(row, other) for place, other in enumerate(rows) if place != index)
        for index, row in enumerate(rows)
    )


def _log_distance(x: Vectors, y: Vectors) -> float:
    apart, size = _norm(x - y), _norm((x + y) / 2)
    return math.log(LEAST_DISTANCE + apart / max(size, LEAST_DISTANCE * apart)) if apart else math.log(LEAST_DISTANCE)


def _norm(x: Vectors) -> float:
    return math.sqrt(math.fsum((x * x).tolist()))
