"""The verdicts of judges on labelled cases, and what thresholds accept of them, by groups of cases."""

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import DataError
from ...stats.resampling import Groups, group_codes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
JudgeEvidence = tuple[ArrayLike, ArrayLike]  # (n,) certainties of a judge, and (n,) whether it agrees with people
ThresholdPath = Sequence[tuple[float, ...]]  # one threshold per judge at each step


@dataclass(frozen=True)
class Accepted:
    """What one threshold per judge accepts.

    Attributes:
        cases: accepted verdicts.
        wrong: those that disagree with people.
        coverage: the mean proportion of a group's cases that are accepted, each group with equal weight.
        errors: (groups,) the proportion of errors among the accepted verdicts of each group that has some, sorted.
        predicted: the mean of these proportions that the certainties predict; 0 if nothing is accepted.
        single: whether each of these groups has one accepted verdict.
    """

    cases: int
    wrong: int
    coverage: float
    errors: Floats
    predicted: float

    @property
    def groups(self) -> int:
        return len(self.errors)

    @property
    def single(self) -> bool:
        return self.cases == self.groups

    @property
    def total(self) -> float:
        """The sum of the groups' proportions of errors; the number of errors if `single`."""
        return float(self.errors.sum())


@dataclass(frozen=True)
class CertaintyTable:
    """The verdicts of judges on the same cases, sorted, so that nothing depends on their order.

    Attributes:
        certainty: (judges, n), -1 without a verdict.
        correct: (judges, n), whether the verdict equals the human label.
        codes: (n,) the group of each case, 0..groups - 1.
    """

    certainty: Floats
    correct: Flags
    codes: NDArray[np.intp]

    @property
    def n(self) -> int:
        return len(self.codes)

    @cached_property
    def sizes(self) -> Counts:
        """(groups,) cases of each group."""
        return np.bincount(self.codes)

    @property
    def groups(self) -> int:
        return len(self.sizes)

    def decider(self, thresholds: tuple[float, ...]) -> Counts:
        """(n,) the first judge that reaches its threshold; the number of judges if none does."""
        reached = self.certainty >= np.array(thresholds)[:, None]
        return np.where(reached.any(axis=0), reached.argmax(axis=0), len(thresholds))

    def proportion(self, chosen: Flags) -> float:
        """The mean proportion of a group's cases that are chosen, (n,), each group with equal weight."""
        return float(np.sort(np.bincount(self.codes, chosen, self.groups) / self.sizes).mean())

    def wrong(self, thresholds: tuple[float, ...]) -> tuple[NDArray[np.intp], Flags]:
        """The positions of the accepted verdicts, and whether each disagrees with people."""
        decider = self.decider(thresholds)
        taken = np.flatnonzero(decider < len(thresholds))
        return taken, ~self.correct[decider[taken], taken]

    def accepted(self, thresholds: tuple[float, ...]) -> Accepted:
        """What these thresholds accept."""
        decider = self.decider(thresholds)
        taken, wrong = self.wrong(thresholds)
        judge, codes = decider[taken], self.codes[taken]
        number = np.bincount(codes, minlength=self.groups)
        some = number > 0
        errors = np.bincount(codes, wrong, self.groups)[some] / number[some]
        predicted = np.bincount(codes, 1 - self.certainty[judge, taken], self.groups)[some] / number[some]
        return Accepted(
            cases=len(taken),
            wrong=int(wrong.sum()),
            coverage=float(np.sort(number / self.sizes).mean()),
            errors=np.sort(errors),
            predicted=float(np.sort(predicted).mean()) if some.any() else 0.0,
        )


def certainty_table(
    stages: Sequence[JudgeEvidence], groups: Groups, *, one_of_each: Iterable[Hashable] | None = None
) -> CertaintyTable:
    """The table of these judges' verdicts.

    Args:
        groups: (n,) the group of each case; None: independent cases.
        one_of_each: (n,) case ids. Given, only the case of each group whose id has the lowest SHA-256 counts, as the
            certificates of earlier versions were about one case of each group.

    Raises:
        DataError: see `certify.certify`.
    """
    sides = [(np.asarray(stage[0], dtype=np.float64), np.asarray(stage[1], dtype=np.float64)) for stage in stages]
    shapes = {side.shape for pair in sides for side in pair}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise DataError(
            f"certify: sides of shapes {sorted(shapes)}. Give one certainty and one truth value for each case."
        )
    certainty, correct = (np.array(side) for side in zip(*sides, strict=True))
    known = ~np.isnan(certainty)
    if not known.any():
        raise DataError(f"certify: none of {certainty.shape[1]} cases has a certainty. Give a judge's verdicts.")
    if not ((certainty[known] >= 0) & (certainty[known] <= 1)).all():
        outside = certainty[known][(certainty[known] < 0) | (certainty[known] > 1)][0]
        raise DataError(f"certify: certainty {outside:g} is not in [0, 1]. Give probabilities, or NaN for no verdict.")
    if not np.isin(correct[known], (0, 1)).all():
        raise DataError(
            "certify: a verdict is neither right nor wrong. Give true or false for each verdict with a certainty."
        )
    codes, _ = group_codes(groups, certainty.shape[1])
    certainty, correct = np.where(known, certainty, -1.0), correct == 1
    if one_of_each is not None:
        cases = _first_of_each(codes, list(one_of_each))
        certainty, correct, codes = certainty[:, cases], correct[:, cases], np.arange(len(cases))
    order = np.lexsort((codes, *correct, *certainty))
    return CertaintyTable(certainty[:, order], correct[:, order], codes[order])


def _first_of_each(codes: NDArray[np.intp], ids: list[Hashable]) -> NDArray[np.intp]:
    """The positions of the cases that stand for their group: those of the lowest SHA-256 of their id."""
    if len(ids) != len(codes):
        raise DataError(f"certify: {len(ids)} ids for {len(codes)} cases. Give one for each case.")
    digests = [hashlib.sha256(str(name).encode()).digest() for name in ids]
    order = sorted(range(len(ids)), key=lambda case: (codes[case], digests[case]))
    return np.array([case for place, case in enumerate(order) if not place or codes[order[place - 1]] != codes[case]])
