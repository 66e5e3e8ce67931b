"""The one-token questions of a judge about a case, without a model: what a verdict-first student is taught to answer.

A student may be another program than its teacher: the student's questions are asked of a stand-in, recorded as any call
is, and given the teacher's verdict. Prompts are those that the student will be asked later.
"""

from collections.abc import Iterable, Mapping

import dspy

from ..data import Case, Judged, Verdict
from ..engines.ledger import Ledger, charge_to
from ..engines.stand_in import StandInLM
from ..judging.judge import Judge
from ..judging.recorded_calls import recording
from .soft_targets import SoftRows, Targets, soft_rows
from .trace import Trace, program_of, traces_of, with_verdict


def questions_of(judge: Judge, case: Case, *, special_tokens: frozenset[str] = frozenset()) -> tuple[Trace, ...]:
    """The traces of a judge's one-token questions about a case, with the probabilities of a stand-in for a model.

    Questions that depend on written answers show the stand-in's words, which mean nothing; leave such judges out.

    Args:
        special_tokens: of the student's tokenizer, which texts are shown without (`lm.special_tokens`).
    """
    return tuple(trace for trace in calls_of(judge, case, special_tokens=special_tokens) if trace.probabilities)


def calls_of(judge: Judge, case: Case, *, special_tokens: frozenset[str] = frozenset()) -> tuple[Trace, ...]:
    """As `questions_of`, with the calls that are answered in words."""
    lm = StandInLM()
    lm.transport.special_tokens = special_tokens
    copy: Judge = judge.deepcopy()
    copy.head, copy.threshold = None, None
    for stage in copy.stages():
        stage.model, stage.ask.lm = "", None
    with dspy.context(lm=lm), charge_to(Ledger()), recording() as calls:
        copy(case)
    unjudged = Verdict(case_id=case.id, status="unscored", reason="budget")
    return traces_of(program_of(judge), case, unjudged, calls, judge.score_scale)


def question_rows(
    judge: Judge,
    cases: Iterable[Case],
    verdicts: Mapping[str, Judged] | None = None,
    targets: Targets = "both",
    *,
    human_weight: float = 0.5,
    scale: tuple[float, float] | None = None,
    special_tokens: frozenset[str] = frozenset(),
) -> SoftRows:
    """The rows of the student's questions that decide its verdict, with targets of people, of the teacher, or of both.

    A question that a verdict says nothing of, such as the score of one text of a pair, has no row.

    Args:
        judge: the student's program.
        cases: labelled or not.
        verdicts: the teacher's, by case id.
        targets, human_weight: as of `soft_rows`.
        scale: of the teacher's scores; None: they are not taught.
        special_tokens: as of `questions_of`.
    """
    verdicts, traces = verdicts or {}, list[Trace]()
    for case in cases:
        for trace in questions_of(judge, case, special_tokens=special_tokens):
            judged = verdicts.get(case.id)
            traces.append(with_verdict(trace, judged, scale) if judged is not None else trace)
    return soft_rows(traces, targets, human_weight=human_weight, imitate=False)
