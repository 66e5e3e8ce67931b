"""Heads for pairs: an ordered logit with symmetric tie thresholds over odd features (Rao & Kupper 1967)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...judging.blocks import DISTANCE
from ...judging.calibration_features import ASPECT, LENGTH, pair_features
from ...judging.features_by_name import QUESTION
from ...judging.heads import THRESHOLDS, Knots, PairHead
from ..soft_labels import SoftLabels
from .isotonic import odd_rising
from .likelihood import LEAST, fit_ordered, fit_rescaling, ordered, root_mean_square
from .model_spec import (
    PENALTIES,
    HeadSpec,
    evidence_sets,
    feature_matrix,
    informative_features,
    label_indicators,
    match_size,
    offered,
    penalties_for,
    soft_labels_of,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
FALLBACKS = (
    "merged",
    "letters",
    "scores",
    "single scores",
    "verdict",
)  # names a winner where the candidate's features are 0
LABELS = ("a", "b", "tie")
ISOTONIC_PENALTY = 1.0  # keeps the margins of an always correct judge finite
CALIBRATING_PENALTY = 3.0  # with 60 labels, 1 follows the noise of the scale and 20 hardly undoes the shrinkage
KINDS = ("letters", "scores", "single scores", "stated", "verdict")  # one feature for each kind of evidence


class PairEvidence:
    """The evidence of labelled pairs as arrays of n rows.

    Weights are fitted to all votes, of which there are more than labels, where the label does not contradict them.

    Args:
        like: evidence of the same pairs whose features these take; None: those that carry information.

    Attributes:
        proportions: (n, 3) of a, b and tie among people's votes.
        labels: (n, 3), 1 at the label.
        ties: whether any vote or label is a tie.
    """

    reads_vectors = True  # whether what is read of the texts can be its evidence
    constants: tuple[str, ...] = ()  # features that every candidate has
    names: list[str]

    def __init__(
        self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool, like: Self | None = None
    ) -> None:  # fmt: skip
        features = [pair_features(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        names = set(offered([f.odd for f in features], length=length)) if like is None else set(like.names)
        odd_rows = [{k: v for k, v in f.odd.items() if k in names} for f in features]
        even_rows = [f.even for f in features]
        if like is None:
            self.names, self.odd = informative_features(*feature_matrix(odd_rows))
            self.even_names, self.even = informative_features(*feature_matrix(even_rows), centred=True)
        else:
            self.names, self.odd = feature_matrix(odd_rows, like.names)
            self.even_names, self.even = feature_matrix(even_rows, like.even_names)
        self._owners: dict[str, str] = {} if like is None else like._owners
        self.fallback = next((name for name in FALLBACKS if name in self.names), None)
        targets, self.labels = soft_labels_of(cases, LABELS), label_indicators(cases, LABELS)
        self.targets: SoftLabels | None = targets
        self.proportions = targets.proportions
        self._fitted: dict[tuple[HeadSpec, bytes], tuple[Floats, Floats]] = {}
        self.ties = bool(self.proportions[:, 2].any() or self.labels[:, 2].any())

    def plans(self) -> list[HeadSpec]:
        """The candidates, from simple to rich: single features, one per kind of evidence, criteria, members, all."""
        sets = self._with_length(self._sets([name for name in self.names if name != LENGTH]))
        plans = [plan for name, features in sets.items() for plan in self._of_set(HeadSpec(name, features, 0.0))]
        return plans or [HeadSpec("base rate", (), PENALTIES[0])]

    def evidence_plans(self, evidence: Mapping[str, str]) -> list[HeadSpec]:
        """The candidates with measured evidence: alone, and beside the fallback, the groups and all of the answers.

        Args:
            evidence: the name of its source by the name of each.
        """
        self._owners |= {f"|{name}|": name for name in evidence} | {f"mean {name}": name for name in evidence}
        self._owners |= {source + DISTANCE: source for source in evidence.values()}
        answers = self._sets([name for name in self.names if name not in (LENGTH, *evidence)])
        answers = {name: features for name, features in answers.items() if len(features) > 1 or name == self.fallback}
        sets = evidence_sets([name for name in evidence if name in self.names], answers)
        plans = []
        for name, (used, features) in sets.items():
            owners = (*used, *(evidence[name] for name in used))
            for title, columns in self._with_length({name: features}).items():
                plans += self._of_set(HeadSpec(title, columns, 0.0, evidence=tuple(dict.fromkeys(used)), owners=owners))
        return plans

    def _sets(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Sets of the features with these names, each under a name."""
        questions = [name for name in names if name.startswith(QUESTION)]
        groups = {
            "questions": questions,
            "kinds": [name for name in names if name in KINDS],
            "criteria": [name for name in names if name.startswith("criterion ")],
            "members": [name for name in names if name.startswith("member ")],
            "all": list(names),
        }
        single = {name: (name,) for name in names if name not in questions}
        return single | {name: tuple(g) for name, g in groups.items() if len(g) > 1}

    def _with_length(self, sets: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        longer = {f"{name} + {LENGTH}": (*features, LENGTH) for name, features in sets.items()}
        return {**sets, **(longer if LENGTH in self.names else {})}

    def _of_set(self, plan: HeadSpec) -> list[HeadSpec]:
        """The candidates with the plan's features."""
        plans = []
        for penalty in penalties_for(plan.features):
            plans.append(replace(plan, penalty=penalty))
            for by_case, by_aspect in self._ways_of_ties():
                plans.append(replace(plan, penalty=penalty, by_case=by_case, by_aspect=by_aspect))
        if len(plan.features) == 1:
            plans.append(replace(plan, penalty=PENALTIES[0], isotonic=True))
        return plans

    def _ways_of_ties(self) -> list[tuple[bool, bool]]:
        """Whether the tie threshold may depend on the case, and on the aspect: all ways in which it depends on one."""
        of_aspect = [name.startswith(ASPECT) for name in self.even_names]
        by_case, by_aspect = self.ties and not all(of_aspect), self.ties and any(of_aspect)
        ways = ((True, False), (False, True), (True, True))
        return [(case, aspect) for case, aspect in ways if case <= by_case and aspect <= by_aspect]

    def _even_columns(self, plan: HeadSpec) -> list[int]:
        """The even features that the tie threshold of a candidate depends on."""
        return [
            column
            for column, name in enumerate(self.even_names)
            if (plan.by_aspect if name.startswith(ASPECT) else plan.by_case)
            and self._owners.get(name, "") in ("", *plan.owners)
        ]

    def fits(self, plan: HeadSpec, chosen: Flags) -> list[PairHead]:
        """One head per row of `chosen` (s, n), fitted to the pairs that the row marks."""
        w, v = self._weights(replace(plan, isotonic=False), chosen)
        knots: list[Knots] = [()] * len(chosen)
        if plan.isotonic:
            m = np.einsum("sp,np->sn", w, self._columns(plan))
            knots, shifts = self._isotonic(m, v, chosen)
            v = v + shifts
        if self.fallback and self.fallback not in plan.features:
            size = root_mean_square(self.odd[:, [self.names.index(self.fallback)]], chosen)
            w = np.column_stack([w, LEAST / size])
        counts = chosen.sum(axis=1).tolist()
        return [self._head(plan, *row) for row in zip(counts, w.tolist(), v.tolist(), knots, strict=True)]

    def _columns(self, plan: HeadSpec) -> Floats:
        return self.odd[:, [self.names.index(name) for name in plan.features]]

    def _weights(self, plan: HeadSpec, chosen: Flags) -> tuple[Floats, Floats]:
        """The weights by `fit_ordered`, cached: an isotonic candidate starts from those of its linear counterpart."""
        key = (plan, chosen.tobytes())
        if key not in self._fitted:
            z = self.even[:, self._even_columns(plan)] if self.ties else None
            bounded = np.array([name != LENGTH for name in plan.features], dtype=np.bool_)
            self._fitted[key] = fit_ordered(
                self._columns(plan), z, self.proportions, chosen, penalty=plan.penalty, bounded=bounded
            )
        return self._fitted[key]

    def _isotonic(self, m: Floats, log_t: Floats, chosen: Flags) -> tuple[list[Knots], Floats]:
        """The isotonic calibrations of the (s, n) margins, and the (s, 1) shifts of the log thresholds, (s, 0) without
        ties.

        The shifts correct for counting a tie as half a win, which is not the log-odds of a win.
        """
        value = self.labels[:, 0] + self.labels[:, 2] / 2
        calibrations = [odd_rising(row[rows], value[rows]) for row, rows in zip(m, chosen, strict=True)]
        if not self.ties:
            return calibrations, log_t
        calibrated = np.stack([_interpolate(row, knots) for row, knots in zip(m, calibrations, strict=True)])
        change = fit_rescaling(
            calibrated, np.broadcast_to(log_t, m.shape), self.labels, chosen, penalty=ISOTONIC_PENALTY
        )
        return [
            _scaled(knots, factor) for knots, factor in zip(calibrations, change[:, 0].tolist(), strict=True)
        ], change[:, 1:]

    def _head(self, plan: HeadSpec, n: int, w: list[float], v: list[float], knots: Knots) -> PairHead:
        even_names = [self.even_names[column] for column in self._even_columns(plan)] if v else []
        names = plan.features if self.fallback in (None, *plan.features) else (*plan.features, self.fallback)
        return PairHead(
            fitted=str(plan),
            n=n,
            weights=dict(zip(names, w, strict=True)),
            intercept=v[0] if v else None,
            threshold=dict(zip(even_names, v[1:], strict=True)),
            knots=knots,
        )

    def losses(self, head: PairHead) -> Floats:
        """The (n,) cross-entropies in nats under the labels."""
        m, log_t = self._read(head)
        return ordered(m, np.exp(np.clip(log_t, *THRESHOLDS)) if self.ties else None, self.labels)

    def calibrated(self, head: PairHead, others: Sequence[PairHead], rows: Flags) -> PairHead:
        """The head with its margins rescaled and its thresholds shifted to fit the labels.

        Args:
            head: to calibrate.
            others: heads of the same candidate, each fitted without some rows.
            rows: (others, n), which rows those are.
        """
        which, seen = rows.argmax(axis=0), np.asarray(rows.any(axis=0))
        by_head, places = np.array([self._read(other) for other in others]), np.arange(len(seen))
        m, log_t = by_head[which, :, places].T * seen
        m = match_size(m, self._read(head)[0] * seen)[None]
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
        """The (n,) margins and the (n,) log thresholds, 0 without ties."""
        m = self.odd[:, [self.names.index(name) for name in head.weights]] @ np.array(list(head.weights.values()))
        by = self.even[:, [self.even_names.index(name) for name in head.threshold]]
        return _interpolate(m, head.knots), (head.intercept or 0.0) + by @ np.array(list(head.threshold.values()))


def _interpolate(m: Floats, knots: Knots) -> Floats:
    if not knots:
        return m
    places, values = np.array(knots).T
    interpolated: Floats = np.sign(m) * np.interp(np.abs(m), places, values)
    return interpolated


def _scaled(knots: Knots, factor: float) -> Knots:
    return tuple((place, value * factor) for place, value in knots)
