"""What a report is made of: runs, their figures, and the verdicts that differ from people's."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..data import Case, Judged
from ..evaluation.results import Evaluation


@dataclass(frozen=True)
class Disagreement:
    """A verdict that is not people's, with the case that it is of.

    `case` is None when the texts could not be read again; the page then says so.
    """

    judged: Judged
    case: Case | None


@dataclass(frozen=True)
class RunReport:
    """One run: the name that readers know it by, its figures, and where judge and people disagree."""

    name: str
    evaluation: Evaluation
    disagreements: Sequence[Disagreement] = ()
