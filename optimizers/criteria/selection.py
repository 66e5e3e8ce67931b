"""Which questions are worth asking: forward selection by the cross-fitted loss, with a stop rule of stated error.

Each step adds the question that lowers the loss out of fold most, if chance would not do as well. The best of many
worthless questions lowers it too, so it is compared with the best of as many shuffled questions, drawn `DRAWS` times: a
permutation test of the maximum (Westfall and Young 1993). If nothing that is left is worth anything, a step adds a
question with a probability of at most `ERROR`. Folds take whole groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data import Case
from ...data.case import Record
from ...data.split import split
from ...stats.paired import difference
from ..head.fit import LEAST_GROUPS, LEAST_LABELS, TooFewVerdicts
from .labelled_answers import (
    ChoiceAnswers,
    Flags,
    Floats,
    LabelledAnswers,
    PairAnswers,
    TextAnswers,
    added_losses,
    out_of_fold,
)

FOLDS = 5
DRAWS = 39
ERROR = 0.05  # the probability that a step adds a question where none is worth anything
MOST_CHOSEN = 12
PENALTIES = (1.0, 10.0, 100.0, 1000.0)

Answers = Mapping[str, Sequence[tuple[float, ...]]]


class QuestionWorth(Record):
    """What one question adds to all others that were chosen."""

    name: str = Field(description="the question's name")
    worth: float = Field(description="loss without it minus loss with it, out of fold: nats, or squared proportions")
    low: float = Field(description="lower end of the 95 % interval, by groups")
    high: float = Field(description="upper end of the interval")
    p: float = Field(description="of the step that added it: how often shuffled questions did as well")


class Selection(Record):
    """The chosen questions and what they are worth."""

    n: int = Field(description="labelled cases")
    groups: int = Field(description="their groups")
    candidates: int = Field(description="questions that were asked to choose from")
    loss_before: float = Field(description="out of fold, without the chosen questions")
    loss_after: float = Field(description="out of fold, with them")
    chosen: tuple[QuestionWorth, ...] = Field(default=(), description="in the order in which they were added")
    stopped_at: float | None = Field(
        default=None, description="p of the best question that was not added; None: none was left"
    )


@dataclass(frozen=True)
class _Design:
    """Labelled answers with folds and the columns of all questions."""

    labelled: LabelledAnswers
    train: Flags
    columns: Mapping[str, Floats]
    groups: NDArray[np.int64]

    def matrix(self, names: Sequence[str]) -> Floats:
        shape = next(iter(self.columns.values())).shape if self.columns else (self.train.shape[1],)
        return np.stack([self.columns[name] for name in names], axis=-1) if names else np.empty((*shape, 0))

    def predicted(self, names: Sequence[str]) -> Floats:
        """The predictions by the penalty with the lowest loss out of fold."""
        x = self.matrix(names)
        tried = PENALTIES if len(names) > 1 else PENALTIES[:1]
        losses = {}
        for penalty in tried:
            losses[penalty] = out_of_fold(self.labelled, self.labelled.base(x, self.train, penalty), self.train).mean()
        return self.labelled.base(x, self.train, min(tried, key=lambda penalty: losses[penalty]))

    def losses(self, names: Sequence[str]) -> Floats:
        return out_of_fold(self.labelled, self.predicted(names), self.train)


def select(
    cases: Sequence[Case], candidates: Answers, base: Answers | None = None, *, seed: int = 0, most: int = MOST_CHOSEN
) -> Selection:
    """The questions of `candidates` that lower the cross-fitted loss beside those of `base`.

    Args:
        cases: labelled, of one kind.
        candidates: by question, for each case a number per candidate text; more speaks for the text.
        base: the same of questions that are asked anyway.
        seed: of folds and draws.
        most: questions that are chosen at most.

    Raises:
        TooFewVerdicts: fewer than 20 cases, or than 3 groups.
    """
    design = _design(cases, candidates, base or {}, seed)
    draw = np.random.default_rng(seed)
    known, chosen, p_values = list(base or {}), list[str](), dict[str, float]()
    stopped_at: float | None = None
    while len(chosen) < most and (left := [name for name in candidates if name not in chosen]):
        predicted = design.predicted([*known, *chosen])
        before = out_of_fold(design.labelled, predicted, design.train).mean()
        x = design.matrix(left)
        gains = before - added_losses(design.labelled, predicted, x, design.train).mean(axis=1)
        best = int(gains.argmax())
        p = _chance(design, predicted, before, x, float(gains[best]), draw)
        if gains[best] <= 0 or p > ERROR:
            stopped_at = p
            break
        chosen.append(left[best])
        p_values[left[best]] = p
    with_all, without = design.losses([*known, *chosen]), design.losses(known)
    worth = []
    for name in chosen:
        others = design.losses([*known, *(other for other in chosen if other != name)])
        gain = difference(others, with_all, design.groups)
        worth.append(QuestionWorth(name=name, worth=gain.value, low=gain.low, high=gain.high, p=p_values[name]))
    return Selection(
        n=len(cases),
        groups=int(design.groups.max()) + 1,
        candidates=len(candidates),
        loss_before=float(without.mean()),
        loss_after=float(with_all.mean()),
        chosen=tuple(worth),
        stopped_at=stopped_at,
    )


def _chance(
    design: _Design, predicted: Floats, before: float, x: Floats, gain: float, draw: np.random.Generator
) -> float:
    """The p-value of the best question's gain among the best of as many shuffled ones."""
    reached = 0
    for _ in range(DRAWS):
        shuffled = design.labelled.shuffled(x, draw)
        gains = before - added_losses(design.labelled, predicted, shuffled, design.train).mean(axis=1)
        reached += bool(gains.max() >= gain)
        if (1 + reached) / (DRAWS + 1) > ERROR:
            break
    return (1 + reached) / (DRAWS + 1)


def _design(cases: Sequence[Case], candidates: Answers, base: Answers, seed: int) -> _Design:
    keys = [case.split_key for case in cases]
    groups = np.unique(keys, return_inverse=True)[1].astype(np.int64)
    if len(cases) < LEAST_LABELS or len(set(keys)) < LEAST_GROUPS:
        raise TooFewVerdicts(
            f"criteria: {len(cases)} labelled verdicts in {len(set(keys))} groups; {LEAST_LABELS} in {LEAST_GROUPS} "
            "groups are needed to choose questions by."
        )
    k = min(FOLDS, len(set(keys)))
    dealt = split(cases, parts={str(number): 1 / k for number in range(k)}, seed=seed, join=False)
    fold = {case.split_key: int(name) for name, part in dealt.items() for case in part}
    train = np.array([fold[key] for key in keys]) != np.arange(k)[:, None]
    count = len(cases[0].candidates)
    kind = PairAnswers if cases[0].is_pair else TextAnswers if count == 1 else ChoiceAnswers
    columns = {name: _column(numbers) for name, numbers in {**base, **candidates}.items()}
    return _Design(kind(cases), train, columns, groups)


def _column(numbers: Sequence[tuple[float, ...]]) -> Floats:
    """(n,): of pairs the differences, of texts the numbers; (n, k) of choices, 0 where a case has fewer options."""
    count = max(map(len, numbers))
    if count == 1:
        return np.array([values[0] for values in numbers])
    if count == 2:
        return np.array([values[0] - values[1] for values in numbers])
    return np.array([[*values, *[0.0] * (count - len(values))] for values in numbers])
