"""A trace: one LM call of a judgment, as it was sent and answered, with the verdict that came of it.

Findings do not hold a text as it was shown, so a student's prompts cannot be rebuilt from a run folder; a trace holds
them whole.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from ..data import Case, Judged, Verdict
from ..data.case import Label, Letter, Record
from ..data.verdict import Order, Probability
from ..judging.category_question import categories_of_letters
from ..judging.judge import Judge, present
from ..judging.recorded_calls import RecordedCall, recording
from .row import ChatMessage, TrainingRow, most_probable

SOURCE = "traces"


class Trace(Record):
    """One call of one judgment."""

    case_id: str = Field(description="the id of the case")
    group: str = Field(description="the group of the case: what must not straddle a split")
    program: str = Field(description="the judge's program, see `program_of`")
    stage: str = Field(description="the role of the stage that asked")
    task: str = Field(description="program and what was asked, as in fennec.pairwise")
    model: str = Field(default="", description="the model that answered")
    messages: tuple[ChatMessage, ...] = Field(description="the request, exactly as it was sent")
    answer: str = Field(description="the text that the model wrote; of a one-token question its most probable token")
    outputs: dict[str, Any] = Field(default_factory=dict, description="the typed answer")
    shown: dict[str, str] = Field(default_factory=dict, description="the inputs that are texts, as the prompt has them")
    question: str = Field(default="", description="the output of a one-token question; empty for a written answer")
    probabilities: dict[str, Probability] = Field(
        default_factory=dict, description="token -> probability, of a one-token question"
    )
    meanings: dict[str, str] = Field(
        default_factory=dict,
        description="token -> what it says: a, b, tie of the texts as shown, yes, no, a score, an option",
    )
    order: Order | None = Field(default=None, description="how the pair was shown; None: no pair was")
    candidate: int | None = Field(default=None, description="the candidate that was shown alone, from 0")
    winner: Letter | int | None = Field(default=None, description="of the verdict, after head and threshold")
    category: str | None = Field(default=None, description="of the verdict about a single text with categories")
    scores: tuple[float, ...] | None = Field(default=None, description="of the verdict, one per candidate")
    scale: tuple[float, float] | None = Field(default=None, description="of the scores; None: that of the label")
    distribution: dict[str, Probability] | None = Field(default=None, description="of the verdict: winner -> p")
    scored: bool = Field(default=True, description="whether the verdict was scored; an abstained one is not")
    consistent: bool | None = Field(default=None, description="of the verdict: whether both orders agree")
    label: Label | None = Field(default=None, description="the human label of the case")
    votes: tuple[Label, ...] = Field(default=(), description="the labels of single annotators")

    def row(
        self, targets: Mapping[str, float] | None = None, *, source: str = SOURCE, weight: float = 1
    ) -> TrainingRow:
        """The trace as a row that teaches what was answered.

        Args:
            targets: token -> probability, learnt on the one token; None: those that were read, or for a written answer
                the words.
        """
        learnt = dict(self.probabilities if targets is None else targets)
        answer = most_probable(learnt) if learnt else self.answer
        return TrainingRow(
            task=self.task,
            messages=(*self.messages, ChatMessage(role="assistant", content=answer)),
            targets=learnt,
            case_id=self.case_id,
            group=self.group,
            order=self.order,
            source=source,
            weight=weight,
        )


def traced(judge: Judge, case: Case) -> tuple[Verdict, tuple[Trace, ...]]:
    """The verdict of a case, and the calls that led to it.

    Raises:
        DeclarationError, BudgetSpent: see `Judge.__call__`.
    """
    with recording() as calls:
        verdict = judge(case)
    return verdict, traces_of(program_of(judge), case, verdict, calls, judge.score_scale)


def program_of(judge: Judge) -> str:
    """The name of a judge's program, by which its questions are called; settings may rename the judge, not these.

    Example:
        >>> from ..programs.fennec import Fennec
        >>> judge = Fennec(correct=True)
        >>> judge.name, program_of(judge)
        ('fennec-correct', 'fennec')
    """
    return str(getattr(type(judge), "name", judge.name))


def traces_of(
    program: str,
    case: Case,
    verdict: Verdict,
    calls: Sequence[RecordedCall],
    scale: tuple[float, float] | None = None,
) -> tuple[Trace, ...]:
    """The traces of one judgment, sorted, as calls end in any order; equal calls are one trace."""
    of_case = {
        "case_id": case.id,
        "group": case.split_key,
        "program": program,
        "winner": verdict.winner,
        "category": verdict.category,
        "scores": verdict.scores,
        "scale": scale,
        "distribution": verdict.distribution,
        "scored": verdict.status == "scored",
        "consistent": verdict.consistent,
        "label": case.label,
        "votes": case.votes,
    }
    traces: dict[tuple[object, ...], Trace] = {}
    for call in calls:
        trace = _trace(call, case, of_case)
        traces.setdefault((trace.messages, trace.answer, trace.question), trace)
    return tuple(sorted(traces.values(), key=_place))


def with_verdict(trace: Trace, judged: Judged, scale: tuple[float, float] | None = None) -> Trace:
    """The trace with the verdict of another judge, or of the same one with another head.

    Args:
        scale: of the verdict's scores.
    """
    verdict = {name: getattr(judged, name) for name in ("winner", "category", "scores", "distribution", "consistent")}
    return trace.model_copy(update=verdict | {"scale": scale, "scored": judged.status == "scored"})


def _place(trace: Trace) -> tuple[str, str, str, list[str]]:
    return trace.task, str(trace.candidate), str(trace.order), [message.content for message in trace.messages]


def _trace(call: RecordedCall, case: Case, of_case: Mapping[str, Any]) -> Trace:
    places = _candidates_shown(call, case)
    pair = case.is_pair and len(places) == 2
    probabilities = _normalised(call.probabilities)
    return Trace(
        **of_case,
        stage=call.stage,
        task=f"{of_case['program']}.{call.task}",
        model=call.model,
        messages=tuple(ChatMessage.model_validate(message) for message in call.sent.messages),
        answer=most_probable(probabilities) if probabilities else call.sent.text,
        outputs=dict(call.outputs),
        shown={name: value for name, value in call.shown.items() if isinstance(value, str)},
        question=call.question,
        probabilities=probabilities,
        meanings=_meanings(call, case),
        order=("ab" if places[0] == 0 else "ba") if pair else None,
        candidate=places[0] if len(places) == 1 else None,
    )


def _meanings(call: RecordedCall, case: Case) -> dict[str, str]:
    """What each token says; of letters for categories, the categories."""
    listed = call.inputs.get("categories")
    named = categories_of_letters(str(listed), case.categories) if listed and case.categories else {}
    return named if call.meanings and set(named) == set(call.meanings) else dict(call.meanings)


def _candidates_shown(call: RecordedCall, case: Case) -> list[int]:
    """The indices of the candidates among the inputs, in the order of the prompt; equal texts count in their order."""
    shown = [str(text) for text in present(case).responses]
    places: list[int] = []
    for value in call.inputs.values():
        free = [index for index, text in enumerate(shown) if index not in places and text == value]
        places += free[:1]
    return places


def _normalised(probabilities: Mapping[str, float]) -> dict[str, float]:
    """The probabilities with the sum 1 that rounding took from them."""
    total = sum(probabilities.values())
    return {token: p / total for token, p in probabilities.items()} if total > 0 else dict(probabilities)
