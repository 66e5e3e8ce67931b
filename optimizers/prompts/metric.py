"""The metric that DSPy's optimizers are given: one case's score in [0, 1], and feedback in words."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import dspy

from ...data import Case, Verdict
from ...data.case import Scores
from ...judging.evidence import rescaled
from ...stats.choice_ranking import rank
from ..objective import Objective
from .feedback import feedback, summary

INCONSISTENT = 0.75  # of the score of probabilities, where the two orders disagree
CLOSE = 0.9  # the score from which a text's score counts as right

Metric = Callable[..., dspy.Prediction | bool]


class Labelled(dspy.Example):
    """A case for DSPy; printed as a short summary, because MIPROv2 shows examples in print to its prompt model."""

    def __repr__(self) -> str:
        return summary(self.case)


def example(case: Case) -> dspy.Example:
    return Labelled(case=case).with_inputs("case")


def metric(objective: Objective, *, scale: tuple[float, float] | None = None) -> Metric:
    """A DSPy metric, which GEPA can call as well.

    While demos are bootstrapped (`trace` is given, `pred_name` is not) it gives a bool: DSPy takes any prediction, also
    one with a score of 0, for a success.

    Args:
        scale: of the judge's scores, where it always has the same; else they are taken to be on people's scale.
    """

    def measured(
        gold: dspy.Example,
        pred: dspy.Prediction,
        trace: Any = None,
        pred_name: str | None = None,
        pred_trace: Sequence[tuple[Any, Any, Any]] | None = None,
    ) -> dspy.Prediction | bool:
        case, verdict = gold.case, pred.verdict
        if trace is not None and pred_name is None:
            return is_right(case, verdict, scale=scale)
        stage = pred_trace[0][:2] if pred_trace else None
        value = score(case, verdict, objective, scale=scale)
        return dspy.Prediction(score=value, feedback=feedback(case, verdict, stage))

    return measured


def score(case: Case, verdict: Verdict, objective: Objective, *, scale: tuple[float, float] | None = None) -> float:
    """One case's part in the objective, in [0, 1]; 0 without a verdict.

    texts      1 - distance of the scores, in the range of people's scale
    choices    the share of wrong answers that stand below the right one
    pairs      the mean of the merged verdict's hit and of the share of orders that hit; for objectives of
               probabilities 1 - half the squared distance from people's shares, less where the orders disagree

    Either way a pair whose two orders disagree never scores 1.
    """
    if verdict.status != "scored" or case.label is None:
        return 0.0
    if isinstance(case.label, Scores) and len(case.candidates) == 1:
        return _closeness(case.label, verdict, scale)
    if not case.is_pair and verdict.scores is not None:
        others = len(case.candidates) - 1
        return (others + 1 - rank(verdict.scores, int(str(case.label.winner)))) / others
    if objective.uses_probabilities and verdict.distribution is not None:
        apart = _squared_distance(case, verdict.distribution)
        return (1 - apart / 2) * (INCONSISTENT if verdict.consistent is False else 1.0)
    human = case.label.winner
    orders = [one == human for one in verdict.order_winners.values()] or [verdict.winner == human]
    return (float(verdict.winner == human) + sum(orders) / len(orders)) / 2


def is_right(case: Case, verdict: Verdict, *, scale: tuple[float, float] | None = None) -> bool:
    """Whether the judgment may be shown to others as an example: right, and in both orders alike."""
    if verdict.status != "scored" or case.label is None:
        return False
    if isinstance(case.label, Scores) and len(case.candidates) == 1:
        return _closeness(case.label, verdict, scale) >= CLOSE
    return verdict.winner == case.label.winner and verdict.consistent is not False


def _closeness(label: Scores, verdict: Verdict, scale: tuple[float, float] | None) -> float:
    if not verdict.scores:
        return 0.0
    own = verdict.scores[0] if scale is None else rescaled(verdict.scores[0], scale, (label.lo, label.hi))
    return max(0.0, 1 - abs(own - label.values[0]) / (label.hi - label.lo))


def _squared_distance(case: Case, distribution: dict[str, float]) -> float:
    shares = case.soft_label()
    if shares is None:
        shares = {str(case.label.winner): 1.0} if case.label else {}
    labels = {*distribution, *shares}
    return math.fsum((distribution.get(label, 0.0) - shares.get(label, 0.0)) ** 2 for label in labels)
