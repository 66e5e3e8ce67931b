"""Fit votes of the nearest labelled cases: the second way, beside a probe, from many numbers to one a candidate.

What is chosen is only how the cases vote: how many, and how fast a vote falls with distance. The rule is the one of the
lowest squared error when each case is judged by the cases of other groups (leave one group out); the size of the votes
does not count, as a head gives them their weight. The standard by which numbers are divided is that of all cases: it
reads no label.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ...data import Case
from ...evidence.source_spec import SourceSpec
from ...judging.neighbour_block import NeighbourBlock
from ...judging.neighbour_votes import (
    Flags,
    Floats,
    VoteRule,
    directions,
    form_of,
    middle,
    relative,
    relative_targets,
    spread,
    votes,
)
from ...judging.origins import Origins

NEIGHBOURS, POWERS, TOPICS = (10, 40, None), (1.0, 2.0, 4.0), (0.0, 3.0)
RULES = tuple(VoteRule(neighbours=k, power=p, topic=t) for k, p, t in product(NEIGHBOURS, POWERS, TOPICS))
MOST_COMPARED = 400  # rows on which rules are compared; all labelled cases vote

Numbers = list[tuple[float, ...]]


class NeighbourFit:
    """The votes of labelled cases of one kind on one another.

    Args:
        cases: n cases, all of one form.
        vectors: (candidates, width) of each case.
        targets: for each case a number a candidate: the probability that people choose it, or a text's score.
    """

    def __init__(
        self, cases: Sequence[Case], vectors: Sequence[NDArray[np.floating]], targets: Sequence[tuple[float, ...]]
    ) -> None:
        self.cases, self.vectors = tuple(cases), tuple(vectors)
        self.form = form_of(len(vectors[0]))
        self._targets = [relative_targets(numbers) for numbers in targets]
        self._case_of = np.array([row for row, said in enumerate(self._targets) for _ in said])
        self._said = np.array([number for said in self._targets for number in said])
        raw = np.concatenate([relative(values) for values in vectors])
        middles = np.stack([middle(values) for values in vectors])[self._case_of]
        centre = np.stack([raw.mean(axis=0) if self.form == "text" else np.zeros(raw.shape[1]), middles.mean(axis=0)])
        scale = np.stack([spread(raw, centre[0]), spread(middles, centre[1])])
        # As a block holds them, so that the votes here are the votes of the block.
        self.standard = (_single(centre), _single(scale))
        (first, second), (wide, high) = self.standard
        self._asked = directions(raw, first, wide), directions(middles, second, high)
        self._voting = directions(_half(raw), first, wide), directions(_half(middles), second, high)
        self._usable = Origins.of(self.cases).usable_among()
        self._aspect = np.unique([case.aspect or "" for case in cases], return_inverse=True)[1]

    def scores(self, chosen: Flags) -> Numbers:
        """For each of the n cases a number a candidate, by the votes of the cases that `chosen` (n,) marks, never of
        the case's group; so the numbers of the chosen cases are cross-fitted already."""
        said = self._votes(np.arange(len(self._said)), chosen, (self.rule(chosen),))[0]
        numbers: list[list[float]] = [[] for _ in self.cases]
        for row, vote in zip(self._case_of, said, strict=True):
            numbers[row].append(float(vote))
        return [(vote[0], -vote[0]) if self.form == "pair" else tuple(vote) for vote in numbers]

    def block(self, source: SourceSpec, chosen: Flags, reads: str = "") -> NeighbourBlock:
        """The block of the cases that `chosen` (n,) marks."""
        rows = np.flatnonzero(chosen).tolist()
        return NeighbourBlock.of(
            source,
            [self.cases[row] for row in rows],
            [self.vectors[row] for row in rows],
            [self._targets[row] for row in rows],
            self.rule(chosen),
            self.standard,
            reads,
        )

    def rule(self, chosen: Flags) -> VoteRule:
        """The rule with the least squared error on the chosen cases, the first of equal ones."""
        rows = np.flatnonzero(chosen[self._case_of])
        rows = rows[:: max(1, len(rows) // MOST_COMPARED)]
        errors = [self._error(rows, said) for said in self._votes(rows, chosen, RULES)]
        return RULES[int(np.argmin(np.round(errors, 9)))]

    def _error(self, rows: NDArray[np.int64], said: Floats) -> float:
        """The squared error of the best multiple of the votes; of texts around the means of the aspects."""
        target = self._said[rows]
        if self.form == "text":
            aspect = self._aspect[self._case_of[rows]]
            for code in np.unique(aspect):
                same = aspect == code
                target, said = target.copy(), said.copy()
                target[same] -= target[same].mean()
                said[same] -= said[same].mean()
        size = float(said @ said)
        gain = max(0.0, float(said @ target)) ** 2 / size if size > 0 else 0.0
        return float(target @ target) - gain

    def _votes(self, rows: NDArray[np.int64], chosen: Flags, rules: Sequence[VoteRule]) -> Floats:
        """(rules, rows), by voters of the same aspect where there are any."""
        said = np.zeros((len(rules), len(rows)))
        aspect = self._aspect[self._case_of]
        voters = np.flatnonzero(chosen[self._case_of])
        for code in np.unique(aspect[rows]):
            place = np.flatnonzero(aspect[rows] == code)
            same = voters[aspect[voters] == code]
            said[:, place] = self._counted(rows[place], same if len(same) else voters, rules)
        return said

    def _counted(self, rows: NDArray[np.int64], voters: NDArray[np.int64], rules: Sequence[VoteRule]) -> Floats:
        usable = self._usable[np.ix_(self._case_of[rows], self._case_of[voters])]
        near = self._asked[0][rows] @ self._voting[0][voters].T
        topics = self._asked[1][rows] @ self._voting[1][voters].T if any(rule.topic for rule in rules) else None
        said = _single(self._said[voters])
        return np.stack([votes(near, topics, said, usable, rule, self.form) for rule in rules])


def _single(values: Floats) -> Floats:
    return values.astype(np.float32).astype(np.float64)


def _half(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float64)
