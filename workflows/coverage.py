"""Coverage: how many of the cases have a result, and whether these are enough to go on with."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from ..data import Judged
from ..data.counting import cases_text
from ..errors import DeclarationError, RunError

LONGEST = 300  # characters of an example


@dataclass(frozen=True)
class Coverage:
    """How many of the cases have a result, and why the others have none.

    Attributes:
        cases: all cases.
        scored: cases with a result.
        reasons: why there is none, and of how many cases; a judge that abstains is a reason too.
        example: the detail of one case of the most frequent reason.
    """

    cases: int
    scored: int
    reasons: Mapping[str, int] = field(default_factory=dict)
    example: str = ""

    @classmethod
    def of(cls, verdicts: Iterable[Judged]) -> Self:
        """The coverage of these verdicts."""
        cases, reasons, details = 0, Counter[str](), dict[str, str]()
        for judged in verdicts:
            cases += 1
            if judged.status != "scored":
                reason = judged.reason or judged.status
                reasons[reason] += 1
                details.setdefault(reason, judged.detail or "")
        example = details[reasons.most_common(1)[0][0]] if reasons else ""
        return cls(cases, cases - reasons.total(), dict(reasons.most_common()), example)

    @property
    def proportion(self) -> float:
        """Of the cases with a result, in 0..1; 0 of no case."""
        return self.scored / self.cases if self.cases else 0.0

    def require(self, minimum: float, name: str, *, done: str = "scored") -> None:
        """Do nothing, or raise where nothing is scored or too little is.

        Args:
            minimum: the smallest proportion that is enough, in 0..1; with 0, one scored case is, and so are verdicts
                of which the judge abstained from each.
            name: what was judged, for the message.
            done: what was done to cases with a result, for the message.

        Raises:
            RunError: no case, no result, or a smaller proportion.
            DeclarationError: a minimum outside of 0..1.
        """
        if not 0 <= minimum <= 1:
            raise DeclarationError(f"min_coverage: {minimum!r} is not a proportion. Give a number from 0 to 1.")
        if not self.cases:
            raise RunError(f"{name}: there is no case. Give a file with cases, or other options.")
        if not self.scored and set(self.reasons) != {"abstained"}:
            raise RunError(
                f"{name}: none of {cases_text(self.cases)} is {done} ({self._why}). Fix the cause and run again."
            )
        if self.proportion < minimum:
            counts = f"{self.scored:,} of {cases_text(self.cases)} {'is' if self.scored == 1 else 'are'} {done}"
            raise RunError(
                f"{name}: {counts}, a coverage of {self.proportion:.3f}, and {minimum:g} is required ({self._why}). "
                "Run again to ask for the others, or require less."
            )

    @property
    def _why(self) -> str:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in self.reasons.items())
        detail = " ".join(self.example.split())
        shown = detail if len(detail) <= LONGEST else f"{detail[:LONGEST]} ..."
        return f"{counts}; the first {next(iter(self.reasons))}: {shown}" if shown else counts
