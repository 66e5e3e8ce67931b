"""Heads of pairs: which features, with which penalty, with ties by what, bent or not; each one fit away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...programs.features import LENGTH, of_pair
from ...programs.head import THRESHOLDS, Knots, PairHead
from .isotonic import odd_rising
from .likelihood import LEAST, fit_ordered, fit_rescaling, ordered
from .plan import PENALTIES, Plan, labels_of, matrix, shares_of, told_apart

Floats = NDArray[np.float64]
FALLBACKS = ("merged", "letters", "scores", "single scores", "verdict")  # name a winner where a plan's features are 0
LABELS = ("a", "b", "tie")
KINDS = ("letters", "scores", "single scores", "stated", "verdict")  # one feature for each kind of evidence


class Pairs:
    """The evidence of labelled pairs as arrays, n rows.

    Weights are learnt from all votes, of which there are more than labels. A majority is surer than one person, so
    probabilities fitted to votes are too low for labels: the margins' scale and the thresholds are then moved by as
    much as the labels want them moved more than the votes do (the difference, so that the shrinkage stays).

    Attributes:
        shares: (n, 3) of a, b and tie among the people behind each label.
        labels: (n, 3), 1 at the label.
        voted: whether the two differ.
    """

    def __init__(self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool) -> None:
        found = [of_pair(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        self.names, odd = matrix([{k: v for k, v in f.odd.items() if length or k != LENGTH} for f in found])
        self.even_names, even = matrix([features.even for features in found])
        self.names, self.odd = told_apart(self.names, odd)
        self.even_names, self.even = told_apart(self.even_names, even, centred=True)
        self.fallback = next((name for name in FALLBACKS if name in self.names), None)
        self.shares, self.labels = shares_of(cases, LABELS), labels_of(cases, LABELS)
        self.voted = bool((self.shares != self.labels).any())
        self.ties = bool(self.shares[:, 2].any() or self.labels[:, 2].any())

    def plans(self) -> list[Plan]:
        """What is tried, from simple to rich: single features, one of each kind, criteria, members, all."""
        names = [name for name in self.names if name != LENGTH]
        groups = {
            "kinds": [name for name in names if name in KINDS],
            "criteria": [name for name in names if name.startswith("criterion ")],
            "members": [name for name in names if name.startswith("member ")],
            "all": names,
        }
        sets = {name: (name,) for name in names} | {name: tuple(g) for name, g in groups.items() if len(g) > 1}
        if LENGTH in self.names:
            sets |= {f"{name} + {LENGTH}": (*features, LENGTH) for name, features in sets.items()}
        plans = []
        for name, features in sets.items():
            for penalty in PENALTIES if len(features) > 1 else PENALTIES[:1]:
                plans.append(Plan(name, features, penalty))
                if self.ties and self.even_names:
                    plans.append(Plan(name, features, penalty, by_case=True))
            if len(features) == 1:
                plans.append(Plan(name, features, PENALTIES[0], isotonic=True))
        return plans or [Plan("base rate", (), PENALTIES[0])]

    def fit(self, plan: Plan, rows: NDArray[np.int64]) -> PairHead:
        """The head of the plan, fitted to the rows."""
        x, shares = self.odd[rows][:, [self.names.index(name) for name in plan.features]], self.shares[rows]
        scale = _root_mean_square(x)
        bounded = np.array([name != LENGTH for name in plan.features], dtype=np.bool_)
        z, centre, spread = _standardised(self.even[rows] if plan.by_case else np.empty((len(rows), 0)))
        even = z if self.ties else None
        w, v = fit_ordered(x / scale, even, shares, penalty=plan.penalty, bounded=bounded)
        m, w = x / scale @ w, w / scale
        log_t = v[0] + z @ v[1:] if self.ties else None
        knots: Knots = ()
        shift = 0.0
        if plan.isotonic:
            labels = self.labels[rows]
            knots = odd_rising(m, labels[:, 0] + labels[:, 2] / 2)
            if self.ties:  # a win and half a tie are not the log-odds of a win
                factor, shift = fit_rescaling(_bent(m, knots), log_t, labels)
                knots = tuple((place, bend * factor) for place, bend in knots)
        elif self.voted:
            by_labels, shift_labels = fit_rescaling(m, log_t, self.labels[rows])
            by_votes, shift_votes = fit_rescaling(m, log_t, shares)
            w, shift = w * (by_labels / by_votes), shift_labels - shift_votes
        weights = dict(zip(plan.features, w.tolist(), strict=True))
        if self.fallback and self.fallback not in weights:
            column = self.odd[rows][:, [self.names.index(self.fallback)]]
            weights[self.fallback] = float(LEAST / _root_mean_square(column)[0])
        slopes = v[1:] / spread if len(v) else np.empty(0)
        return PairHead(
            fitted=str(plan),
            n=len(rows),
            weights=weights,
            intercept=float(v[0] - slopes @ centre + shift) if len(v) else None,
            threshold=dict(zip(self.even_names, slopes.tolist(), strict=True)) if plan.by_case else {},
            knots=knots,
        )

    def losses(self, head: PairHead, rows: NDArray[np.int64]) -> Floats:
        """The (n,) cross-entropies of the rows in nats, against the labels."""
        columns = [self.names.index(name) for name in head.weights]
        m = _bent(self.odd[rows][:, columns] @ np.array(list(head.weights.values())), head.knots)
        if head.intercept is None:
            return ordered(m, 0.0, self.labels[rows])[0]
        by = [self.even_names.index(name) for name in head.threshold]
        exponent = head.intercept + self.even[rows][:, by] @ np.array(list(head.threshold.values()))
        return ordered(m, np.exp(np.clip(exponent, *THRESHOLDS)), self.labels[rows])[0]


def _bent(m: Floats, knots: Knots) -> Floats:
    if not knots:
        return m
    places, values = np.array(knots).T
    bent: Floats = np.sign(m) * np.interp(np.abs(m), places, values)
    return bent


def _standardised(z: Floats) -> tuple[Floats, Floats, Floats]:
    """The columns with mean 0 and deviation 1, and what they were; a constant becomes 0."""
    centre, spread = z.mean(axis=0), z.std(axis=0)
    spread[spread == 0] = 1.0
    return (z - centre) / spread, centre, spread


def _root_mean_square(x: Floats) -> Floats:
    scale: Floats = np.sqrt(np.square(x).mean(axis=0))
    scale[scale == 0] = 1.0
    return scale
