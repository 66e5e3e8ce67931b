"""Rejection sampling: a student learns from judgments that came out right, or at least the same in both orders.

A judgment of a labelled case is right when its winner is the human label's (a correct chain of thought is inferred from
a correct answer: Zelikman et al. 2022, arXiv 2203.14465). An unlabelled judgment of a pair must be the same in both
orders of presentation (Fennec, arXiv 2405.12163, section 3).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..data.case import Category, Scores
from ..judging.evidence import rescaled
from .trace import Trace

TOLERANCE = 0.125  # of a score, as a part of its scale: half a point on 1..5
Reason = Literal[
    "agrees with the label",
    "the same in both orders",
    "one order, no label",
    "contradicts the label",
    "other winner in the other order",
    "unscored",
]
ACCEPTED: frozenset[Reason] = frozenset({"agrees with the label", "the same in both orders"})


@dataclass(frozen=True)
class Sampled:
    """The traces of the judgments that are learnt from.

    Attributes:
        traces: in their order.
        counts: how many cases were accepted or rejected, by the reason.
    """

    traces: tuple[Trace, ...]
    counts: Mapping[Reason, int]


def accepted(traces: Iterable[Trace], *, tolerance: float = TOLERANCE, unchecked: bool = False) -> Sampled:
    """The traces of the judgments that agree with the label, or without a label with themselves.

    Args:
        tolerance: a score agrees with a human score that is at most this part of the scale away.
        unchecked: accept judgments that can be checked by neither: those of one order, or of one text, without a label.
    """
    by_case: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_case[trace.case_id].append(trace)
    reasons = {case_id: reason_of(of_case[0], tolerance=tolerance) for case_id, of_case in by_case.items()}
    taken = ACCEPTED | ({"one order, no label"} if unchecked else set())
    chosen = (trace for case_id, of_case in by_case.items() if reasons[case_id] in taken for trace in of_case)
    return Sampled(tuple(chosen), dict(Counter(reasons.values())))


def reason_of(trace: Trace, *, tolerance: float = TOLERANCE) -> Reason:
    """Why the judgment of a trace is learnt from, or not."""
    if not trace.scored:
        return "unscored"
    if trace.label is not None:
        return "agrees with the label" if _agrees(trace, tolerance) else "contradicts the label"
    if trace.consistent is None:
        return "one order, no label"
    return "the same in both orders" if trace.consistent else "other winner in the other order"


def _agrees(trace: Trace, tolerance: float) -> bool:
    """Whether winner or category is the label's; of scored texts, whether the scores are near."""
    label = trace.label
    assert label is not None
    if isinstance(label, Category):
        return label.category == trace.category
    if not isinstance(label, Scores) or label.winner is not None:
        return label.winner == trace.winner
    if trace.scores is None or len(trace.scores) != len(label.values):
        return False
    judge, people = trace.scale or (label.lo, label.hi), (label.lo, label.hi)
    scores = [rescaled(score, judge, (0, 1)) for score in trace.scores]
    values = [rescaled(value, people, (0, 1)) for value in label.values]
    return max(abs(score - value) for score, value in zip(scores, values, strict=True)) <= tolerance
