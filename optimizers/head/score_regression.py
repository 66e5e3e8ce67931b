"""Heads for single texts: people's scores from the judge's, by regularised least squares.

Texts may be judged on several aspects, each with its level, its scale and its worth of a point of the judge's score:
one line through all texts would find the differences of the levels. So the candidates are one model for all aspects,
common weights with an intercept for each aspect (an analysis of covariance), and a model for each aspect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Scores, Verdict
from ...errors import DeclarationError
from ...judging.calibration_features import LENGTH, impute, text_features
from ...judging.features_by_name import QUESTION
from ...judging.heads import AspectModel, Knots, ScoreHead
from ..soft_labels import SoftLabels
from .isotonic import rising
from .likelihood import fit_squares, fit_squares_within
from .model_spec import (
    MODELS,
    PENALTIES,
    HeadSpec,
    evidence_sets,
    feature_matrix,
    informative_features,
    offered,
    penalties_for,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
UNSIGNED = {LENGTH, "spread", "doubt"}  # features whose weight may be negative
FEWEST_FOR_INTERCEPT = 5  # labels of an aspect; with fewer it gets the common model
FEWEST_FOR_MODEL = 20  # labels of an aspect; with fewer it gets an intercept of the common weights


@dataclass(frozen=True)
class LinearModel:
    """A linear model of a score, with knots."""

    weights: list[float]
    intercept: float
    knots: Knots = ()

    def on_scale(self, lo: float, hi: float) -> "LinearModel":
        """The model of scores in [0, 1] as one of scores in [lo, hi]."""
        size = hi - lo
        knots = tuple((lo + size * x, lo + size * y) for x, y in self.knots)
        return LinearModel([size * weight for weight in self.weights], lo + size * self.intercept, knots)


class TextEvidence:
    """The evidence of labelled single texts as arrays of n rows, which may be of several aspects.

    Where the aspects are on several scales, scores are fitted and losses measured as proportions of their scale.

    Args:
        like: evidence of the same texts whose features these take; None: those that carry information.

    Raises:
        DeclarationError: the labels of an aspect are on several scales.
    """

    targets: SoftLabels | None = None
    reads_vectors = True  # whether what is read of the texts can be its evidence
    constants: tuple[str, ...] = ()  # features that every candidate has
    names: list[str]

    def __init__(
        self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool, like: Self | None = None
    ) -> None:  # fmt: skip
        rows = [text_features(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        listed = offered(rows, length=length) if like is None else like.names
        names, x = feature_matrix([impute(f, listed) for f in rows], None if like is None else listed)
        self.names, self.x = informative_features(names, x, centred=True) if like is None else (names, x)
        self.aspects = sorted({case.aspect or "" for case in cases})
        self.aspect = np.array([self.aspects.index(case.aspect or "") for case in cases], dtype=np.int64)
        self.scales = _scales(cases, self.aspects)
        self.several_scales = len(set(self.scales)) > 1
        self.lo, self.hi = (0.0, 1.0) if self.several_scales else self.scales[0]
        y = np.array([case.label.values[0] for case in cases if isinstance(case.label, Scores)])
        lows, highs = np.array(self.scales)[self.aspect].T
        self.y = (y - lows) / (highs - lows) if self.several_scales else y
        counts = np.bincount(self.aspect)
        self.weight = len(y) / (len(counts) * counts[self.aspect])  # so that the mean loss is the mean over aspects

    def plans(self) -> list[HeadSpec]:
        """The candidates: single features, and all features, each linear and isotonic; of several aspects one model
        for all, with an intercept for each aspect, and a model for each."""
        questions = tuple(name for name in self.names if name.startswith(QUESTION))
        single = [name for name in self.names if name not in (*UNSIGNED, *questions)]
        sets: dict[str, tuple[str, ...]] = {name: (name,) for name in single}
        if questions:
            sets["questions"] = questions
        if len(self.names) > 1:
            sets["all"] = tuple(self.names)
        plans = [HeadSpec(name, features, 0.0) for name, features in sets.items()]
        return self._in_all_forms(plans) or self._of_aspects([HeadSpec("mean of the labels", (), PENALTIES[0])])

    def evidence_plans(self, evidence: Mapping[str, str]) -> list[HeadSpec]:
        """The candidates with measured evidence: alone, and beside the mean score and all of the judge's answers.

        Args:
            evidence: the name of its source by the name of each.
        """
        names = [name for name in self.names if name not in evidence]
        answers = {name: (name,) for name in names[:1] if name not in UNSIGNED}
        sets = evidence_sets(
            [e for e in evidence if e in self.names], answers | ({"all": tuple(names)} if names else {})
        )
        return self._in_all_forms([HeadSpec(name, f, 0.0, evidence=used) for name, (used, f) in sets.items()])

    def _in_all_forms(self, plans: Sequence[HeadSpec]) -> list[HeadSpec]:
        """The plans with every penalty, linear and isotonic, in all ways to treat aspects."""
        return self._of_aspects(
            [
                replace(plan, penalty=penalty, isotonic=isotonic)
                for plan in plans
                for penalty in penalties_for(plan.features)
                for isotonic in (False, True)
            ]
        )

    def _of_aspects(self, plans: Sequence[HeadSpec]) -> list[HeadSpec]:
        by_aspect = MODELS if len(self.aspects) > 1 else MODELS[:1]
        return [replace(plan, aspects=aspects) for aspects in by_aspect for plan in plans]

    def fits(self, plan: HeadSpec, chosen: Flags) -> list[ScoreHead]:
        """One head per row of `chosen` (s, n), fitted to the texts that the row marks."""
        if plan.aspects == "shared":
            return [
                self._head(plan, rows, model, {}) for rows, model in zip(chosen, self._one(plan, chosen), strict=True)
            ]
        fitted = self._with_intercepts(plan, chosen)
        if plan.aspects == "models":
            for aspect in range(len(self.aspects)):
                counts = (chosen & (self.aspect == aspect)).sum(axis=1)
                for which in np.flatnonzero(counts >= FEWEST_FOR_MODEL).tolist():
                    rows = chosen[[which]] & (self.aspect == aspect)
                    (fitted[which][1][aspect],) = self._one(plan, rows)
        return [self._head(plan, rows, *models) for rows, models in zip(chosen, fitted, strict=True)]

    def losses(self, head: ScoreHead) -> Floats:
        """The (n,) squared errors in squared points of people's scale, weighted so that aspects count equally."""
        score = np.empty(len(self.y))
        for code, aspect in enumerate(self.aspects):
            rows, model = self.aspect == code, head.model_of(aspect)
            columns = [self.names.index(name) for name in model.weights]
            values = model.intercept + self.x[np.ix_(rows, columns)] @ np.array(list(model.weights.values()))
            if model.knots:
                values = np.interp(values, *np.array(model.knots).T)
            values = np.clip(values, model.lo, model.hi)
            score[rows] = (values - model.lo) / (model.hi - model.lo) if self.several_scales else values
        errors: Floats = self.weight * np.square(score - self.y)
        return errors

    def calibrated(self, head: ScoreHead, others: Sequence[ScoreHead], rows: Flags) -> ScoreHead:
        """The head unchanged: a score has no certainty to calibrate."""
        return head

    def _columns(self, plan: HeadSpec) -> tuple[Floats, Flags]:
        """The (n, p) features of a candidate, and which of their weights may not be negative."""
        columns = self.x[:, [self.names.index(name) for name in plan.features]]
        return columns, np.array([name not in UNSIGNED for name in plan.features], dtype=np.bool_)

    def _one(self, plan: HeadSpec, chosen: Flags) -> list[LinearModel]:
        """One model for each row of `chosen`, whatever the aspects."""
        x, bounded = self._columns(plan)
        intercepts, weights = fit_squares(x, self.y, chosen, penalty=plan.penalty, bounded=bounded)
        models = []
        for rows, intercept, w in zip(chosen, intercepts.tolist(), weights, strict=True):
            knots: Knots = rising(intercept + x[rows] @ w, self.y[rows]) if plan.isotonic else ()
            models.append(LinearModel(w.tolist(), intercept, knots))
        return models

    def _with_intercepts(self, plan: HeadSpec, chosen: Flags) -> list[tuple[LinearModel, dict[int, LinearModel]]]:
        """For each row of `chosen` the common model, with the mean intercept of the aspects, and the models of the
        aspects with enough labels for an intercept."""
        x, bounded = self._columns(plan)
        intercepts, weights = fit_squares_within(x, self.y, self.aspect, chosen, penalty=plan.penalty, bounded=bounded)
        fitted = []
        for rows, by_aspect, w in zip(chosen, intercepts, weights, strict=True):
            counts = np.bincount(self.aspect[rows], minlength=len(self.aspects))
            enough = counts >= FEWEST_FOR_INTERCEPT
            mean = float(by_aspect[enough if enough.any() else counts > 0].mean())
            places = np.where(enough, by_aspect, mean)
            knots: Knots = rising(places[self.aspect[rows]] + x[rows] @ w, self.y[rows]) if plan.isotonic else ()
            models = {
                code: LinearModel(w.tolist(), float(places[code]), knots) for code in np.flatnonzero(enough).tolist()
            }
            fitted.append((LinearModel(w.tolist(), mean, knots), models))
        return fitted

    def _head(self, plan: HeadSpec, rows: Flags, common: LinearModel, models: Mapping[int, LinearModel]) -> ScoreHead:
        counts = np.bincount(self.aspect[rows], minlength=len(self.aspects)).tolist()
        if self.several_scales:
            models = {code: models.get(code, common).on_scale(*self.scales[code]) for code in range(len(self.aspects))}
        return ScoreHead(
            fitted=str(plan),
            n=sum(counts),
            weights=dict(zip(plan.features, common.weights, strict=True)),
            intercept=common.intercept,
            knots=common.knots,
            lo=self.lo,
            hi=self.hi,
            aspects={
                self.aspects[code]: AspectModel(
                    n=counts[code],
                    weights=dict(zip(plan.features, model.weights, strict=True)),
                    intercept=model.intercept,
                    knots=model.knots,
                    lo=self.scales[code][0],
                    hi=self.scales[code][1],
                )
                for code, model in sorted(models.items())
            },
        )


def _scales(cases: Sequence[Case], aspects: Sequence[str]) -> list[tuple[float, float]]:
    """Lowest and highest score of each aspect."""
    scales = []
    for aspect in aspects:
        labels = [case.label for case in cases if (case.aspect or "") == aspect and isinstance(case.label, Scores)]
        ends = sorted({(label.lo, label.hi) for label in labels})
        if len(ends) != 1:
            of = f" of the aspect {aspect!r}" if aspect else ""
            raise DeclarationError(f"fit: people's scores{of} are on {len(ends)} scales, {ends}. Give one scale.")
        scales += ends
    return scales
