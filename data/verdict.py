"""A verdict: what a judge says of a case, how sure it is, and what it read to say so.

"No verdict" is a value of its own: an unscored verdict carries the reason and is counted, never taken as wrong or zero.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..errors import UnscoredReason
from .case import SWAPPED, Case, Label, Letter, Record

Order = Literal["ab", "ba"]
Probability = Annotated[float, Field(ge=0, le=1)]


class Usage(Record):
    """What a judgment cost: completed calls, calls answered by the cache, tokens, money and model seconds."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = Field(default=None, description="US dollars; None when no price is known")
    seconds: float = Field(default=0.0, description="summed over calls, so it can exceed the wall time")

    def __add__(self, other: "Usage") -> "Usage":
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost=sum(costs) if costs else None,
            seconds=self.seconds + other.seconds,
        )


class Finding(Record):
    """One piece of evidence: a criterion judged in one order of the candidates.

    Scores, levels and distribution stand in the case's own order, whatever order was shown. `order` is None when each
    candidate was read alone. `levels` holds, for each candidate, the probabilities of the scale's levels, lowest first.
    `coverage` is the probability that the model gave to the offered options at all (None: the answer was written).
    """

    criterion: str
    guideline: str = ""
    weight: float = 1.0
    order: Order | None = None
    scores: tuple[float, ...] | None = None
    levels: tuple[tuple[Probability, ...], ...] | None = None
    distribution: dict[str, Probability] | None = None
    coverage: Probability | None = None
    explanation: str = ""

    def swapped(self) -> "Finding":
        """The same evidence for the pair with its candidates exchanged."""
        return self.model_copy(
            update={
                "order": None if self.order is None else "ba" if self.order == "ab" else "ab",
                "scores": self.scores[::-1] if self.scores else None,
                "levels": self.levels[::-1] if self.levels else None,
                "distribution": swap_distribution(self.distribution),
            }
        )


class Correction(Record):
    """A weak candidate rewritten: which one, the new text, and the criteria that it failed."""

    candidate: int
    text: str
    criteria: tuple[str, ...] = ()


class Verdict(Record):
    """What a judge says of one case.

    `winner` is a letter for a pair and an index for a choice; `scores` has one score per candidate on the judge's
    scale; `certainty` is the probability of the verdict as the judge sees it (not calibrated unless a head was
    fitted); `consistent` says whether both orders, each taken alone, name the same winner (None: one order asked).
    """

    case_id: str
    status: Literal["scored", "abstained", "unscored"] = "scored"
    reason: UnscoredReason | None = None
    detail: str = Field(default="", description="for an unscored verdict: what happened")
    winner: Letter | int | None = None
    scores: tuple[float, ...] | None = None
    distribution: dict[str, Probability] | None = None
    certainty: Probability | None = None
    findings: tuple[Finding, ...] = ()
    rationale: str = ""
    corrections: tuple[Correction, ...] = ()
    consistent: bool | None = None
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _unscored_has_a_reason(self) -> Self:
        if (self.status == "unscored") != (self.reason is not None):
            raise ValueError("an unscored verdict carries a reason, and no other verdict does")
        return self

    def swapped(self) -> Self:
        """The verdict that the same judge owes the pair with its candidates exchanged."""
        winner = SWAPPED[self.winner] if isinstance(self.winner, str) else self.winner
        return self.model_copy(
            update={
                "winner": winner,
                "scores": self.scores[::-1] if self.scores else None,
                "distribution": swap_distribution(self.distribution),
                "findings": tuple(finding.swapped() for finding in self.findings),
                "corrections": tuple(
                    fix.model_copy(update={"candidate": 1 - fix.candidate}) for fix in self.corrections
                ),
            }
        )


class Judged(Verdict):
    """A line of `verdicts.jsonl`: the verdict beside the human label, so that a run can be measured by itself."""

    label: Label | None = None
    votes: tuple[Label, ...] = ()
    group: str | None = None

    def swapped(self) -> Self:
        """The verdict and the label of the pair with its candidates exchanged."""
        verdict = super().swapped()
        label = self.label.swapped() if self.label else None
        return verdict.model_copy(update={"label": label, "votes": tuple(vote.swapped() for vote in self.votes)})

    @classmethod
    def of(cls, case: Case, verdict: Verdict) -> "Judged":
        fields = {name: getattr(verdict, name) for name in Verdict.model_fields}
        return cls(**fields, label=case.label, votes=case.votes, group=case.split_key)


def swap_distribution(distribution: dict[str, float] | None) -> dict[str, float] | None:
    """`{a: p, b: q, ...}` with a and b exchanged; other labels stay."""
    if distribution is None:
        return None
    exchanged = {"a": "b", "b": "a"}
    return {exchanged.get(label, label): p for label, p in distribution.items()}
