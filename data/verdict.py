"""A verdict: what a judge says of a case, how sure it is, and what it read to say so.

"No verdict" is a value of its own: an unscored verdict carries the reason and is counted, never taken as wrong or zero.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ..errors import UnscoredReason
from .case import SWAPPED, Case, Label, Letter, Record

Order = Literal["ab", "ba"]
OTHER: dict[Order, Order] = {"ab": "ba", "ba": "ab"}
Probability = Annotated[float, Field(ge=0, le=1)]


class Usage(Record):
    """What a judgment cost: completed calls, calls answered by the cache, tokens, money and model seconds."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    counted: int = Field(default=0, description="answers of the cache whose tokens are known")
    cached_tokens: int = Field(default=0, description="prompt and completion tokens of these")
    cost: float | None = Field(default=None, description="US dollars; None when no price is known")
    seconds: float = Field(default=0.0, description="summed over calls, so it can exceed the wall time")

    @property
    def tokens_asked(self) -> float | None:
        """Tokens of all answers, paid and cached: of unknown ones as many as the mean of the others; None when all are
        unknown."""
        asked, known = self.calls + self.cached, self.calls + self.counted
        total = self.prompt_tokens + self.completion_tokens + self.cached_tokens
        return total * asked / known if known else None if asked else 0.0

    def __add__(self, other: "Usage") -> "Usage":
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            calls=self.calls + other.calls,
            cached=self.cached + other.cached,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            counted=self.counted + other.counted,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=sum(costs) if costs else None,
            seconds=self.seconds + other.seconds,
        )


class Finding(Record):
    """One piece of evidence: a criterion judged in one order of the candidates.

    Scores, levels and distribution stand in the case's own order, whatever order was shown. `order` is None when each
    candidate was read alone. `levels` holds, for each candidate, the probabilities of the scale's levels, lowest first.
    `coverage` is the probability that the model gave to the offered options at all (None: the answer was written).
    `certainty` is what the model stated in words. A finding without scores and distribution is a factor of a guideline:
    its weight, whether the person's profile `added` it, and its weight by the data set's own explanation.
    """

    criterion: str
    guideline: str = ""
    weight: float = 1.0
    added: bool = False
    explained_weight: float | None = None
    member: str = Field(default="", description="which judge of a panel found it")
    order: Order | None = None
    scores: tuple[float, ...] | None = None
    levels: tuple[tuple[Probability, ...], ...] | None = None
    distribution: dict[str, Probability] | None = None
    coverage: Probability | None = None
    certainty: Probability | None = None
    explanation: str = ""

    @property
    def is_factor(self) -> bool:
        """A line of a guideline rather than a reading of the candidates."""
        return self.scores is None and self.distribution is None

    def swapped(self) -> "Finding":
        """The same evidence for the pair with its candidates exchanged."""
        return self.model_copy(
            update={
                "order": None if self.order is None else OTHER[self.order],
                "scores": self.scores[::-1] if self.scores else None,
                "levels": self.levels[::-1] if self.levels else None,
                "distribution": swap_distribution(self.distribution),
            }
        )


class Correction(Record):
    """A weak candidate rewritten: which one, the new text, and the criteria that it failed.

    `before` and `after` are the mean scores of the old and the new text, each judged alone by all criteria; None when
    the new text was not judged.
    """

    candidate: int
    text: str
    criteria: tuple[str, ...] = ()
    before: float | None = None
    after: float | None = None


class Verdict(Record):
    """What a judge says of one case.

    `winner` is a letter for a pair and an index for a choice; `scores` has one score per candidate on the judge's
    scale; `certainty` is the probability of the verdict as the judge sees it (not calibrated unless a head was
    fitted); `order_winners` names the winner by each order that was asked, taken alone, and `consistent` says whether
    the two are the same (None: one order asked). `notes` say what a reader must know of a scored verdict, such as what
    a cap on words cut away.
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
    notes: tuple[str, ...] = ()
    corrections: tuple[Correction, ...] = ()
    order_winners: dict[Order, Letter] = Field(default_factory=dict, description="in the case's own letters")
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
                "order_winners": {OTHER[order]: SWAPPED[value] for order, value in self.order_winners.items()},
                "findings": tuple(finding.swapped() for finding in self.findings),
                "corrections": tuple(
                    fix.model_copy(update={"candidate": 1 - fix.candidate}) for fix in self.corrections
                ),
            }
        )


class Judged(Verdict):
    """A line of `verdicts.jsonl`: the verdict beside the human label, so that a run can be measured by itself.

    `lengths` are the candidates' characters.
    """

    label: Label | None = None
    votes: tuple[Label, ...] = ()
    group: str | None = None
    aspect: str | None = None
    systems: tuple[str | None, ...] = ()
    lengths: tuple[int, ...] = ()

    def swapped(self) -> Self:
        """The verdict and the label of the pair with its candidates exchanged."""
        label = self.label.swapped() if self.label else None
        votes = tuple(vote.swapped() for vote in self.votes)
        turned = {"systems": self.systems[::-1], "lengths": self.lengths[::-1]}
        return super().swapped().model_copy(update={"label": label, "votes": votes, **turned})

    @property
    def human_winner(self) -> Letter | int | None:
        """The candidate that people prefer: the label's, or the one with the higher label score."""
        return self.label.winner if self.label else None

    @classmethod
    def of(cls, case: Case, verdict: Verdict) -> "Judged":
        fields = {name: getattr(verdict, name) for name in Verdict.model_fields}
        systems = tuple(candidate.system for candidate in case.candidates)
        return cls(
            **fields,
            label=case.label,
            votes=case.votes,
            group=case.split_key,
            aspect=case.aspect,
            systems=systems if any(systems) else (),
            lengths=tuple(len(candidate.text) for candidate in case.candidates),
        )


def swap_distribution(distribution: dict[str, float] | None) -> dict[str, float] | None:
    """`{a: p, b: q, ...}` with a and b exchanged; other labels stay."""
    if distribution is None:
        return None
    exchanged = {"a": "b", "b": "a"}
    return {exchanged.get(label, label): p for label, p in distribution.items()}
