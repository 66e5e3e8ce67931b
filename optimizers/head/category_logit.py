"""Heads for categories: a conditional logit over a text's categories, with a constant for each.

Every candidate has the constants: without any evidence it gives the base rates of people's labels. Of two categories,
the probe of a source of evidence is ridge regression on the proportion of people that say the positive one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from ...data import Case, Verdict
from ...errors import DeclarationError
from ...judging.calibration_features import IS, category_features
from ...judging.heads import CategoryHead
from .conditional_logit import ChoiceEvidence
from .model_spec import PENALTIES, HeadSpec


class CategoryEvidence(ChoiceEvidence):
    """The evidence of labelled texts with the same categories as arrays, as `ChoiceEvidence`."""

    def __init__(
        self, cases: Sequence[Case], verdicts: Sequence[Verdict], *, length: bool, like: Self | None = None
    ) -> None:  # fmt: skip
        super().__init__(cases, verdicts, length=length, like=like)
        self.constants = tuple(name for name in self.names if name.startswith(IS))
        self.reads_vectors = len(self.categories) == 2  # a block has one number for a text
        self.y, self.weight = self.proportions[:, -1], np.ones(len(cases))  # of people that say the positive one
        self.aspect = np.zeros(len(cases), dtype=np.int64)

    def _features(self, case: Case, verdict: Verdict) -> dict[str, tuple[float, ...]]:
        return category_features(case, verdict)

    def _labels(self, cases: Sequence[Case]) -> list[tuple[str, ...]]:
        self.categories = cases[0].categories
        other = next((case for case in cases if case.categories != self.categories), None)
        if other is not None:
            raise DeclarationError(
                f"fit: case {other.id!r} is of {', '.join(other.categories)}, and others of "
                f"{', '.join(self.categories)}. Give all cases the same categories (--categories)."
            )
        return [self.categories] * len(cases)

    def _head(self, fitted: str, n: int, weights: dict[str, float]) -> CategoryHead:
        return CategoryHead(fitted=fitted, n=n, weights=weights, categories=self.categories)

    def plans(self) -> list[HeadSpec]:
        """The base rates alone, single features, and all features, each with the constants."""
        plans = [HeadSpec("base rates", (), PENALTIES[0]), *super().plans()]
        return self._with_constants([plan for plan in plans if not plan.name.startswith(IS)])

    def evidence_plans(self, evidence: Mapping[str, str]) -> list[HeadSpec]:
        """As of `ChoiceEvidence`, each with the constants."""
        plans = super().evidence_plans(evidence)
        return self._with_constants([plan for plan in plans if not any(IS in part for part in plan.name.split(" + "))])

    def _with_constants(self, plans: Sequence[HeadSpec]) -> list[HeadSpec]:
        changed = [
            replace(plan, features=(*(name for name in plan.features if not name.startswith(IS)), *self.constants))
            for plan in plans
        ]
        return list(dict.fromkeys(changed))
