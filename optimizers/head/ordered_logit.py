"""Heads of pairs: which features, with which penalty, with ties by what, bent or not; each one fit away."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...judging.calibration_features import LENGTH, pair_features
from ...judging.heads import THRESHOLDS, Knots, PairHead
from .isotonic import odd_rising
from .likelihood import LEAST, fit_ordered, fit_rescaling, ordered, root_mean_square
from .model_spec import PENALTIES, Plan, as_large, labels_of, matrix, shares_of, told_apart

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
FALLBACKS = ("merged", "letters", "scores", "single scores", "verdict")  # name a winner where a plan's features are 0
LABELS = ("a", "b", "tie")
BENDING_PENALTY = 1.0  # keeps margins finite that are right every time
CALIBRATING_PENALTY = 3.0  # of 60 labels, 1 follows the noise of the scale and 20 leaves the shrinkage as it is
KINDS = ("letters", "scores", "single scores", "stated", "verdict")  # one feature for each kind of evidence


class Pairs:
    """The evidence of labelled pairs as arrays, n rows.

    Weights are learnt from all votes, of which there are more than labels.

    Attributes:
        shares: (n, 3) of a, b and tie among the people behind each label.
        labels: (n, 3), 1 at the label.
        ties: whether anybody says tie.
    """

    def __init__(self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool) -> None:
        found = [pair_features(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        self.names, odd = matrix([{k: v for k, v in f.odd.items() if length or k != LENGTH} for f in found])
        self.even_names, even = matrix([features.even for features in found])
        self.names, self.odd = told_apart(self.names, odd)
        self.even_names, self.even = told_apart(self.even_names, even, centred=True)
        self.fallback = next((name for name in FALLBACKS if name in self.names), None)
        self.shares, self.labels = shares_of(cases, LABELS), labels_of(cases, LABELS)
        self._fitted: dict[tuple[Plan, bytes], tuple[Floats, Floats]] = {}
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

    def fits(self, plan: Plan, chosen: Flags) -> list[PairHead]:
        """The heads of the plan, each fitted to the rows that it has chosen, (s, n)."""
        w, v = self._weights(replace(plan, isotonic=False), chosen)
        bends: list[Knots] = [()] * len(chosen)
        if plan.isotonic:
            m = np.einsum("sp,np->sn", w, self._columns(plan))
            bends, shifts = self._bends(m, v, chosen)
            v = v + shifts
        if self.fallback and self.fallback not in plan.features:
            size = root_mean_square(self.odd[:, [self.names.index(self.fallback)]], chosen)
            w = np.column_stack([w, LEAST / size])
        counts = chosen.sum(axis=1).tolist()
        return [self._head(plan, *row) for row in zip(counts, w.tolist(), v.tolist(), bends, strict=True)]

    def _columns(self, plan: Plan) -> Floats:
        return self.odd[:, [self.names.index(name) for name in plan.features]]

    def _weights(self, plan: Plan, chosen: Flags) -> tuple[Floats, Floats]:
        """What `fit_ordered` finds; kept, as a plan that is bent is one that is not, bent."""
        key = (plan, chosen.tobytes())
        if key not in self._fitted:
            z = (self.even if plan.by_case else self.even[:, :0]) if self.ties else None
            bounded = np.array([name != LENGTH for name in plan.features], dtype=np.bool_)
            self._fitted[key] = fit_ordered(
                self._columns(plan), z, self.shares, chosen, penalty=plan.penalty, bounded=bounded
            )
        return self._fitted[key]

    def _bends(self, m: Floats, log_t: Floats, chosen: Flags) -> tuple[list[Knots], Floats]:
        """The isotonic calibrations of the (s, n) margins, and the shifts of the (s, 1) log thresholds that go with
        them, as a win and half a tie are not the log-odds of a win; without ties (s, 0)."""
        value = self.labels[:, 0] + self.labels[:, 2] / 2
        bends = [odd_rising(row[rows], value[rows]) for row, rows in zip(m, chosen, strict=True)]
        if not self.ties:
            return bends, log_t
        bent = np.stack([_bent(row, knots) for row, knots in zip(m, bends, strict=True)])
        change = fit_rescaling(bent, np.broadcast_to(log_t, m.shape), self.labels, chosen, penalty=BENDING_PENALTY)
        return [_scaled(knots, factor) for knots, factor in zip(bends, change[:, 0].tolist(), strict=True)], change[
            :, 1:
        ]

    def _head(self, plan: Plan, n: int, w: list[float], v: list[float], knots: Knots) -> PairHead:
        names = plan.features if self.fallback in (None, *plan.features) else (*plan.features, self.fallback)
        return PairHead(
            fitted=str(plan),
            n=n,
            weights=dict(zip(names, w, strict=True)),
            intercept=v[0] if v else None,
            threshold=dict(zip(self.even_names, v[1:], strict=True)) if plan.by_case else {},
            knots=knots,
        )

    def losses(self, head: PairHead) -> Floats:
        """The (n,) cross-entropies in nats, against the labels."""
        m, log_t = self._read(head)
        return ordered(m, np.exp(np.clip(log_t, *THRESHOLDS)) if self.ties else None, self.labels)

    def calibrated(self, head: PairHead, others: Sequence[PairHead], rows: Flags) -> PairHead:
        """The head with its margins scaled, and its thresholds shifted, as suits the labels.

        Args:
            head: to calibrate.
            others: heads of the same plan, each of which has not seen some rows.
            rows: (others, n) which.
        """
        which, seen = rows.argmax(axis=0), np.asarray(rows.any(axis=0))
        by_head, places = np.array([self._read(other) for other in others]), np.arange(len(seen))
        m, log_t = by_head[which, :, places].T * seen
        m = as_large(m, self._read(head)[0] * seen)[None]
        log_ts = log_t[None] if self.ties else None
        ((factor, shift),) = fit_rescaling(m, log_ts, self.labels, seen[None], penalty=CALIBRATING_PENALTY).tolist()
        scaled = {name: w * factor for name, w in head.weights.items()}
        intercept = None if head.intercept is None else head.intercept + shift
        return head.model_copy(
            update={
                "weights": head.weights if head.knots else scaled,
                "knots": _scaled(head.knots, factor),
                "intercept": intercept,
                "typical": None if intercept is None else float(np.median(self._read(head)[1])) + shift,
            }
        )

    def _read(self, head: PairHead) -> tuple[Floats, Floats]:
        """The (n,) margins and log thresholds; 0 for these where nobody says tie."""
        m = self.odd[:, [self.names.index(name) for name in head.weights]] @ np.array(list(head.weights.values()))
        by = self.even[:, [self.even_names.index(name) for name in head.threshold]]
        return _bent(m, head.knots), (head.intercept or 0.0) + by @ np.array(list(head.threshold.values()))


def _bent(m: Floats, knots: Knots) -> Floats:
    if not knots:
        return m
    places, values = np.array(knots).T
    bent: Floats = np.sign(m) * np.interp(np.abs(m), places, values)
    return bent


def _scaled(knots: Knots, factor: float) -> Knots:
    return tuple((place, bend * factor) for place, bend in knots)
