"""What a head can be made of, and labelled evidence as arrays."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data import Case

Floats = NDArray[np.float64]
PENALTIES = (1.0, 10.0, 100.0)  # precision of the prior of a standardised weight; a single feature has the first
SAME = 1e-9  # columns this close to proportional are one feature


@dataclass(frozen=True)
class Plan:
    """A candidate: its features, the penalty of their weights, ties `by_case` (by even features), `isotonic` on top."""

    name: str
    features: tuple[str, ...]
    penalty: float
    by_case: bool = False
    isotonic: bool = False

    def __str__(self) -> str:
        told = [self.name, *([f"penalty {self.penalty:g}"] if len(self.features) > 1 else [])]
        return ", ".join([*told, *(["ties by case"] if self.by_case else []), *(["isotonic"] if self.isotonic else [])])

    @property
    def complexity(self) -> tuple[int, bool, bool, float]:
        """Sorts plans from the simplest."""
        return len(self.features), self.by_case, self.isotonic, -self.penalty


def labels_of(cases: Sequence[Case], labels: Sequence[str]) -> Floats:
    """(n, labels): 1 at each case's label; the shares of the votes where there is none."""
    return _shares([_votes(case) if (label := _winner(case)) is None else [label] for case in cases], labels)


def shares_of(cases: Sequence[Case], labels: Sequence[str]) -> Floats:
    """(n, labels): the share of the people behind each label, rows of sum 1.

    Where several people voted and the label is what most of them said, on every case, their shares are taken; votes
    that the label does not follow are of other people (third persons), and the label alone counts.
    """
    if not all(_follows(case) for case in cases):
        return labels_of(cases, labels)
    return _shares([_votes(case) for case in cases], labels)


def matrix(rows: Sequence[Mapping[str, float]]) -> tuple[list[str], Floats]:
    """The names of all features, as first met, and the (n, features) values; what a row lacks is 0."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    values = [[row.get(name, 0.0) for name in names] for row in rows]
    return names, np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def told_apart(names: Sequence[str], values: Floats, *, centred: bool = False) -> tuple[list[str], Floats]:
    """The features that vary, less those proportional to one before.

    Args:
        names: of the columns.
        values: (n, features).
        centred: a constant says nothing; otherwise only 0 says nothing, as a constant odd feature turns over.
    """
    seen = values - values.mean(axis=0) if centred else values
    size = np.sqrt(np.square(seen).sum(axis=0))
    least = 1e-12 * math.sqrt(max(len(values), 1)) * np.maximum(1.0, np.abs(values).max(axis=0, initial=0.0))
    kept: list[int] = []
    for column in np.flatnonzero(size > least).tolist():
        cosines = [abs(seen[:, column] @ seen[:, other]) / (size[column] * size[other]) for other in kept]
        if all(cosine < 1 - SAME for cosine in cosines):
            kept.append(column)
    return [names[column] for column in kept], values[:, kept]


def as_large(values: Floats, model: Floats) -> Floats:
    """The values scaled to the mean square of the model; as they are where either is 0 throughout.

    Heads of fewer cases are shrunk more by the same penalty: their margins must be as large as those of the head that
    is scaled by them.
    """
    size, wanted = float(np.square(values).sum()), float(np.square(model).sum())
    return values * math.sqrt(wanted / size) if size and wanted else values


def _shares(said: Sequence[Sequence[str]], labels: Sequence[str]) -> Floats:
    code = {label: index for index, label in enumerate(labels)}
    shares = np.zeros((len(said), len(labels)))
    for row, winners in enumerate(said):
        for one in winners:
            shares[row, code[one]] += 1 / len(winners)
    return shares


def _winner(case: Case) -> str | None:
    """The label's; None where there is no label, or it is scores of several options."""
    return None if case.label is None or case.label.winner is None else str(case.label.winner)


def _votes(case: Case) -> list[str]:
    """The winners of the votes; without any, the label's."""
    votes = [str(vote.winner) for vote in case.votes if vote.winner is not None]
    return votes or [label for label in (_winner(case),) if label is not None]


def _follows(case: Case) -> bool:
    votes, label = _votes(case), _winner(case)
    return label is None or votes.count(label) == max(map(votes.count, votes))
