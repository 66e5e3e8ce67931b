"""What a folder of traces holds: calls by task, and which judgments a student would learn from, by the reason."""

from collections import Counter, defaultdict
from pathlib import Path

from pydantic import Field

from ..data.case import Record
from ..engines.batch import RunFolder
from .data_card import markdown_table
from .rejection import ACCEPTED, TOLERANCE, reason_of
from .traces import read_traces

UNSCORED = "unscored"


class TraceCounts(Record):
    """The counts of one folder."""

    cases: int = Field(description="cases that were judged")
    traces: int = Field(description="calls, an equal one of a case once")
    tasks: dict[str, int] = Field(description="calls by task")
    answer_words: dict[str, float] = Field(description="by task of written answers: the mean words of an answer")
    one_token: int = Field(description="calls that are answered by one token; soft targets teach them")
    reasons: dict[str, int] = Field(description="cases by what rejection sampling says of their verdict")
    unscored: dict[str, int] = Field(default_factory=dict, description="cases without a verdict, by the reason")

    @property
    def accepted(self) -> int:
        """Cases whose written answers are learnt."""
        return sum(n for reason, n in self.reasons.items() if reason in ACCEPTED)

    def markdown(self) -> str:
        """The counts as a page."""
        tasks = [(task, f"{n:,}", self._words(task)) for task, n in self.tasks.items()]
        reasons = [(reason, f"{n:,}", "yes" if reason in ACCEPTED else "no") for reason, n in self.reasons.items()]
        lines = [
            "# Traces",
            "",
            f"{self.cases:,} cases, {self.traces:,} calls, {self.one_token:,} of one token.",
            "",
            *markdown_table(("task", "calls", "words of an answer"), tasks),
            "",
            *markdown_table(("verdict", "cases", "written answers are learnt"), reasons),
        ]
        lines += ["", *(f"{n:,} cases unscored: {reason}." for reason, n in self.unscored.items())]
        return "\n".join(lines).rstrip() + "\n"

    def _words(self, task: str) -> str:
        return f"{self.answer_words[task]:.1f}" if task in self.answer_words else ""


def count_traces(folder: Path, *, tolerance: float = TOLERANCE) -> TraceCounts:
    """The counts of a folder of traces.

    Args:
        tolerance: as of `rejection.accepted`.

    Raises:
        RunError: no traces, or a damaged line.
    """
    tasks, words, seen = Counter[str](), defaultdict[str, list[int]](list), set[str]()
    reasons, one_token = Counter[str](), 0
    for trace in read_traces(folder):
        tasks[trace.task] += 1
        if trace.probabilities:
            one_token += 1
        else:
            words[trace.task].append(len(trace.answer.split()))
        if trace.case_id not in seen:
            seen.add(trace.case_id)
            reasons[reason_of(trace, tolerance=tolerance)] += 1
    judged = list(RunFolder(folder).judged())
    if silent := sum(verdict.case_id not in seen for verdict in judged):
        reasons[UNSCORED] += silent
    return TraceCounts(
        cases=len(judged),
        traces=tasks.total(),
        tasks=dict(sorted(tasks.items())),
        answer_words={task: round(sum(of_task) / len(of_task), 1) for task, of_task in sorted(words.items())},
        one_token=one_token,
        reasons=dict(sorted(reasons.items())),
        unscored=dict(sorted(Counter(str(verdict.reason) for verdict in judged if verdict.reason).items())),
    )
