"""The consistency filter: judgments of a pair that come out differently in the two orders are not learnt.

It compares one question with itself: the same stage, criterion and guideline, shown in both orders. Judgments that were
asked in one order only stay; `rejection` decides about them by the verdict.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from .swap import pairs_of
from .trace import Trace

Question = tuple[str, str, tuple[tuple[str, str], ...]]


def consistent(traces: Iterable[Trace]) -> tuple[list[Trace], int]:
    """The traces without those whose question was answered differently in the other order, and how many those are."""
    traces = list(traces)
    questions: dict[Question, list[Trace]] = defaultdict(list)
    for trace in traces:
        if trace.order is not None:
            questions[_question(trace)].append(trace)
    differing = {id(trace) for of_question in questions.values() if _differ(of_question) for trace in of_question}
    return [trace for trace in traces if id(trace) not in differing], len(differing)


def preferred(trace: Trace) -> str | None:
    """The candidate that the answer prefers: a, b or tie in the case's order; None where it names none.

    Scores decide (`score_a` against `score_b`), else a letter, else the most probable token.
    """
    sides = ("a", "b") if trace.order == "ab" else ("b", "a")
    if trace.probabilities:
        meaning = trace.meanings.get(trace.answer)
    elif scores := _scores(trace.outputs):
        meaning = "tie" if scores[0] == scores[1] else "a" if scores[0] > scores[1] else "b"
    else:
        letters = [value for value in trace.outputs.values() if value in ("A", "B", "C", "tie")]
        meaning = {"A": "a", "B": "b", "C": "tie", "tie": "tie"}[letters[0]] if len(letters) == 1 else None
    return {"a": sides[0], "b": sides[1]}.get(meaning, meaning) if meaning is not None else None


def _scores(outputs: dict[str, Any]) -> tuple[float, float] | None:
    """The scores of the texts as shown."""
    pairs = [(outputs[name], outputs[other]) for name, other in pairs_of(outputs).items() if name.endswith("_a")]
    numbers = [pair for pair in pairs if all(isinstance(value, int | float) for value in pair)]
    return numbers[0] if len(numbers) == 1 else None


def _question(trace: Trace) -> Question:
    """What is the same in both orders."""
    paired = pairs_of(trace.shown)
    return trace.case_id, trace.task, tuple((name, text) for name, text in trace.shown.items() if name not in paired)


def _differ(traces: Sequence[Trace]) -> bool:
    """Whether both orders were asked, and more than one answer was given."""
    return len({trace.order for trace in traces}) == 2 and len({preferred(trace) for trace in traces}) > 1
