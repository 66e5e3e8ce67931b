"""What a compilation makes better: figures of a run, each with its direction and the kinds of case it is for.

A figure is of the scored verdicts alone; who compares two runs looks at what each left unscored beside it. NaN says
that a figure is not defined on a run. A judge that says the same of every case agrees by chance alone: its kappa and
its correlations are 0.

    agreement    both orders, each taken alone, name the human winner; inconsistent is wrong (arXiv 2405.12163, 4.1)
    accuracy     the merged verdict is the human label; it turns over with the pair, so that no order can matter
    kappa        agreement beyond chance (Cohen 1960)
    log-loss     nats under the shares of the votes, or under the label where nobody voted or the votes are not what the
                 label follows (arXiv 1908.07086)
    Brier        squared distance of the probabilities from those shares, summed over the labels (Brier 1950)
    nDCG         1 / log2(1 + place of the right answer) by the judge's probabilities (arXiv 2508.10028, section 4)
    kendall, spearman, pearson    of the judge's and people's scores
    MSE          squared distance of the scores; it takes judge and people to be on one scale
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..data import Case
from ..errors import DeclarationError
from ..evaluation.compare import Figure
from ..evaluation.label_metrics import LEAST, both_orders_right, labelled, vote_shares
from ..evaluation.ranking_metrics import ndcg
from ..evaluation.run_arrays import Codes, Columns, Floats
from ..evaluation.score_metrics import scored
from ..stats import agreement as tables
from ..stats.proportions import FEWEST, correlation

Flags = NDArray[np.bool_]
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
        each: (n,) what each scored verdict adds, NaN for nothing, where the figure is the mean of that.
        whole: the figure of the judge's (n,) winners or scores and people's, where only all together have one.
    """

    name: str
    of: Callable[[Columns], float]
    greater_is_better: bool
    kinds: frozenset[Kind]
    of_probabilities: bool = False
    each: Callable[[Columns], Floats] | None = None
    whole: Figure | None = None

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


def _right(run: Columns) -> Floats:
    return _where((run.judge >= 0) & (run.human >= 0), run.judge == run.human)


def _agreeing(run: Columns) -> Floats:
    return _where((run.judge >= 0) & (run.human >= 0) & (run.consistent >= 0), both_orders_right(run))


def _log_losses(run: Columns) -> Floats:
    known, given, wanted = _soft(run)
    return _placed(known, tables.soft_cross_entropies(given, wanted, floor=LEAST))


def _squares(run: Columns) -> Floats:
    known, given, wanted = _soft(run)
    return _placed(known, np.square(given - wanted).sum(axis=1))


def _soft(run: Columns) -> tuple[Flags, Floats, Floats]:
    """The verdicts that have both, and of these the judge's probabilities and people's shares, (known, labels) each.

    As in `head.plan.shares_of`, the votes count where on every case the label is what most of them said; else they are
    of other people, and count only where there is no label.
    """
    if not run.labels:
        return np.zeros(run.n, dtype=np.bool_), run.distribution[:0], run.distribution[:0]
    votes, has_label = vote_shares(run), np.asarray(run.human >= 0)
    voted = np.asarray(~np.isnan(votes).any(axis=1))
    label = np.where(has_label[:, None], np.arange(len(run.labels)) == run.human[:, None], math.nan)
    both = has_label & voted
    follows = (votes[both, run.human[both]] == votes[both].max(axis=1)).all()
    shares = np.where((voted if follows else ~has_label)[:, None], votes, label)
    sums = np.abs(run.distribution.sum(axis=1) - 1) <= 1e-6
    known = sums & ~np.isnan(shares).any(axis=1)
    return known, run.distribution[known], shares[known]


def _gains(run: Columns) -> Floats:
    known = (run.judge >= 0) & (run.human >= 0)
    both = run.rows(known)
    told = np.arange(len(both.labels)) == both.judge[:, None]
    rows = np.where(np.isnan(both.distribution), told, both.distribution)
    pairs = zip(rows.tolist(), both.human.tolist(), strict=True)
    return _placed(known, np.array([ndcg(row, {human}) for row, human in pairs], dtype=np.float64))


def _squared_errors(run: Columns) -> Floats:
    errors: Floats = np.square(run.score - run.human_score)
    return errors


def _kappa(said: Codes, human: Codes) -> float:
    if len(set(human.tolist())) > 1 and len(set(said.tolist())) == 1:
        return 0.0
    k = 1 + max([*human.tolist(), *said.tolist()], default=0)
    return float(tables.kappa(tables.confusion(human, said, k)))


def _correlation(name: str) -> Callable[[Floats, Floats], float]:
    def figure(said: Floats, people: Floats) -> float:
        found = correlation(name, said, people)
        people_differ = len(people) >= FEWEST and np.ptp(people) > 0
        return 0.0 if people_differ and math.isnan(found) else found

    return figure


def _where(known: Flags, values: NDArray[Any]) -> Floats:
    """The values, NaN where they are not known."""
    return np.where(known, values.astype(np.float64), math.nan)


def _placed(known: Flags, values: Floats) -> Floats:
    """The values of the known ones in their places, NaN elsewhere."""
    found = np.full(len(known), math.nan)
    found[known] = values
    return found


def _mean(
    name: str, each: Callable[[Columns], Floats], greater: bool, kinds: frozenset[Kind], of_probabilities: bool = False
) -> Objective:
    """The mean of one number a verdict."""

    def of(run: Columns) -> float:
        values = each(run)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else math.nan

    return Objective(name, of, greater, kinds, of_probabilities, each=each)


def _whole(name: str, figure: Figure, kinds: frozenset[Kind]) -> Objective:
    """A figure of the judge's winners or scores and of people's, all cases together."""

    def of(run: Columns) -> float:
        if kinds == TEXTS:
            texts = scored(run)
            return figure(texts.score, texts.human_score)
        both = labelled(run)
        return figure(both.judge, both.human)

    return Objective(name, of, True, kinds, whole=figure)


OBJECTIVES: dict[str, Objective] = {
    objective.name: objective
    for objective in (
        _mean("agreement", _agreeing, True, PAIRS),
        _mean("accuracy", _right, True, WINNERS),
        _whole("kappa", _kappa, WINNERS),
        _mean("log-loss", _log_losses, False, WINNERS, of_probabilities=True),
        _mean("brier", _squares, False, WINNERS, of_probabilities=True),
        _mean("ndcg", _gains, True, CHOICES),
        _whole("kendall", _correlation("kendall"), TEXTS),
        _whole("spearman", _correlation("spearman"), TEXTS),
        _whole("pearson", _correlation("pearson"), TEXTS),
        _mean("mse", _squared_errors, False, TEXTS),
    )
}
DEFAULTS: dict[Kind, str] = {"pairs": "accuracy", "choices": "accuracy", "texts": "spearman"}
