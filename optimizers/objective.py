"""What a compilation makes better: figures of a run, each with its direction and the kinds of case it is for.

A figure is of the scored verdicts alone; who compares two runs looks at what each left unscored beside it. NaN says
that a figure is not defined on a run. A judge that says the same of every case agrees by chance alone: its kappa and
its correlations are 0.

    agreement    both orders, each taken alone, name the human winner; inconsistent is wrong (arXiv 2405.12163, 4.1)
    accuracy     the merged verdict is the human label; it turns over with the pair, so that no order can matter
    kappa        agreement beyond chance (Cohen 1960)
    log-loss     nats under the shares of the votes, or under the label where nobody voted (arXiv 1908.07086)
    Brier        squared distance of the probabilities from those shares, summed over the labels (Brier 1950)
    nDCG         1 / log2(1 + place of the right answer) by the judge's probabilities (arXiv 2508.10028, section 4)
    kendall, spearman, pearson    of the judge's and people's scores
    MSE          squared distance of the scores; it takes judge and people to be on one scale
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..errors import DeclarationError
from ..evaluation.choice import ndcg
from ..evaluation.columns import Columns, Floats
from ..evaluation.measures import FEWEST, correlation
from ..evaluation.scores import scored
from ..evaluation.statistics import agreement as tables
from ..evaluation.winners import LEAST, labelled, vote_shares

Kind = Literal["pairs", "texts", "choices"]
WINNERS: frozenset[Kind] = frozenset({"pairs", "choices"})
PAIRS: frozenset[Kind] = frozenset({"pairs"})
CHOICES: frozenset[Kind] = frozenset({"choices"})
TEXTS: frozenset[Kind] = frozenset({"texts"})


@dataclass(frozen=True)
class Objective:
    """A figure of a run that is to become better.

    Attributes:
        of: the figure of a run; NaN where it is not defined.
        kinds: of case that it is for.
        of_probabilities: it looks at the judge's probabilities, not only at what it names.
    """

    name: str
    of: Callable[[Columns], float]
    greater_is_better: bool
    kinds: frozenset[Kind]
    of_probabilities: bool = False

    def better(self, value: float, than: float) -> bool:
        """Whether `value` is strictly better; a figure that is not defined is better than none."""
        if math.isnan(value) or math.isnan(than):
            return not math.isnan(value)
        return value > than if self.greater_is_better else value < than


def kind_of(case: Case) -> Kind:
    return "pairs" if case.is_pair else "texts" if len(case.candidates) == 1 else "choices"


def default_for(cases: Iterable[Case]) -> Objective:
    """The objective of these cases when none is named.

    Accuracy for pairs, not agreement: the verdict that is given is the merged one, a head changes it without changing
    what each order said, and a judge that asks in one order has no agreement.

    Raises:
        DeclarationError: no case, or cases of several kinds.
    """
    return OBJECTIVES[DEFAULTS[only_kind(cases)]]


def only_kind(cases: Iterable[Case]) -> Kind:
    """The one kind that all cases are of; raises DeclarationError for no case, or for several kinds."""
    kinds = sorted({kind_of(case) for case in cases})
    if len(kinds) != 1:
        told = " and ".join(kinds) or "no case"
        raise DeclarationError(f"objective: the cases are {told}. Give labelled cases of one kind.")
    return kinds[0]


def cost(run: Columns, unit: Literal["calls", "tokens"] = "calls") -> float:
    """Calls or tokens a case, those that the cache answered included: other cases will not be in the cache.

    Tokens are an estimate where the cache does not know how many its answers had; NaN where it answered all so.
    """
    usage, asked = run.usage, run.usage.calls + run.usage.cached
    if not run.cases or not asked:
        return 0.0 if run.cases else math.nan
    if unit == "calls":
        return asked / run.cases
    return math.nan if usage.tokens_asked is None else usage.tokens_asked / run.cases


def _accuracy(run: Columns) -> float:
    both = labelled(run)
    return _mean(both.judge == both.human)


def _agreement(run: Columns) -> float:
    both = labelled(run)
    both = both.rows(both.consistent >= 0)
    return _mean((both.consistent == 1) & (both.judge == both.human))


def _kappa(run: Columns) -> float:
    both = labelled(run)
    if both.n and len(set(both.human.tolist())) > 1 and len(set(both.judge.tolist())) == 1:
        return 0.0
    return float(tables.kappa(tables.confusion(both.human, both.judge, len(both.labels))))


def _log_loss(run: Columns) -> float:
    return _mean(tables.soft_cross_entropies(*_soft(run), floor=LEAST))


def _brier(run: Columns) -> float:
    given, wanted = _soft(run)
    return _mean(np.square(given - wanted).sum(axis=1))


def _soft(run: Columns) -> tuple[Floats, Floats]:
    """The judge's probabilities and people's shares, (n, labels) each, of the verdicts that have both."""
    if not run.labels:
        return run.distribution, run.distribution
    shares = vote_shares(run)
    label = np.where((run.human >= 0)[:, None], np.arange(len(run.labels)) == run.human[:, None], math.nan)
    shares = np.where(np.isnan(shares), label, shares)
    sums = np.abs(run.distribution.sum(axis=1) - 1) <= 1e-6
    known = sums & ~np.isnan(shares).any(axis=1)
    return run.distribution[known], shares[known]


def _ndcg(run: Columns) -> float:
    both = labelled(run)
    told = np.arange(len(both.labels)) == both.judge[:, None]
    rows = np.where(np.isnan(both.distribution), told, both.distribution)
    return _mean(np.array([ndcg(row, {human}) for row, human in zip(rows.tolist(), both.human.tolist(), strict=True)]))


def _correlation(name: str) -> Callable[[Columns], float]:
    def figure(run: Columns) -> float:
        texts = scored(run)
        found = correlation(name, texts.score, texts.human_score)
        people_differ = texts.n >= FEWEST and np.ptp(texts.human_score) > 0
        return 0.0 if people_differ and math.isnan(found) else found

    return figure


def _mse(run: Columns) -> float:
    texts = scored(run)
    return _mean(np.square(texts.score - texts.human_score))


def _mean(values: NDArray[np.bool_] | Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        Objective("agreement", _agreement, True, PAIRS),
        Objective("accuracy", _accuracy, True, WINNERS),
        Objective("kappa", _kappa, True, WINNERS),
        Objective("log-loss", _log_loss, False, WINNERS, of_probabilities=True),
        Objective("brier", _brier, False, WINNERS, of_probabilities=True),
        Objective("ndcg", _ndcg, True, CHOICES),
        Objective("kendall", _correlation("kendall"), True, TEXTS),
        Objective("spearman", _correlation("spearman"), True, TEXTS),
        Objective("pearson", _correlation("pearson"), True, TEXTS),
        Objective("mse", _mse, False, TEXTS),
    )
}
DEFAULTS: dict[Kind, str] = {"pairs": "accuracy", "choices": "accuracy", "texts": "spearman"}
