"""Rank criteria by how well each predicts human preferences, learned from labelled verdicts.

Fennec (arXiv 2405.12163, limitations) leaves the ranking of its branches open. Criteria are written anew for every
request; what recurs is their head, the words before the colon ("accuracy: every fact is right"). A head's priority is
the proportion of labelled pairs on which the criterion by itself names the human winner, shrunk towards one half.
It agrees more with people on these pairs than on new ones, so it says which they are.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from dspy.predict.parameter import Parameter

from ..data import Case, Judged, Scores, Winner
from ..data.text_digest import case_text_digest
from ..judging.aggregate import margin
from ..judging.features_by_name import criterion_head

UNKNOWN = 0.5
PRIOR = 1.0  # each of one right and one wrong pair is taken for seen, so that few pairs decide little


class Priorities(Parameter):
    """Head of a criterion -> how often it alone is right; saved with the judge.

    Attributes:
        shares: the proportions, in (0, 1).
        texts: the `case_text_digest` of each case it learned from.
        ids: ids of those cases of which a run of version 0.1 names no digest.
    """

    def __init__(self) -> None:
        self.shares: dict[str, float] = {}
        self.texts, self.ids = frozenset[str](), frozenset[str]()

    def learn(self, judged: Iterable[Judged]) -> None:
        """Count on which labelled pairs each criterion alone names the human winner; ties of either count half."""
        right: dict[str, list[float]] = defaultdict(list)
        texts, ids = set[str](), set[str]()
        for verdict in judged:
            human = _human_margin(verdict)
            if human is None:
                continue
            (texts if verdict.text_digest else ids).add(verdict.text_digest or verdict.case_id)
            for criterion in dict.fromkeys(f.criterion for f in verdict.findings if not f.is_factor):
                difference = margin([f for f in verdict.findings if f.criterion == criterion and not f.is_factor])
                right[criterion_head(criterion)].append(
                    0.5 if difference * human == 0 else float(difference * human > 0)
                )
        self.shares = {name: (sum(hits) + PRIOR) / (len(hits) + 2 * PRIOR) for name, hits in sorted(right.items())}
        self.texts, self.ids = frozenset(texts), frozenset(ids)

    def has_seen(self, case: Case) -> bool:
        """Whether it learned from a case with these texts."""
        return case.id in self.ids or (bool(self.texts) and case_text_digest(case) in self.texts)

    def sorted(self, criteria: Sequence[str]) -> list[str]:
        """The criteria, the most decisive first; equal ones keep their order."""
        return sorted(criteria, key=lambda criterion: -self.shares.get(criterion_head(criterion), UNKNOWN))

    def reset(self) -> None:
        """Keep what was learned: DSPy's demo optimizers reset copies of a program."""

    def dump_state(self, json_mode: bool = True) -> dict[str, Any]:
        learned_from = {"texts": sorted(self.texts), "ids": sorted(self.ids)}
        return {"shares": dict(self.shares)} | {name: listed for name, listed in learned_from.items() if listed}

    def load_state(self, state: dict[str, Any], **_: Any) -> None:
        self.shares = dict(state["shares"])
        self.texts, self.ids = frozenset(state.get("texts", ())), frozenset(state.get("ids", ()))


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
