"""Measures of a run, kept up to date verdict by verdict.

    accuracy      share of verdicts that equal the human label; with both orders asked the verdict is the merged one
    consistency   share of pairs on which the two orders, each taken alone, name the same winner
    agreement     share of pairs on which both orders, each taken alone, name the human winner; inconsistent is wrong
    coverage      share of cases with a verdict at all; every other share is of the scored and labelled cases

Agreement and consistency are those of Fennec (arXiv 2405.12163, section 4.1). The merged verdict of both orders is the
same whichever way round a pair is given, so its accuracy is also the agreement of the judge as a whole.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from ..data import Judged, Scores, Usage, Winner


@dataclass(frozen=True)
class Proportion:
    """`hits` of `n`; the interval is Wilson's (1927), 95 %, for independent cases."""

    hits: int
    n: int

    @property
    def value(self) -> float:
        """In [0, 1]; NaN for n = 0."""
        return self.hits / self.n if self.n else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; (NaN, NaN) for n = 0."""
        if not self.n:
            return math.nan, math.nan
        from scipy.stats import binomtest

        low, high = binomtest(self.hits, self.n).proportion_ci(0.95, method="wilson")
        return float(low), float(high)

    def as_dict(self) -> dict[str, Any]:
        low, high = self.interval
        return {"value": self.value, "low": low, "high": high, "hits": self.hits, "n": self.n} if self.n else {"n": 0}


@dataclass
class Tally:
    """Counts over verdicts; `add` takes one, the properties are the measures so far."""

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

    def add(self, judged: Judged) -> None:
        self.cases += 1
        self.usage = self.usage + judged.usage
        if judged.status != "scored":
            self.reasons[judged.reason or judged.status] += 1
            return
        self.scored += 1
        if judged.winner is not None:
            self.winners[str(judged.winner)] += 1
        if isinstance(judged.label, Scores) and judged.scores and len(judged.scores) == 1:
            self.pairs.append((judged.scores[0], judged.label.values[0]))
        human = _human_winner(judged)
        self._count_orders(judged, human)
        if human is not None and judged.winner is not None:
            self.labelled += 1
            self.hits += judged.winner == human

    def _count_orders(self, judged: Judged, human: object) -> None:
        """Only where both orders were asked, or where no order can matter."""
        if judged.consistent is None:
            return
        self.both_orders += 1
        self.consistent += judged.consistent
        if human is not None:
            self.both_orders_labelled += 1
            self.agreeing += judged.consistent and judged.winner == human  # consistent: the winner is each order's own

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
        if len(self.pairs) < 3:
            return {}
        from scipy import stats

        judge, human = zip(*self.pairs, strict=True)
        if _constant(judge) or _constant(human):
            return dict.fromkeys(("pearson", "spearman", "kendall"), math.nan)
        return {
            "pearson": float(stats.pearsonr(judge, human).statistic),
            "spearman": float(stats.spearmanr(judge, human).statistic),
            "kendall": float(stats.kendalltau(judge, human).statistic),
        }

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON; a measure that nothing was counted for is left out."""
        measures = {name: getattr(self, name) for name in ("agreement", "consistency", "accuracy", "coverage")}
        return {
            "cases": self.cases,
            "scored": self.scored,
            "unscored": dict(self.reasons),
            **{name: share.as_dict() for name, share in measures.items() if share.n},
            **{name: value for name, value in self.correlations().items() if not math.isnan(value)},
            "usage": self.usage.model_dump(),
        }


def _constant(scores: tuple[float, ...]) -> bool:
    """All equal but for rounding, so that no correlation is defined."""
    return max(scores) - min(scores) <= 1e-12 * max(1.0, abs(max(scores)))


def _human_winner(judged: Judged) -> str | int | None:
    """The label as a winner; two scores name the higher one."""
    if isinstance(judged.label, Winner):
        return judged.label.value
    if isinstance(judged.label, Scores) and len(judged.label.values) == 2:
        first, second = judged.label.values
        return "a" if first > second else "b" if second > first else "tie"
    return None
