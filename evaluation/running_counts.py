"""Measures of a run, kept up to date verdict by verdict.

    accuracy      share of verdicts that equal the human label; with both orders asked the verdict is the merged one
    consistency   share of pairs on which the two orders, each taken alone, name the same winner
    agreement     share of pairs on which both orders, each taken alone, name the human winner; inconsistent is wrong
    coverage      share of cases with a verdict at all; every other share is of the scored and labelled cases

Agreement and consistency are those of Fennec (arXiv 2405.12163, section 4.1). The merged verdict of both orders is the
same whichever way round a pair is given, so its accuracy is also the agreement of the judge as a whole.
Choices, factors, corrections and systems have their measures in modules of their own.
"""

from collections import Counter
from dataclasses import InitVar, dataclass, field
from typing import Any

from ..data import Judged, Scores, Usage
from ..stats.proportions import Proportion, correlations, known
from .correction_metrics import Corrections
from .factor_metrics import Factors
from .ranking_metrics import Choices, Scale
from .system_ranking import Systems


@dataclass
class Tally:
    """Counts over verdicts; `add` takes one, the properties are the measures so far.

    Args:
        scale: of the judge's scores, when it always has the same; errors of scores are taken on 0..10 alone.
    """

    cases: int = 0
    scored: int = 0
    hits: int = 0
    labelled: int = 0
    consistent: int = 0
    both_orders: int = 0
    agreeing: int = 0
    both_orders_labelled: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    winners: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)
    pairs: list[tuple[float, float]] = field(default_factory=list, repr=False)  # (judge's score, human score)
    noted: int = 0
    note: str = ""  # the first in the alphabet, so that it does not depend on which verdict came first
    choices: Choices = field(init=False)
    factors: Factors = field(default_factory=Factors)
    corrections: Corrections = field(default_factory=Corrections)
    systems: Systems = field(default_factory=Systems)
    scale: InitVar[Scale | None] = None

    def __post_init__(self, scale: Scale | None) -> None:
        self.choices = Choices(scale)

    def add(self, judged: Judged) -> None:
        self.cases += 1
        self.usage = self.usage + judged.usage
        if judged.notes:
            self.noted += 1
            self.note = min([*([self.note] if self.note else []), *judged.notes])
        if judged.status != "scored":
            self.reasons[judged.reason or judged.status] += 1
            return
        self.scored += 1
        if judged.winner is not None:
            self.winners[str(judged.winner)] += 1
        if isinstance(judged.label, Scores) and judged.scores and len(judged.scores) == 1:
            self.pairs.append((judged.scores[0], judged.label.values[0]))
        human = judged.human_winner
        self._count_orders(judged, human)
        if human is not None and judged.winner is not None:
            self.labelled += 1
            self.hits += judged.winner == human
        for part in (self.choices, self.factors, self.corrections, self.systems):
            part.add(judged)

    def _count_orders(self, judged: Judged, human: object) -> None:
        """Only where both orders were asked, or where no order can matter."""
        if judged.consistent is None:
            return
        self.both_orders += 1
        self.consistent += judged.consistent
        if human is not None:
            self.both_orders_labelled += 1
            self.agreeing += judged.consistent and {*(judged.order_winners.values() or [judged.winner])} == {human}

    @property
    def accuracy(self) -> Proportion:
        return Proportion(self.hits, self.labelled)

    @property
    def consistency(self) -> Proportion:
        return Proportion(self.consistent, self.both_orders)

    @property
    def agreement(self) -> Proportion:
        return Proportion(self.agreeing, self.both_orders_labelled)

    @property
    def coverage(self) -> Proportion:
        return Proportion(self.scored, self.cases)

    def correlations(self) -> dict[str, float]:
        """Pearson, Spearman and Kendall's tau-b of scores with human scores over all texts; empty under 3 texts, and
        NaN when either side is constant."""
        return correlations(self.pairs)

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON; a measure that nothing was counted for is left out."""
        measures = {name: getattr(self, name) for name in ("agreement", "consistency", "accuracy", "coverage")}
        parts = {name: getattr(self, name).as_dict() for name in ("choices", "factors", "corrections", "systems")}
        return {
            "cases": self.cases,
            "scored": self.scored,
            "unscored": dict(self.reasons),
            **{name: share.as_dict() for name, share in measures.items() if share.n},
            **known(self.correlations()),
            **{name: part for name, part in parts.items() if part},
            **({"notes": {"n": self.noted, "example": self.note}} if self.noted else {}),
            "usage": self.usage.model_dump(),
        }
