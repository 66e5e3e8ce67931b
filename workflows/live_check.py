"""Whether a model answers now as it did for a record: a case judged from stored answers, then with each call made."""

from dataclasses import dataclass

from ..data import Case, Verdict
from ..engines.answer_store import asking_anew
from ..judging import Judge

TOLERANCE = 0.1  # of a probability: other processors compute the same weights with other rounding


@dataclass(frozen=True)
class LiveReading:
    """A case that was judged twice.

    Attributes:
        case: the case.
        recorded: the verdict from stored answers; a call that is not stored is made.
        live: the verdict of calls made now.
    """

    case: Case
    recorded: Verdict
    live: Verdict

    @property
    def difference(self) -> float:
        """The largest difference of a probability, 0 to 1; 1 where only one of the verdicts has probabilities."""
        first, second = self.recorded.distribution or {}, self.live.distribution or {}
        if bool(first) != bool(second):
            return 1.0
        return max((abs(first.get(name, 0.0) - second.get(name, 0.0)) for name in {*first, *second}), default=0.0)

    @property
    def agrees(self) -> bool:
        """Whether the verdicts are equal, and no probability differs by more than `TOLERANCE`."""
        return self.recorded.winner == self.live.winner and self.difference <= TOLERANCE


def read_live(judge: Judge, case: Case) -> LiveReading:
    """Judge a case from what is stored, then anew; what is asked anew is not stored."""
    recorded = judge(case)
    with asking_anew():
        live = judge(case)
    return LiveReading(case, recorded, live)
