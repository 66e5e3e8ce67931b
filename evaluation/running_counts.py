"""Counters of a run in progress, for a progress line; everything that is reported comes from `evaluate`."""

from collections import Counter
from dataclasses import dataclass, field

from ..data import Judged, Usage
from ..data.verdict import BLANK


@dataclass
class RunningCounts:
    """Counts over the verdicts so far.

    Attributes:
        cases: verdicts, unscored ones included.
        labelled: scored verdicts that name a winner and have a human one; not the blanks of a judge without its head.
        correct: labelled verdicts that equal the human label.
        unscored: reason: verdicts.
        usage: summed over all verdicts.
    """

    cases: int = 0
    scored: int = 0
    labelled: int = 0
    correct: int = 0
    unscored: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)

    def add(self, judged: Judged) -> None:
        """Count one verdict."""
        self.cases += 1
        self.usage = self.usage + judged.usage
        if judged.status != "scored":
            self.unscored[judged.reason or judged.status] += 1
            return
        self.scored += 1
        if judged.answer is not None and judged.human_answer is not None and BLANK not in judged.notes:
            self.labelled += 1
            self.correct += judged.answer == judged.human_answer
