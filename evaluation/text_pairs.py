"""Scores of single texts read as verdicts of pairs: 200 sampled pairs of the texts of one aspect (arXiv 2304.00723).

Pairs of one input have two texts that answer it; pairs of the set may have any two texts, which is all there is where
each input has one text.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..stats import association
from ..stats.agreement import confusion
from ..stats.dyads import estimate_of_dyads
from ..stats.proportions import FEWEST
from ..stats.resampling import Estimate, bootstrap_table
from .aspects import Strata, mean_estimate
from .run_arrays import Codes, Flags, Floats, RunArrays

SAMPLED_PAIRS = 200  # of texts, as in the paper
CELLS = 9  # of a confusion table of a, b and tie
OfTables = Callable[[Floats], Floats]  # tables (..., 3, 3) -> figures (...)


@dataclass(frozen=True, eq=False)
class TextPairs:
    """n pairs of texts.

    Attributes:
        aspects: the aspects of the pairs.
        difference: (n,) people's score of the first text less that of the second.
        human: (n,) codes as of `association.pair_codes`, by people's scores.
        judge: (n,) the same by the judge's scores.
        first: (n,) the group of the first text.
        second: (n,) the group of the second text; equal to `first` in pairs of one input.
        of_set: whether the texts of a pair may answer different inputs.
    """

    aspects: Strata
    difference: Floats
    human: Codes
    judge: Codes
    first: Codes
    second: Codes
    of_set: bool

    @property
    def where(self) -> str:
        """For descriptions: where the texts of a pair come from."""
        return "any two texts of the set" if self.of_set else "one input"

    def part(self, chosen: Flags | Codes) -> "TextPairs":
        """The pairs where a mask is true, or at these positions."""
        return TextPairs(
            self.aspects.part(chosen), self.difference[chosen], self.human[chosen], self.judge[chosen],
            self.first[chosen], self.second[chosen], self.of_set,
        )  # fmt: skip

    def figure(self, statistic: OfTables, *, bounds: tuple[float, float], seed: int) -> tuple[Estimate, str]:
        """A statistic of confusion tables with its interval, the mean over aspects, and words for its description."""
        if self.of_set:
            return self._of_set(statistic, bounds)
        if not self.aspects.several:
            groups = self.first
            return bootstrap_table(statistic, self.human, self.judge, 3, groups, seed=seed, bounds=bounds), ""
        return mean_estimate(
            self.aspects,
            lambda rows: float(statistic(self._table(rows))),
            self.first,
            seed=seed,
            bounds=bounds,
        )

    def _of_set(self, statistic: OfTables, bounds: tuple[float, float]) -> tuple[Estimate, str]:
        tables = {name: self._table(self.aspects.rows(name)) for name in self.aspects.names}
        used = tuple(name for name, table in tables.items() if not math.isnan(float(statistic(table))))
        chosen = np.isin(self.aspects.codes, [self.aspects.names.index(name) for name in used])
        part = self.part(chosen)
        count = max(len(part.aspects.names), 1)

        def mean_figure(counts: Floats) -> Floats:
            figures: Floats = statistic(counts.reshape(*counts.shape[:-1], count, 3, 3)).mean(axis=-1)
            return figures

        cells = part.aspects.codes * CELLS + part.human * 3 + part.judge
        estimate = estimate_of_dyads(mean_figure, cells, count * CELLS, part.first, part.second, bounds=bounds)
        return estimate, self.aspects.words(used)

    def _table(self, rows: Codes) -> Floats:
        table: Floats = np.asarray(confusion(self.human[rows], self.judge[rows], 3), dtype=np.float64)
        return table


def text_pairs(texts: RunArrays, aspects: Strata, seed: int, *, of_set: bool) -> TextPairs | None:
    """Sampled pairs of texts of each aspect; None where no aspect has three.

    Args:
        texts: verdicts of single texts with both scores.
        of_set: whether the two texts may answer different inputs.
    """
    sampled: list[tuple[int, Codes]] = []
    for place, name in enumerate(aspects.names):
        rows = aspects.rows(name)
        groups = np.zeros(len(rows), dtype=np.int64) if of_set else texts.group[rows]
        pairs = association.sampled_pairs(texts.human_score[rows], groups, SAMPLED_PAIRS, seed)
        if len(pairs) >= FEWEST:
            sampled.append((place, rows[pairs]))
    if not sampled:
        return None
    names = tuple(aspects.names[place] for place, _ in sampled)
    codes = np.repeat(np.arange(len(sampled)), [len(pairs) for _, pairs in sampled])
    first, second = np.concatenate([pairs for _, pairs in sampled]).T
    difference = texts.human_score[first] - texts.human_score[second]
    judge = association.pair_codes(texts.score[first] - texts.score[second])
    return TextPairs(
        Strata(names, codes), difference, association.pair_codes(difference), judge, texts.group[first],
        texts.group[second], of_set,
    )  # fmt: skip


def usual_pairs(texts: RunArrays, aspects: Strata, seed: int) -> TextPairs | None:
    """Pairs of one input where there are any, else of the set."""
    return text_pairs(texts, aspects, seed, of_set=False) or text_pairs(texts, aspects, seed, of_set=True)


def share_of_hits(tables: Floats) -> Floats:
    """The proportion of pairs on the diagonal of (..., 3, 3) tables; NaN without pairs."""
    hits = np.trace(tables, axis1=-2, axis2=-1)
    total = tables.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        shares: Floats = np.where(total > 0, hits / total, math.nan)
    return shares
