"""Rank criteria by how well each predicts human preferences, learned from labelled verdicts.

Fennec (arXiv 2405.12163, limitations) leaves the ranking of its branches open. Criteria are written anew for every
request; what recurs is their head, the words before the colon ("accuracy: every fact is right"). A head's priority is
the proportion of labelled pairs on which the criterion by itself names the human winner, shrunk towards one half.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from dspy.predict.parameter import Parameter

from ..data import Judged, Scores, Winner
from ..judging.aggregate import margin

UNKNOWN = 0.5
PRIOR = 1.0  # each of one right and one wrong pair is taken for seen, so that few pairs decide little


class Priorities(Parameter):
    """Head of a criterion -> how often it alone is right; saved with the judge."""

    def __init__(self) -> None:
        self.shares: dict[str, float] = {}

    def learn(self, judged: Iterable[Judged]) -> None:
        """Count on which labelled pairs each criterion alone names the human winner; ties of either count half."""
        right: dict[str, list[float]] = defaultdict(list)
        for verdict in judged:
            human = _human_margin(verdict)
            if human is None:
                continue
            for criterion in dict.fromkeys(f.criterion for f in verdict.findings if not f.is_factor):
                difference = margin([f for f in verdict.findings if f.criterion == criterion and not f.is_factor])
                right[head(criterion)].append(0.5 if difference * human == 0 else float(difference * human > 0))
        self.shares = {name: (sum(hits) + PRIOR) / (len(hits) + 2 * PRIOR) for name, hits in sorted(right.items())}

    def sorted(self, criteria: Sequence[str]) -> list[str]:
        """The criteria, the most decisive first; equal ones keep their order."""
        return sorted(criteria, key=lambda criterion: -self.shares.get(head(criterion), UNKNOWN))

    def reset(self) -> None:
        """Keep what was learned: DSPy's demo optimizers reset copies of a program."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        return {"shares": dict(self.shares)}

    def load_state(self, state: dict[str, Any], **_: Any) -> None:
        self.shares = dict(state["shares"])


def head(criterion: str) -> str:
    """The words of a criterion before its colon, in lower case.

    Example:
        >>> head("Accuracy: every fact is right")
        'accuracy'
    """
    return criterion.partition(":")[0].strip().casefold()


def _human_margin(judged: Judged) -> float | None:
    """Positive when people prefer a, negative for b, 0 for a tie; None without a pair's label."""
    match judged.label:
        case Winner(value="a"):
            return 1.0
        case Winner(value="b"):
            return -1.0
        case Winner(value="tie"):
            return 0.0
        case Scores(values=(first, second)):
            return first - second
    return None
