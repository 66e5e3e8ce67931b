"""The metric for DSPy's optimizers: the score of one case in [0, 1], and feedback in words."""

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

INCONSISTENT = 0.75  # factor of the score of probabilities if the two orders disagree
CLOSE = 0.9  # the score from which a text's score counts as right

Metric = Callable[..., dspy.Prediction | bool]


class LabelledExample(dspy.Example):
    """A case for DSPy; its repr is a short summary, because MIPROv2 shows the repr to its prompt model."""

    def __repr__(self) -> str:
        return summary(self.case)


def example(case: Case) -> dspy.Example:
    return LabelledExample(case=case).with_inputs("case")


def metric(objective: Objective, *, scale: tuple[float, float] | None = None) -> Metric:
    """A DSPy metric, which GEPA can call as well.

    While demos are bootstrapped (with `trace`, without `pred_name`) it returns a bool: DSPy takes any prediction, even
    with a score of 0, for a success.

    Args:
        scale: of the judge's scores; None: that of people's scores.
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
    """The score of one case, in [0, 1]; 0 without a verdict.

    texts      1 - distance of the scores, relative to the range of people's scale
    choices    the proportion of wrong options that rank below the right one
    categories    as pairs, of one order
    pairs      the mean of two: whether the verdict is right, and the proportion of orders that are right; for
               objectives of probabilities 1 - half the squared distance from people's votes, lower if the orders
               disagree

    A pair whose two orders disagree never scores 1.
    """
    if verdict.status != "scored" or case.label is None:
        return 0.0
    if isinstance(case.label, Scores) and len(case.candidates) == 1:
        return _closeness(case.label, verdict, scale)
    if case.kind == "choices" and verdict.scores is not None:
        others = len(case.candidates) - 1
        return (others + 1 - rank(verdict.scores, int(str(case.label.winner)))) / others
    if objective.uses_probabilities and verdict.distribution is not None:
        apart = _squared_distance(case, verdict.distribution)
        return (1 - apart / 2) * (INCONSISTENT if verdict.consistent is False else 1.0)
    human = case.label.answer
    orders = [winner == human for winner in verdict.order_winners.values()] or [verdict.answer == human]
    return (float(verdict.answer == human) + sum(orders) / len(orders)) / 2


def is_right(case: Case, verdict: Verdict, *, scale: tuple[float, float] | None = None) -> bool:
    """Whether the judgment may be a demo: right, and the same in both orders."""
    if verdict.status != "scored" or case.label is None:
        return False
    if isinstance(case.label, Scores) and len(case.candidates) == 1:
        return _closeness(case.label, verdict, scale) >= CLOSE
    return verdict.answer == case.label.answer and verdict.consistent is not False


def _closeness(label: Scores, verdict: Verdict, scale: tuple[float, float] | None) -> float:
    if not verdict.scores:
        return 0.0
    score = verdict.scores[0] if scale is None else rescaled(verdict.scores[0], scale, (label.lo, label.hi))
    return max(0.0, 1 - abs(score - label.values[0]) / (label.hi - label.lo))


def _squared_distance(case: Case, distribution: dict[str, float]) -> float:
    human = case.soft_label()
    if human is None:
        human = {str(case.label.answer): 1.0} if case.label else {}
    labels = {*distribution, *human}
    return math.fsum((distribution.get(label, 0.0) - human.get(label, 0.0)) ** 2 for label in labels)
