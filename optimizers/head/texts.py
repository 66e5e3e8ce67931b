"""Heads of single texts: people's scores from the judge's, least squares."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Scores, Verdict
from ...errors import DeclarationError
from ...programs.features import LENGTH, of_text
from ...programs.head import Knots, ScoreHead
from .isotonic import rising
from .likelihood import fit_squares
from .plan import PENALTIES, Plan, matrix, told_apart

Floats = NDArray[np.float64]
UNSIGNED = {LENGTH, "spread", "doubt"}  # more of it need not be better


class Texts:
    """The evidence of labelled single texts as arrays, n rows.

    Raises:
        DeclarationError: the labels are on several scales.
    """

    def __init__(self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool) -> None:
        found = [of_text(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        names, x = matrix([{k: v for k, v in f.items() if length or k != LENGTH} for f in found])
        self.names, self.x = told_apart(names, x, centred=True)
        labels = [case.label for case in cases if isinstance(case.label, Scores)]
        scales = sorted({(label.lo, label.hi) for label in labels})
        if len(scales) != 1:
            raise DeclarationError(f"fit: people's scores are on {len(scales)} scales, {scales}. Give one scale.")
        self.lo, self.hi = scales[0]
        self.y = np.array([label.values[0] for label in labels])

    def plans(self) -> list[Plan]:
        """What is tried: single features, and all, each plain and isotonic."""
        sets: dict[str, tuple[str, ...]] = {name: (name,) for name in self.names if name not in UNSIGNED}
        if len(self.names) > 1:
            sets["all"] = tuple(self.names)
        plans = [
            Plan(name, features, penalty, isotonic=isotonic)
            for name, features in sets.items()
            for penalty in (PENALTIES if len(features) > 1 else PENALTIES[:1])
            for isotonic in (False, True)
        ]
        return plans or [Plan("mean of the labels", (), PENALTIES[0])]

    def fit(self, plan: Plan, rows: NDArray[np.int64]) -> ScoreHead:
        """The head of the plan, fitted to the rows."""
        x, y = self.x[rows][:, [self.names.index(name) for name in plan.features]], self.y[rows]
        centre, scale = x.mean(axis=0), x.std(axis=0)
        scale[scale == 0] = 1.0
        bounded = np.array([name not in UNSIGNED for name in plan.features], dtype=np.bool_)
        w = fit_squares((x - centre) / scale, y - y.mean(), penalty=plan.penalty, bounded=bounded) / scale
        intercept = float(y.mean() - centre @ w)
        knots: Knots = rising(intercept + x @ w, y) if plan.isotonic else ()
        weights = dict(zip(plan.features, w.tolist(), strict=True))
        return ScoreHead(
            fitted=str(plan), n=len(rows), weights=weights, intercept=intercept, knots=knots, lo=self.lo, hi=self.hi
        )

    def losses(self, head: ScoreHead, rows: NDArray[np.int64]) -> Floats:
        """The (n,) squared errors of the rows, in squared points of people's scale."""
        columns = [self.names.index(name) for name in head.weights]
        score = head.intercept + self.x[rows][:, columns] @ np.array(list(head.weights.values()))
        if head.knots:
            score = np.interp(score, *np.array(head.knots).T)
        errors: Floats = np.square(np.clip(score, head.lo, head.hi) - self.y[rows])
        return errors
