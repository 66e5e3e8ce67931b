"""Demos out of labelled cases: what a stage was asked about them, with the answer that people would have given.

Where a stage is asked once about the texts of a case, in this order, and gives nothing but a preference, a score or an
option, its answer is the verdict, and the demo has people's label as the answer: also where the judge was wrong, which
is where a demo helps. Any other answer (a criterion's score, a reason in words) is no label, and is a demo only where
the verdict was right.
"""

import string
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...data import Case, Scores, Verdict
from ...judging.answer_types import Levels, Options
from ...judging.demo_pool import places
from ...judging.evidence import rescaled
from ...judging.judge import Judge
from ...judging.stage import Stage
from .metric import is_right
from .prompt_state import stages_of
from .wording_evaluator import StageCall

Demo = dict[str, Any]


def labelled_demos(
    judge: Judge, case: Case, verdict: Verdict, calls: Sequence[StageCall]
) -> Iterator[tuple[str, tuple[int, ...], Demo]]:
    """The path of the stage, the candidates that the demo shows, in order, and its inputs and outputs."""
    stages, right = stages_of(judge), is_right(case, verdict, scale=judge.score_scale)
    shown = [places(case, call.inputs) for call in calls]
    times = Counter((call.stage, order) for call, order in zip(calls, shown, strict=True))
    for call, order in zip(calls, shown, strict=True):
        answer = None
        if times[call.stage, order] == 1:
            answer = answer_of_people(stages[call.stage], case, order, call.outputs)
        if answer is not None or right:
            yield call.stage, order, {**call.inputs, **(answer if answer is not None else call.outputs)}


def answer_of_people(stage: Stage, case: Case, order: Sequence[int], outputs: Mapping[str, Any]) -> Demo | None:
    """The outputs that agree with the label, for candidates shown in this order; None where the stage cannot say it."""
    kinds: Mapping[str, Options | Levels] = getattr(stage, "outputs", {})
    if len(outputs) != 1 or case.label is None or outputs.keys() != kinds.keys():
        return None
    ((name, kind),) = kinds.items()
    winner = case.label.winner
    if isinstance(kind, Levels):
        if len(case.candidates) != 1 or len(order) != 1 or not isinstance(case.label, Scores):
            return None
        return {name: round(rescaled(case.label.values[0], (case.label.lo, case.label.hi), (kind.lo, kind.hi)))}
    if case.is_pair and kind.labels and len(order) == 2 and isinstance(winner, str):
        label = winner if winner == "tie" else "ab"[order.index("ab".index(winner))]
        written = dict(zip(kind.labels, kind.names, strict=True)).get(label)
        return None if written is None else {name: written}
    if isinstance(winner, int) and len(order) == len(case.candidates):
        return {name: string.ascii_uppercase[order.index(winner)]}
    return None
