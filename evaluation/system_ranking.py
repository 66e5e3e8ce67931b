"""Systems ranked by the mean score of their texts, each judged alone (Fennec, arXiv 2405.12163, section 4).

Two rankings agree by Spearman and Kendall's tau-b of the means; n is the number of systems, so small sets say little.
A judge's and people's means are of the texts that each of them scored; a run of one scale is taken for granted.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..data import Judged, Scores
from ..stats.proportions import Mean, correlations, known

Means = defaultdict[str, Mean]


@dataclass
class Systems:
    """Mean scores by system; verdicts that compare texts, or whose texts have no named system, are passed over."""

    judge: Means = field(default_factory=lambda: defaultdict(Mean))
    people: Means = field(default_factory=lambda: defaultdict(Mean))

    def add(self, judged: Judged) -> None:
        if judged.scores is None or not judged.systems or not judged_alone(judged):
            return
        told = [(self.judge, judged.scores)]
        if isinstance(judged.label, Scores):
            told.append((self.people, judged.label.values))
        for means, scores in told:
            for system, score in zip(judged.systems, scores, strict=True):
                if system is not None:
                    means[system].add(score)

    def ranking(self) -> list[tuple[str, Mean]]:
        """The systems, the best mean first; equal ones by name."""
        return sorted(self.judge.items(), key=lambda item: (-item[1].value, item[0]))

    def agreement(self, other: Mapping[str, float] | None = None) -> dict[str, float]:
        """How well the ranking agrees with another one's scores; see `agreement`.

        Args:
            other: system -> score, higher is better; None takes people's mean scores.
        """
        ours = {system: mean.value for system, mean in self.judge.items()}
        theirs = {system: mean.value for system, mean in self.people.items()}
        return agreement(ours, theirs if other is None else other)

    def as_dict(self) -> dict[str, Any]:
        """Empty when nothing was counted."""
        if not self.judge:
            return {}
        told = {
            system: mean.as_dict() | ({"people": self.people[system].value} if system in self.people else {})
            for system, mean in self.ranking()
        }
        agreed = self.agreement()
        return {"scores": told} | ({"agreement": agreed} if len(agreed) > 1 else {})


def judged_alone(judged: Judged) -> bool:
    """Whether the scores come from readings of one text at a time."""
    scored = [finding for finding in judged.findings if finding.scores]
    return bool(scored) and all(finding.order is None for finding in scored)


def agreement(ours: Mapping[str, float], theirs: Mapping[str, float]) -> dict[str, float]:
    """`n` systems that both score, and Spearman and Kendall's tau-b over them: absent under 3, or for constant scores.

    Example:
        >>> agreement({"x": 3.5, "y": 4.0, "z": 1.0}, {"z": 5, "x": 6, "y": 9, "w": 1})
        {'n': 3, 'spearman': 1.0, 'kendall': 1.0}
    """
    shared = sorted(ours.keys() & theirs.keys())
    found = known(correlations((ours[system], theirs[system]) for system in shared))
    return {"n": len(shared)} | {name: found[name] for name in ("spearman", "kendall") if name in found}
