"""Candidate heads, and labelled evidence as arrays."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ...data import Case
from ...judging.calibration_features import LENGTH
from ...judging.features_by_name import recurring
from ..soft_labels import SoftLabels, soft_labels

Floats = NDArray[np.float64]
ByAspect = Literal["shared", "intercepts", "models"]
MODELS: tuple[ByAspect, ...] = get_args(ByAspect)
ASPECT_WORDS = {"intercepts": "an intercept for each aspect", "models": "a model for each aspect"}
PENALTIES = (1.0, 10.0, 100.0)  # precision of the prior of a standardised weight; a single feature has the first
MORE_PENALTIES = (*PENALTIES, 1000.0)  # of many features, such as those of a bank of questions
MANY = 10  # features; with more, numbered criteria make way for named questions too
MOST_EVIDENCE = 3  # with more, measured evidence is tried one by one, all together, and all but one
SAME = 1e-9  # columns this close to proportional are one feature


@dataclass(frozen=True)
class HeadSpec:
    """A candidate head.

    Attributes:
        penalty: the prior precision of the features' weights.
        by_case: whether the tie threshold depends on the case, by even features.
        by_aspect: whether the tie threshold depends on the aspect.
        isotonic: whether an isotonic calibration follows the linear part.
        aspects: of several aspects: one model for all, a model with an intercept for each, or a model for each.
        evidence: which of the features are measured evidence, beside what the judge answered.
        owners: the evidence, and the sources that it reads, of which even features may be used.
    """

    name: str
    features: tuple[str, ...]
    penalty: float
    by_case: bool = False
    by_aspect: bool = False
    isotonic: bool = False
    aspects: ByAspect = "shared"
    evidence: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [self.name, *([f"penalty {self.penalty:g}"] if len(self.features) > 1 else [])]
        parts += [ASPECT_WORDS[self.aspects]] if self.aspects != "shared" else []
        parts += ["ties by case"] if self.by_case else []
        parts += ["ties by aspect"] if self.by_aspect else []
        return ", ".join([*parts, *(["isotonic"] if self.isotonic else [])])

    @property
    def complexity(self) -> tuple[int, int, bool, bool, bool, float]:
        """A sort key: the simplest candidate first."""
        return (
            len(self.features),
            MODELS.index(self.aspects),
            self.by_aspect,
            self.by_case,
            self.isotonic,
            -self.penalty,
        )


def penalties_for(features: Sequence[str]) -> tuple[float, ...]:
    """The penalties that a candidate with these features is tried with."""
    return PENALTIES[:1] if len(features) < 2 else PENALTIES if len(features) <= MANY else MORE_PENALTIES


def offered(rows: Sequence[Mapping[str, object]], *, length: bool) -> list[str]:
    """The features that a head may use, in order of appearance: all but the length, unless it may use that, and those
    of questions that seldom recur."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if length or name != LENGTH]
    return recurring(names, rows, MANY)


def label_indicators(cases: Sequence[Case], labels: Sequence[str]) -> Floats:
    """(n, labels): 1 at each case's label; the proportions of the votes if there is none."""
    return _proportions([_votes(case) if (label := _winner(case)) is None else [label] for case in cases], labels)


def soft_labels_of(cases: Sequence[Case], labels: Sequence[str]) -> SoftLabels:
    """The (n, labels) targets of the cases, as `soft_labels` decides them."""
    codes = [-1 if (label := _winner(case)) is None else labels.index(label) for case in cases]
    votes = _proportions([_votes(case) for case in cases], labels)
    return soft_labels(np.array(codes, dtype=np.int64), votes)


def evidence_sets(
    names: Sequence[str], answers: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Sets of features with measured evidence: by name, the evidence and all features, without repetition.

    Args:
        names: of the measured evidence.
        answers: sets of features of the judge's answers, beside which it is put; it is tried alone too.

    Example:
        >>> evidence_sets(["state"], {"letters": ("letters",)})
        {'state': (('state',), ('state',)), 'state + letters': (('state',), ('state', 'letters'))}
    """
    count = len(names)
    sizes = range(1, count + 1) if count <= MOST_EVIDENCE else sorted({1, count - 1, count})
    chosen = [evidence for size in sizes for evidence in combinations(names, size)]
    sets: dict[tuple[str, ...], tuple[str, tuple[str, ...]]] = {}
    for evidence in chosen:
        for name, features in {"": (), **answers}.items():
            sets.setdefault((*evidence, *features), (" + ".join([*evidence, *filter(None, [name])]), evidence))
    return {name: (evidence, features) for features, (name, evidence) in sets.items()}


def feature_matrix(
    rows: Sequence[Mapping[str, float]], names: list[str] | None = None
) -> tuple[list[str], Floats]:  # fmt: skip
    """The names of all features in order of appearance, or those given, and the (n, features) values; a missing feature
    is 0."""
    names = list(dict.fromkeys(name for row in rows for name in row)) if names is None else names
    values = [[row.get(name, 0.0) for name in names] for row in rows]
    return names, np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def informative_features(names: Sequence[str], values: Floats, *, centred: bool = False) -> tuple[list[str], Floats]:
    """The features that carry information: constant ones and those proportional to an earlier one are dropped.

    Args:
        names: of the columns.
        values: (n, features).
        centred: drop every constant; otherwise only constant 0, as a constant odd feature changes sign with the order.
    """
    seen = values - values.mean(axis=0) if centred else values
    size = np.sqrt(np.square(seen).sum(axis=0))
    least = 1e-12 * math.sqrt(max(len(values), 1)) * np.maximum(1.0, np.abs(values).max(axis=0, initial=0.0))
    columns: list[int] = []
    for column in np.flatnonzero(size > least).tolist():
        cosines = [abs(seen[:, column] @ seen[:, other]) / (size[column] * size[other]) for other in columns]
        if all(cosine < 1 - SAME for cosine in cosines):
            columns.append(column)
    return [names[column] for column in columns], values[:, columns]


def match_size(values: Floats, model: Floats) -> Floats:
    """The values rescaled to the mean square of `model`; unchanged if either is 0 throughout.

    The same penalty shrinks heads of fewer cases more: before their margins calibrate a head, they are brought to the
    size of its margins.
    """
    size, target = float(np.square(values).sum()), float(np.square(model).sum())
    return values * math.sqrt(target / size) if size and target else values


def _proportions(votes: Sequence[Sequence[str]], labels: Sequence[str]) -> Floats:
    code = {label: index for index, label in enumerate(labels)}
    proportions = np.full((len(votes), len(labels)), math.nan)
    for row, winners in enumerate(votes):
        proportions[row] = 0 if winners else math.nan
        for winner in winners:
            proportions[row, code[winner]] += 1 / len(winners)
    return proportions


def _winner(case: Case) -> str | None:
    """The label's winner or category; None without a label, or if the label is scores of several options."""
    return None if case.label is None else case.label.answer


def _votes(case: Case) -> list[str]:
    """The winners or categories of the votes."""
    return [vote.answer for vote in case.votes if vote.answer is not None]
