"""Heads for choices: a conditional logit over the options of a case (McFadden 1974)."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Verdict
from ...judging.blocks import DISTANCE
from ...judging.calibration_features import IS, LENGTH, option_features
from ...judging.features_by_name import QUESTION
from ...judging.heads import CategoryHead, ChoiceHead
from ..soft_labels import SoftLabels
from .likelihood import choices, fit_choices
from .model_spec import (
    PENALTIES,
    HeadSpec,
    evidence_sets,
    informative_features,
    match_size,
    offered,
    penalties_for,
    soft_labels_of,
)

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Weighted = ChoiceHead | CategoryHead
FREE = 0.01  # penalty of the constants of categories, which have no reason to be near 0


class ChoiceEvidence:
    """The evidence of labelled choices as arrays: n cases of at most k options.

    Each feature is centred over the options of a case, as only differences between options count.

    Args:
        like: evidence of the same choices whose features these take; None: those that carry information.
    """

    reads_vectors = True  # whether what is read of the texts can be its evidence
    constants: tuple[str, ...] = ()  # features that every candidate has
    names: list[str]

    def __init__(
        self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool, like: Self | None = None
    ) -> None:  # fmt: skip
        rows = [self._features(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)]
        names = offered(rows, length=length) if like is None else like.names
        labels = self._labels(cases)
        counts = list(map(len, labels))
        self.exists = np.arange(max(counts)) < np.array(counts)[:, None]
        x = np.zeros((len(cases), max(counts), len(names)))
        for row, (features, count) in enumerate(zip(rows, counts, strict=True)):
            for column, name in enumerate(names):
                if name in features:
                    values = np.array(features[name])
                    x[row, :count, column] = values - values.mean()
        flat = x.reshape(-1, len(names))
        self.names, flat = informative_features(names, flat) if like is None else (names, flat)
        self.x = flat.reshape(*x.shape[:2], -1)
        targets = soft_labels_of(cases, max(labels, key=len))
        self.targets: SoftLabels | None = targets
        self.proportions = targets.proportions

    def _features(self, case: Case, verdict: Verdict) -> dict[str, tuple[float, ...]]:
        return option_features(case, verdict)

    def _labels(self, cases: Sequence[Case]) -> list[tuple[str, ...]]:
        """What each case may be labelled with."""
        return [tuple(map(str, range(len(case.candidates)))) for case in cases]

    def _head(self, fitted: str, n: int, weights: dict[str, float]) -> Any:
        return ChoiceHead(fitted=fitted, n=n, weights=weights)

    def plans(self) -> list[HeadSpec]:
        """The candidates: single features, and all features."""
        questions = tuple(name for name in self.names if name.startswith(QUESTION))
        sets: dict[str, tuple[str, ...]] = {name: (name,) for name in self.names if name not in (LENGTH, *questions)}
        if questions:
            sets["questions"] = questions
        if len(self.names) > 1:
            sets["all"] = tuple(self.names)
        plans = [
            HeadSpec(name, features, penalty) for name, features in sets.items() for penalty in penalties_for(features)
        ]
        return plans or [HeadSpec("base rate", (), PENALTIES[0])]

    def evidence_plans(self, evidence: Mapping[str, str]) -> list[HeadSpec]:
        """The candidates with measured evidence: alone, and beside the first and all of the judge's answers.

        Args:
            evidence: the name of its source by the name of each.
        """
        of_source = {source + DISTANCE: source for source in evidence.values()}
        names = [name for name in self.names if name not in (LENGTH, *evidence, *of_source)]
        answers = {name: (name,) for name in names[:1]} | {"all": tuple(names)} if names else {}
        plans = []
        for name, (used, features) in evidence_sets([e for e in evidence if e in self.names], answers).items():
            for penalty in penalties_for(features):
                plans.append(HeadSpec(name, features, penalty, evidence=used))
        return plans

    def fits(self, plan: HeadSpec, chosen: Flags) -> list[Any]:
        """One head per row of `chosen` (s, n), fitted to the cases that the row marks."""
        x = self.x[:, :, [self.names.index(name) for name in plan.features]]
        bounded = np.array([name != LENGTH and not name.startswith(IS) for name in plan.features], dtype=np.bool_)
        penalty = np.array([FREE if name.startswith(IS) else plan.penalty for name in plan.features])
        fitted = fit_choices(x, self.exists, self.proportions, chosen, penalty=penalty, bounded=bounded)
        return [
            self._head(str(plan), n, dict(zip(plan.features, w, strict=True)))
            for n, w in zip(chosen.sum(axis=1).tolist(), fitted.tolist(), strict=True)
        ]

    def losses(self, head: Weighted) -> Floats:
        """The (n,) cross-entropies in nats under people's votes."""
        return choices(np.where(self.exists, self._read(head), -np.inf), self.proportions)[0]

    def calibrated(self, head: Weighted, others: Sequence[Weighted], rows: Flags) -> Weighted:
        """The head with its utilities rescaled to fit people's votes on cases that it was not fitted to."""
        which, seen = rows.argmax(axis=0), np.asarray(rows.any(axis=0))
        by_head = np.array([self._read(other) for other in others])
        utility = by_head[which, np.arange(len(seen))] * seen[:, None]
        x = match_size(utility, self._read(head) * seen[:, None])[..., None]
        bounded = np.ones(1, dtype=np.bool_)
        ((factor,),) = fit_choices(
            x, self.exists, self.proportions, seen[None], penalty=PENALTIES[0], bounded=bounded
        ).tolist()
        return head.model_copy(update={"weights": {name: w * factor for name, w in head.weights.items()}})

    def _read(self, head: Weighted) -> Floats:
        """The (n, k) utilities."""
        columns = [self.names.index(name) for name in head.weights]
        utilities: Floats = self.x[:, :, columns] @ np.array(list(head.weights.values()))
        return utilities
