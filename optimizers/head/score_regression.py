"""Heads for single texts: people's scores from the judge's, by regularised least squares."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Scores, Verdict
from ...errors import DeclarationError
from ...judging.calibration_features import LENGTH, impute, text_features
from ...judging.heads import Knots, ScoreHead
from .isotonic import rising
from .likelihood import fit_squares
from .model_spec import PENALTIES, HeadSpec, feature_matrix, informative_features

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
UNSIGNED = {LENGTH, "spread", "doubt"}  # features whose weight may be negative


class TextEvidence:
    """The evidence of labelled single texts as arrays of n rows.

    Raises:
        DeclarationError: the labels are on several scales.
    """

    def __init__(self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool) -> None:
        rows = [text_features(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        offered = [k for k in dict.fromkeys(name for f in rows for name in f) if length or k != LENGTH]
        names, x = feature_matrix([impute(f, offered) for f in rows])
        self.names, self.x = informative_features(names, x, centred=True)
        labels = [case.label for case in cases if isinstance(case.label, Scores)]
        scales = sorted({(label.lo, label.hi) for label in labels})
        if len(scales) != 1:
            raise DeclarationError(f"fit: people's scores are on {len(scales)} scales, {scales}. Give one scale.")
        self.lo, self.hi = scales[0]
        self.y = np.array([label.values[0] for label in labels])

    def plans(self) -> list[HeadSpec]:
        """The candidates: single features, and all features, each linear and isotonic."""
        sets: dict[str, tuple[str, ...]] = {name: (name,) for name in self.names if name not in UNSIGNED}
        if len(self.names) > 1:
            sets["all"] = tuple(self.names)
        plans = [
            HeadSpec(name, features, penalty, isotonic=isotonic)
            for name, features in sets.items()
            for penalty in (PENALTIES if len(features) > 1 else PENALTIES[:1])
            for isotonic in (False, True)
        ]
        return plans or [HeadSpec("mean of the labels", (), PENALTIES[0])]

    def fits(self, plan: HeadSpec, chosen: Flags) -> list[ScoreHead]:
        """One head per row of `chosen` (s, n), fitted to the texts that the row marks."""
        x = self.x[:, [self.names.index(name) for name in plan.features]]
        bounded = np.array([name not in UNSIGNED for name in plan.features], dtype=np.bool_)
        intercepts, weights = fit_squares(x, self.y, chosen, penalty=plan.penalty, bounded=bounded)
        heads = []
        for rows, intercept, w in zip(chosen, intercepts.tolist(), weights, strict=True):
            knots: Knots = rising(intercept + x[rows] @ w, self.y[rows]) if plan.isotonic else ()
            by_feature = dict(zip(plan.features, w.tolist(), strict=True))
            heads.append(
                ScoreHead(
                    fitted=str(plan),
                    n=int(rows.sum()),
                    weights=by_feature,
                    intercept=intercept,
                    knots=knots,
                    lo=self.lo,
                    hi=self.hi,
                )
            )
        return heads

    def losses(self, head: ScoreHead) -> Floats:
        """The (n,) squared errors in squared points of people's scale."""
        columns = [self.names.index(name) for name in head.weights]
        score = head.intercept + self.x[:, columns] @ np.array(list(head.weights.values()))
        if head.knots:
            score = np.interp(score, *np.array(head.knots).T)
        errors: Floats = np.square(np.clip(score, head.lo, head.hi) - self.y)
        return errors

    def calibrated(self, head: ScoreHead, others: Sequence[ScoreHead], rows: Flags) -> ScoreHead:
        """The head unchanged: a score has no certainty to calibrate."""
        return head
