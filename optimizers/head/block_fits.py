"""The ways to make one number a candidate out of the vectors of a source, each fitted without some folds.

linear       a probe (`probe`), under the name of the source
neighbours   votes of the nearest labelled cases (`neighbours`), under `neighbours`, or `neighbours SOURCE` where
             several sources are read
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...errors import DeclarationError
from ...evidence.source_spec import SourceSpec
from ...judging.arrays import Array
from ...judging.block_base import Vectors
from ...judging.blocks import DISTANCE, Block, distances
from ...judging.linear_block import LinearBlock
from .neighbours import NeighbourFit
from .probe import CrossFittedProbe, ProbeTask, ScoredTexts, compared_options, compared_pairs

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Folds = frozenset[int]


class BlockFit(Protocol):
    """One block, fitted without some folds of n labelled cases.

    Attributes:
        name: of the block, and of the feature that it makes.
        reads: name of its source.
    """

    name: str
    reads: str

    def scores(self, folds: Folds) -> Floats:
        """The (n, candidates) numbers that a head without some folds, at most two, is fitted to and measured on: no
        case's by a block that was fitted to it."""
        ...

    def calibrating(self, folds: Folds) -> Floats:
        """The (n, candidates) numbers of the cases of every other fold by the block without these folds and that."""
        ...

    def block(self, folds: Folds) -> Block:
        """The block without these folds."""
        ...


class LinearFit:
    """A probe of a source."""

    def __init__(self, name: str, spec: SourceSpec, probe: CrossFittedProbe) -> None:
        self.name = self.reads = name
        self.scores, self.calibrating = cache(probe.scores), cache(probe.calibrating)
        self._spec, self._probe = spec, probe

    def block(self, folds: Folds) -> Block:
        weights, centre = self._probe.weights(folds)
        return LinearBlock(source=self._spec, weights=Array.of(weights), centre=Array.of(centre))


class NeighboursFit:
    """The votes of the nearest cases of a source."""

    def __init__(self, name: str, reads: str, spec: SourceSpec, votes: NeighbourFit, fold: Codes) -> None:
        self.name, self.reads = name, reads
        self._spec, self._votes, self._fold = spec, votes, fold
        self.scores = cache(self._scores)

    def _scores(self, folds: Folds) -> Floats:
        return padded([np.array(numbers) for numbers in self._votes.scores(self._seen(folds))])

    def calibrating(self, folds: Folds) -> Floats:
        numbers = np.zeros_like(self.scores(folds))
        for k in set(self._fold.tolist()) - folds:
            numbers[self._fold == k] = self.scores(folds | {k})[self._fold == k]
        return numbers

    def block(self, folds: Folds) -> Block:
        return self._votes.block(self._spec, self._seen(folds), self.reads)

    def _seen(self, folds: Folds) -> Flags:
        return np.asarray(~np.isin(self._fold, list(folds)))


def block_fits(
    cases: Sequence[Case],
    task: Any,
    fold: Codes,
    sources: Mapping[str, SourceSpec],
    vectors: Sequence[Mapping[str, Vectors]],
    *,
    neighbours: bool = False,
) -> list[BlockFit]:
    """The fits of every source to n labelled cases.

    Args:
        cases: all of one kind.
        task: their evidence as `fit` reads it: with `proportions`, or for single texts `y`, `weight` and `aspect`.
        fold: (n,).
        sources: by name.
        vectors: one mapping a case, (candidates, width) by name of the source.
        neighbours: votes of the nearest cases beside the probe.

    Raises:
        DeclarationError: a case of which a source was not read.
    """
    fits: list[BlockFit] = []
    for name, spec in sources.items():
        read = [_of_source(name, spec, case, row) for case, row in zip(cases, vectors, strict=True)]
        stacked, counts = padded(read), np.array([len(rows) for rows in read])
        exists = np.arange(stacked.shape[1]) < counts[:, None]
        fits.append(LinearFit(name, spec, CrossFittedProbe(_probe_task(task, stacked, exists), stacked, exists, fold)))
        if neighbours and spec.width > 1:
            targets = [tuple(row[:count]) for row, count in zip(_by_candidate(task), counts.tolist(), strict=True)]
            votes = "neighbours" if len(sources) == 1 else f"neighbours {name}"
            fits.append(NeighboursFit(votes, name, spec, NeighbourFit(cases, read, targets), fold))
    return fits


def with_distances(verdict: Verdict, sources: Mapping[str, SourceSpec], vectors: Mapping[str, Vectors]) -> Verdict:
    """The verdict with how far apart the candidates are for each source, as a head with its blocks measures it."""
    far = {
        name + DISTANCE: distances(vectors[name])
        for name, spec in sources.items()
        if spec.width > 1 and len(vectors[name]) > 1
    }
    return verdict.model_copy(update={"measured": verdict.measured | far}) if far else verdict


def padded(rows: Sequence[NDArray[np.floating]]) -> Floats:
    """The rows of several lengths as one array, with zeros after the last element of each."""
    numbers = np.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]))
    for place, row in enumerate(rows):
        numbers[place, : len(row)] = row
    return numbers


def _probe_task(task: Any, vectors: Floats, exists: Flags) -> ProbeTask:
    if vectors.shape[1] == 1:
        return ScoredTexts(vectors[:, 0], task.y, task.weight, task.aspect)
    if vectors.shape[1] == 2:
        return compared_pairs(vectors, task.proportions)
    return compared_options(vectors, task.proportions, exists)


def _by_candidate(task: Any) -> list[list[float]]:
    """For each case a number a candidate: the proportion of people that choose it, or `y` of a text."""
    if hasattr(task, "y"):
        scores: list[list[float]] = task.y[:, None].tolist()
        return scores
    shares = task.proportions
    if hasattr(task, "ties"):
        shares = shares[:, :2] + shares[:, 2:] / 2
    by_candidate: list[list[float]] = shares.tolist()
    return by_candidate


def _of_source(name: str, spec: SourceSpec, case: Case, vectors: Mapping[str, Vectors]) -> NDArray[np.floating]:
    read = vectors.get(name)
    if read is None or read.shape != (len(case.candidates), spec.width):
        shape = "nothing" if read is None else f"numbers of the shape {read.shape}"
        raise DeclarationError(
            f"fit: {shape} of {name!r} for case {case.id!r}, and {(len(case.candidates), spec.width)} is needed. "
            "Give what the judge read."
        )
    return read
