"""Which cases a source leaves out for their responses: those that decline, and those by the judge's own model.

What is left out is counted as the cases pass, and said at the end: a filter that nobody sees would change a figure
unnoticed.
"""

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from ..data import Case
from ..data.refusal_detection import RefusalFilter, has_refusal
from ..judging.judge import Judge

REASONS = {
    "opening": "a response opens as a refusal does",
    "ai-words": "a response names an AI, a language model or a chatbot",
    "not_by": "a response is by {systems}",
}


def default_refusals(judge: Judge) -> RefusalFilter:
    """The filter of refusals that a judge asks for, or one of its members does."""
    members = (member for _, member in judge.named_sub_modules(Judge))
    return next((member.refusals for member in members if member.refusals != "keep"), "keep")


def is_by(case: Case, systems: Sequence[str]) -> bool:
    """Whether a candidate is by one of the systems, whatever the case of the letters; `gpt*` names several."""
    names = [candidate.system.casefold() for candidate in case.candidates if candidate.system]
    return any(fnmatchcase(name, system.casefold()) for name in names for system in systems)


class ExcludedCases:
    """Counts the cases that the filters leave out.

    Attributes:
        cases: the cases so far, before the filters.
        by_reason: of those left out, by filter.
        named: cases of which a response names its system.
        by: cases of which a response is by one of the systems.
    """

    def __init__(self) -> None:
        self.cases = self.named = self.by = 0
        self.by_reason: Counter[str] = Counter()

    def reason(self, case: Case, refusals: RefusalFilter, not_by: Sequence[str]) -> str:
        """Why the case is left out; empty where it is not."""
        self.cases += 1
        self.named += any(candidate.system for candidate in case.candidates)
        by = is_by(case, not_by)
        self.by += by
        reason = refusals if has_refusal(case, refusals) else "not_by" if by else ""
        self.by_reason[reason] += bool(reason)
        return reason

    def notices(self, not_by: Sequence[str]) -> list[str]:
        """What was left out, a sentence for each filter that left something out, or could not work."""
        lines = []
        for name, words in REASONS.items():
            if count := self.by_reason[name]:
                undo = "" if name == "not_by" else " --refusals keep judges them too."
                reason = words.format(systems=" or ".join(not_by))
                lines.append(f"{count:,} of {self.cases:,} cases are left out: {reason}.{undo}")
        if not_by and self.cases and not self.by:
            reason = f"is by {' or '.join(not_by)}" if self.named else "names its system"
            lines.append(f"--not-by: no response {reason}, so no case is left out for it.")
        return lines
