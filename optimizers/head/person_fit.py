"""Weights of people: those that all share, and each one's deviation, drawn to zero (see `stats.partial_pooling`).

Rows are what a probe is fitted to: differences of two candidates' numbers, or a text's numbers and a constant. Each
column is divided by its root mean square, and all by the root of their number. Penalty and ratio are those of the grid
with the lowest loss over folds within people: every person is in every fold, as the judge will know the people, and no
question is in two. A ratio is in the grid that lets nobody deviate.

The worth of the deviations is measured once more without the fold (nested cross-fitting), so that the choice does not
flatter itself. They are used only if the 95 % interval of the gain, by people, is above zero.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ...data import Case, Scores
from ...data.person import person_of
from ...data.text_digest import conversation, normalised
from ...judging.block_base import Vectors
from ...judging.heads import Head
from ...judging.linear_block import LinearBlock
from ...judging.person_block import PersonBlock, labelled_rows
from ...stats.paired import difference
from ...stats.partial_pooling import (
    NOBODY,
    Codes,
    Floats,
    Loss,
    deviations,
    dual_coefficients,
    folds_within,
    pooled_kernel,
    row_losses,
    shared_weights,
)

PENALTIES = (30.0, 10.0, 3.0, 1.0, 0.3)  # of weights of columns of mean square 1 / width
RATIOS = (0.0, 0.1, 0.3, 1.0, 3.0)
FOLDS = 4
MOST_ROWS = 1500  # that choose penalty and ratio; time grows with their cube, and everybody gets a deviation then
Grid = tuple[float, float]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class PersonRows:
    """What weights of people are fitted to.

    Attributes:
        x: (n, width), with a constant column where texts are scored.
        target: (n,) the proportion that prefers the first, or a score about its mean.
        counts: (n,) how many observations a row counts for.
        people: (n,) digest of the person; None: nobody is known.
        questions: (n,) what must not straddle two folds.
        loss: "logistic" for differences, "squares" for texts.
    """

    x: Floats
    target: Floats
    counts: Floats
    people: tuple[str | None, ...]
    questions: tuple[str, ...]
    loss: Loss

    @property
    def codes(self) -> Codes:
        """(n,) the place of each row's person among the sorted ones."""
        names = self.names
        return np.array([NOBODY if p is None else names.index(p) for p in self.people], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        return sorted({person for person in self.people if person is not None})


@dataclass(frozen=True)
class PersonWorth:
    """What the deviations add, in mean loss a row: below zero they help.

    Attributes:
        loss, without: nested cross-fitted losses with the chosen ratio, and of the best fit without deviations.
        difference: the first less the second.
        low, high: of its 95 % interval, by people.
    """

    loss: float
    without: float
    difference: float
    low: float
    high: float

    @property
    def pays(self) -> bool:
        return self.high < 0


@dataclass(frozen=True)
class PersonFit:
    """Weights of people, in the units of the numbers that were read.

    Attributes:
        weights: (width,) shared.
        scale: (width,) what each column is divided by under the penalty.
        people: digest of a person -> (width,) deviation; empty where deviations do not pay.
        penalty, ratio: chosen; the ratio is 0 where deviations do not pay.
        worth: None where nobody has two questions.
    """

    weights: Floats
    scale: Floats
    people: dict[str, Floats]
    penalty: float
    ratio: float
    worth: PersonWorth | None


def fit_people(rows: PersonRows, *, seed: int = 0, folds: int = FOLDS, always: bool = False) -> PersonFit:
    """The weights of all and of each person.

    Args:
        rows: at least two questions.
        seed: of the folds.
        folds: 3 at least.
        always: use deviations of the best ratio above 0 whatever they are worth; for measuring.
    """
    scale = column_scale(rows.x)
    x, codes = rows.x / scale, rows.codes
    fold = folds_within([person or "" for person in rows.people], rows.questions, folds, seed)
    with threadpool_limits(1, user_api="blas"):
        by_folds = _losses(x, rows, codes, fold)
        every = sorted({point for point, _ in by_folds})
        impersonal = [point for point in every if not point[1]]
        personal = [point for point in every if point[1] or not always]
        best = _best(by_folds, personal, frozenset(), fold)
        worth = _worth(by_folds, every, impersonal, fold, codes) if len(set(codes.tolist()) - {NOBODY}) > 1 else None
        if not always and best[1] and (worth is None or not worth.pays):
            best = _best(by_folds, impersonal, frozenset(), fold)
        penalty, ratio = best
        a = dual_coefficients(pooled_kernel(x, codes, ratio), rows.target, rows.counts, penalty, rows.loss)
    by_code = deviations(x, a, codes, ratio) if ratio else {}
    names = rows.names
    people = {names[code]: deviation / scale for code, deviation in by_code.items()}
    return PersonFit(shared_weights(x, a) / scale, scale, people, penalty, ratio, worth)


def column_scale(x: Floats) -> Floats:
    """The (width,) root mean squares of the (n, width) columns times the root of their number; 1 for a column of a
    constant, which differences have as 0 and texts as 1."""
    size = np.sqrt(np.square(x).mean(axis=0) * x.shape[1])
    return np.where(np.ptp(x, axis=0) > 0, size, 1.0)


def _losses(x: Floats, rows: PersonRows, codes: Codes, fold: Codes) -> dict[tuple[Grid, frozenset[int]], Floats]:
    """The (n,) losses by each point of the grid, fitted without each fold and without every two; 0 where a row was in
    the fit."""
    by_folds = {}
    count = int(fold.max()) + 1
    for ratio in RATIOS if (codes != NOBODY).any() else RATIOS[:1]:
        kernel = pooled_kernel(x, codes, ratio)
        for left_out in [frozenset(some) for size in (1, 2) for some in combinations(range(count), size)]:
            seen = ~np.isin(fold, list(left_out))
            a = np.zeros(int(seen.sum()))
            for penalty in PENALTIES:  # from the largest, each from the one before
                a = dual_coefficients(
                    kernel[np.ix_(seen, seen)], rows.target[seen], rows.counts[seen], penalty, rows.loss, start=a
                )
                losses = np.zeros(len(fold))
                f = kernel[np.ix_(~seen, seen)] @ a
                losses[~seen] = rows.counts[~seen] * row_losses(f, rows.target[~seen], rows.loss)
                by_folds[(penalty, ratio), left_out] = losses
    return by_folds


def _best(
    by_folds: dict[tuple[Grid, frozenset[int]], Floats], points: Sequence[Grid], left_out: frozenset[int], fold: Codes
) -> Grid:
    """The point with the lowest loss on the folds that are not left out, each by the fit without it and these."""
    others = set(range(int(fold.max()) + 1)) - left_out
    return min(points, key=lambda point: sum(by_folds[point, left_out | {k}][fold == k].sum() for k in others))


def _worth(
    by_folds: dict[tuple[Grid, frozenset[int]], Floats],
    every: Sequence[Grid],
    impersonal: Sequence[Grid],
    fold: Codes,
    codes: Codes,
) -> PersonWorth:
    """The gain on every fold of points that were chosen on the others."""
    with_all, without = np.zeros(len(fold)), np.zeros(len(fold))
    for k in range(int(fold.max()) + 1):
        tested, left_out = fold == k, frozenset({k})
        with_all[tested] = by_folds[_best(by_folds, every, left_out, fold), left_out][tested]
        without[tested] = by_folds[_best(by_folds, impersonal, left_out, fold), left_out][tested]
    gain = difference(with_all, without, codes)
    return PersonWorth(float(with_all.mean()), float(without.mean()), gain.value, gain.low, gain.high)


def question_of(case: Case) -> str:
    """What was asked, normalised: the conversation, else the texts to judge."""
    return normalised(conversation(case)) or "\0".join(sorted(candidate.text for candidate in case.candidates))


def rows_of(cases: Sequence[Case], vectors: Sequence[Vectors], loss: Loss, level: float = 0.0) -> PersonRows:
    """The rows of labelled cases, without those that have no label of this kind; the last column is the constant.

    Args:
        vectors: of each case, (candidates, width), centred.
        loss: "logistic" for pairs and choices, "squares" for texts.
        level: the score about which those of texts are taken.
    """
    labelled = [
        (row, person_of(case), question_of(case))
        for case, x in zip(cases, vectors, strict=True)
        for row in labelled_rows(case, np.asarray(x, dtype=np.float64), loss, level)
    ]
    x, target, counts = (np.array(column) for column in zip(*(row for row, *_ in labelled), strict=True))
    return PersonRows(x, target, counts, tuple(p for _, p, _ in labelled), tuple(q for *_, q in labelled), loss)


def with_people(
    head: Head, cases: Sequence[Case], vectors: Sequence[Mapping[str, Vectors]], *, seed: int = 0
) -> tuple[Head, dict[str, PersonWorth | None]]:
    """The head with weights of people wherever they pay, and what they are worth, by block.

    The shared weights stay as they are, bit for bit, and with them the verdicts about people who are not known; the
    deviations are fitted beside them. So a certificate on cases of other people holds as before.

    Args:
        head: with linear blocks; other blocks are left as they are.
        cases: labelled, of whom the profile says who labelled them.
        vectors: what was read of each case, by the name of its source.
        seed: of the folds.
    """
    loss: Loss = "squares" if head.kind == "score" else "logistic"
    scores = [case.label.values[0] for case in cases if loss == "squares" and isinstance(case.label, Scores)]
    level = float(np.mean(scores)) if scores else 0.0
    blocks, worth = dict(head.blocks), {}
    for name, block in head.blocks.items():
        if not isinstance(block, LinearBlock):
            continue
        centre = 0.0 if block.centre is None else block.centre.values.astype(np.float64)
        read = [by_source[block.reads or name] for by_source in vectors]
        rows = rows_of(cases, [numbers - centre for numbers in read], loss, level)
        fit = fit_people(_some_people(rows, MOST_ROWS), seed=seed)
        worth[name] = fit.worth
        if fit.ratio:
            empty = PersonBlock.of(
                block, scale=fit.scale[:-1], penalty=fit.penalty, ratio=fit.ratio, loss=loss, level=level
            )
            blocks[name] = empty.learn(cases, read)
    return head.model_copy(update={"blocks": blocks}), worth


def _some_people(rows: PersonRows, most: int) -> PersonRows:
    """All rows of the first people by their digests, at most so many rows; all rows if they are fewer."""
    if len(rows.target) <= most:
        return rows
    counts, total = Counter(rows.people), 0
    chosen: set[str] = set()
    for person in rows.names:
        if total + counts[person] <= most:
            chosen.add(person)
            total += counts[person]
    is_chosen = np.array([person in chosen for person in rows.people])
    if not is_chosen.any():
        is_chosen[:most] = True
    return PersonRows(
        rows.x[is_chosen],
        rows.target[is_chosen],
        rows.counts[is_chosen],
        tuple(rows.people[row] for row in np.flatnonzero(is_chosen)),
        tuple(rows.questions[row] for row in np.flatnonzero(is_chosen)),
        rows.loss,
    )
