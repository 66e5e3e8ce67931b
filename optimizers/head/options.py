"""Heads of choices: which of several options people take, conditional logit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...programs.features import LENGTH, of_options
from ...programs.head import ChoiceHead
from .likelihood import choices, fit_choices
from .plan import PENALTIES, Plan, shares_of, told_apart

Floats = NDArray[np.float64]


class Options:
    """The evidence of labelled choices as arrays: n cases of at most k options, each feature less its mean over the
    case's options, as only differences count."""

    def __init__(self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool) -> None:
        found = [of_options(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        names = [k for k in dict.fromkeys(name for row in found for name in row) if length or k != LENGTH]
        counts = [len(case.candidates) for case in cases]
        self.there = np.arange(max(counts)) < np.array(counts)[:, None]
        x = np.zeros((len(cases), max(counts), len(names)))
        for row, (features, count) in enumerate(zip(found, counts, strict=True)):
            for column, name in enumerate(names):
                if name in features:
                    values = np.array(features[name])
                    x[row, :count, column] = values - values.mean()
        self.names, flat = told_apart(names, x.reshape(-1, len(names)))
        self.x = flat.reshape(*x.shape[:2], -1)
        self.shares = shares_of(cases, [str(index) for index in range(max(counts))])

    def plans(self) -> list[Plan]:
        """What is tried: single features, and all."""
        sets: dict[str, tuple[str, ...]] = {name: (name,) for name in self.names if name != LENGTH}
        if len(self.names) > 1:
            sets["all"] = tuple(self.names)
        plans = [
            Plan(name, features, penalty)
            for name, features in sets.items()
            for penalty in (PENALTIES if len(features) > 1 else PENALTIES[:1])
        ]
        return plans or [Plan("base rate", (), PENALTIES[0])]

    def fit(self, plan: Plan, rows: NDArray[np.int64]) -> ChoiceHead:
        """The head of the plan, fitted to the rows."""
        x, there = self.x[rows][:, :, [self.names.index(name) for name in plan.features]], self.there[rows]
        scale = np.sqrt(np.square(x).sum(axis=(0, 1)) / there.sum())
        scale[scale == 0] = 1.0
        bounded = np.array([name != LENGTH for name in plan.features], dtype=np.bool_)
        w = fit_choices(x / scale, there, self.shares[rows], penalty=plan.penalty, bounded=bounded) / scale
        return ChoiceHead(fitted=str(plan), n=len(rows), weights=dict(zip(plan.features, w.tolist(), strict=True)))

    def losses(self, head: ChoiceHead, rows: NDArray[np.int64]) -> Floats:
        """The (n,) cross-entropies of the rows in nats, against the shares of people."""
        columns = [self.names.index(name) for name in head.weights]
        utility = self.x[rows][:, :, columns] @ np.array(list(head.weights.values()))
        return choices(np.where(self.there[rows], utility, -np.inf), self.shares[rows])[0]
