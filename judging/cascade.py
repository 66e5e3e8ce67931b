"""A cascade: judges asked in turn, the cheapest first, until one is sure enough (Jung, Brahman & Choi 2024, "Trust or
Escalate", arXiv 2407.18370).

A member's verdict is kept when its certainty is at or above the member's threshold. Else the next member is asked, also
where there is no certainty or no verdict at all. What the last one is not sure of is abstained.
"""

from collections.abc import Sequence

from ..data import Case, Verdict
from ..errors import DeclarationError, MissingField
from .composite import Composite, findings_of
from .evidence_reading import measured_of
from .hparam import HParam
from .judge import Judge


class Cascade(Composite):
    """Returns the verdict of the first member that is sure enough.

    Args:
        members: judges, in the order in which they are asked; each has its own LMs. A member that abstains by its own
            threshold is not sure enough, whatever its threshold here.
        thresholds: the certainty that keeps each member's verdict; None: the member's own, 0 where it has none.
    """

    name = "cascade"

    def __init__(self, members: Sequence[Judge], *, thresholds: Sequence[float] | None = None) -> None:
        super().__init__(members)
        self.rewrites = any(member.rewrites for member in members)
        values = [member.threshold or 0.0 for member in members] if thresholds is None else list(thresholds)
        if len(values) != len(members):
            raise DeclarationError(
                f"cascade: {len(members)} members, {len(values)} thresholds. Give a threshold for each judge."
            )
        try:
            self.thresholds = [HParam(threshold, least=0.0) for threshold in values]
        except ValueError as error:
            raise DeclarationError(f"cascade: a threshold {error}.") from None

    def lacks(self, case: Case) -> str:
        return self.members[0].lacks(case)  # the others may not be asked

    def assess(self, case: Case) -> Verdict:
        """The deciding member's verdict; else that of the last member that was asked, abstained or unscored.

        A later member is not asked of a case that lacks what it reads.

        The findings are those of all members that were called; the rationale is that of the verdict returned.
        """
        answers: list[tuple[str, Verdict]] = []
        notes: list[str] = []
        for name, member, threshold in zip(self._names(), self.members, self.thresholds, strict=True):
            if answers and member.lacks(case):
                notes.append(f"{name}: {MissingField.reason}")
                continue
            verdict: Verdict = member(case)
            answers.append((name, verdict))
            notes += verdict.notes
            if _sure(verdict, threshold.value):
                notes.append(f"{name}: decided, certainty {verdict.certainty:g}")
                break
            notes.append(f"{name}: {_unsure(verdict, threshold.value)}")
        else:
            if verdict.status == "scored":
                verdict = verdict.model_copy(update={"status": "abstained"})
        evidence = {"findings": findings_of(answers), "measured": measured_of(answers)}
        return verdict.model_copy(update={**evidence, "notes": tuple(dict.fromkeys(notes))})


def _sure(verdict: Verdict, threshold: float) -> bool:
    return verdict.status == "scored" and verdict.certainty is not None and verdict.certainty >= threshold


def _unsure(verdict: Verdict, threshold: float) -> str:
    """Why a verdict is not kept."""
    if verdict.status != "scored":
        return verdict.reason or verdict.status
    if verdict.certainty is None:
        return "unsure, no certainty"
    return f"unsure, certainty {verdict.certainty:g} below {threshold:g}"
