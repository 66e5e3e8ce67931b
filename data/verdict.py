"""A verdict: a judge's answer for one case, its certainty, and the evidence behind it.

A judgment that failed is an unscored verdict with its reason. It is counted, and never taken as wrong or as zero.
Every verdict can be written to a file and read again: numbers are finite, and texts that a model wrote are encodable.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    PlainSerializer,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from ..errors import UnscoredReason
from .case import SWAPPED, Case, Label, Letter, Record, ScoreNumber, Scores, Winner
from .html import html_table

Order = Literal["ab", "ba"]
OTHER: dict[Order, Order] = {"ab": "ba", "ba": "ab"}
Probability = Annotated[float, Field(ge=0, le=1)]
MOST_SPENT = 1e12  # calls, tokens, dollars or seconds of one verdict: sums over many stay exact
Number = Annotated[float, Field(allow_inf_nan=False)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{0,64}$")]
BLANK = "no head yet: this verdict is a blank; dicast compile learns one from labels"  # a note of such a verdict
WHERE_SET = ("category", "categories", "by_head")  # fields that are written only where they say something
HALF = re.compile("[\ud800-\udfff]")


def encodable_text(text: Any) -> Any:
    """The text with U+FFFD for each half of a UTF-16 pair, as a model's JSON escapes leave it; no file can hold one."""
    return HALF.sub("\N{REPLACEMENT CHARACTER}", text) if isinstance(text, str) and not text.isascii() else text


# The serializer counts as well: a copy of a record is not validated.
ModelText = Annotated[str, BeforeValidator(encodable_text), PlainSerializer(encodable_text, return_type=str)]


class Usage(Record):
    """The cost of a judgment."""

    calls: int = Field(default=0, description="calls that a model answered")
    cached: int = Field(default=0, description="calls that the cache answered")
    prompt_tokens: int = Field(default=0, description="tokens read by the model")
    completion_tokens: int = Field(default=0, description="tokens written by the model")
    counted: int = Field(default=0, description="answers of the cache whose tokens are known")
    cached_tokens: int = Field(default=0, description="prompt and completion tokens of those answers")
    cost: Number | None = Field(default=None, description="US dollars; None when no price is known")
    seconds: Number = Field(default=0.0, description="summed over calls, so it can exceed the wall time")

    @property
    def total_tokens(self) -> float | None:
        """Tokens of all answers, paid and cached. An answer whose tokens are unknown counts as the mean of the others;
        None when all are unknown."""
        answers, known = self.calls + self.cached, self.calls + self.counted
        total = self.prompt_tokens + self.completion_tokens + self.cached_tokens
        return total * answers / known if known else None if answers else 0.0

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

    Scores, levels and distribution refer to the candidates in the case's order, whatever order the model saw. A finding
    without scores and distribution is a factor of a guideline.
    """

    criterion: ModelText = Field(description="what was judged")
    guideline: ModelText = Field(default="", description="how the criterion is judged, in words")
    weight: Number = Field(default=1.0, description="its weight in the verdict")
    added: bool = Field(default=False, description="the factor comes from the person's profile")
    explained_weight: Number | None = Field(
        default=None, description="the factor's weight by the data set's explanation"
    )
    member: ModelText = Field(default="", description="the judge of a panel that gave it")
    order: Order | None = Field(
        default=None, description="the order of presentation; None: each candidate was read by itself"
    )
    scores: tuple[ScoreNumber, ...] | None = Field(default=None, description="one score per candidate")
    levels: tuple[tuple[Probability, ...], ...] | None = Field(
        default=None, description="for each candidate the probabilities of the scale's levels, lowest first"
    )
    distribution: dict[str, Probability] | None = Field(default=None, description="winner or category -> probability")
    samples: Annotated[int, Field(ge=1)] = Field(
        default=1, description="how many answers were drawn, of which the distribution has the proportions"
    )
    mass_read: Probability | None = Field(
        default=None,
        validation_alias=AliasChoices("mass_read", "coverage"),  # its name in earlier files
        description="the probability that the model gave to the offered options; None: the answer was generated",
    )
    certainty: Probability | None = Field(default=None, description="the certainty that the model stated in words")
    explanation: ModelText = Field(default="", description="the model's reason")

    @property
    def is_factor(self) -> bool:
        """Whether it is a line of a guideline rather than a judgment of the candidates."""
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
    """A weak candidate rewritten."""

    candidate: int = Field(description="the candidate's index")
    text: ModelText = Field(description="the new text")
    criteria: tuple[ModelText, ...] = Field(default=(), description="the criteria that the candidate failed")
    before: Number | None = Field(
        default=None, description="mean score of the old text over all criteria; None: the new text was not judged"
    )
    after: Number | None = Field(default=None, description="mean score of the new text")


class Verdict(Record):
    """A judge's answer for one case."""

    case_id: str = Field(description="the id of the case")
    status: Literal["scored", "abstained", "unscored"] = Field(
        default="scored", description="abstained: the certainty is below the judge's threshold; unscored: it failed"
    )
    reason: UnscoredReason | None = Field(default=None, description="why it is unscored")
    detail: ModelText = Field(default="", description="for an unscored verdict: what happened")
    winner: Letter | int | None = Field(default=None, description="a letter for a pair, an index for a choice")
    category: str | None = Field(default=None, description="of a single text with categories: which of them it is")
    scores: tuple[ScoreNumber, ...] | None = Field(
        default=None, description="one score per candidate, on the judge's scale"
    )
    distribution: dict[str, Probability] | None = Field(default=None, description="winner or category -> probability")
    certainty: Probability | None = Field(
        default=None, description="the probability that the verdict is right; calibrated where a head is fitted"
    )
    findings: tuple[Finding, ...] = Field(default=(), description="the evidence")
    measured: dict[ModelText, tuple[ScoreNumber, ...]] = Field(
        default_factory=dict, description="further evidence by name, one number per candidate (docs/evidence.md)"
    )
    rationale: ModelText = Field(default="", description="the judge's reason in words")
    notes: tuple[ModelText, ...] = Field(
        default=(), description="what a reader must know of a scored verdict, such as what a cap on words cut away"
    )
    corrections: tuple[Correction, ...] = Field(default=(), description="weak candidates rewritten (Fennec)")
    order_winners: dict[Order, Letter] = Field(
        default_factory=dict, description="the winner by each order of presentation, in the case's letters"
    )
    consistent: bool | None = Field(
        default=None, description="whether both orders give the same winner; None: they were not both presented"
    )
    by_head: bool = Field(
        default=False,
        description="whether a head named winner and certainty; what each order said is then of the readings that the "
        "head weighed, not of this verdict",
    )
    usage: Usage = Field(default=Usage(), description="what the judgment cost")

    @model_validator(mode="after")
    def _unscored_has_a_reason(self) -> Self:
        if (self.status == "unscored") != (self.reason is not None):
            raise ValueError("an unscored verdict carries a reason, and no other verdict does")
        return self

    @property
    def answer(self) -> str | None:
        """The winner or the category, as text; None of a verdict that is a score, or unscored."""
        return self.category if self.winner is None else str(self.winner)

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; a verdict without a category is written as before there were any."""
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if value or name not in WHERE_SET}

    def _repr_html_(self) -> str:
        """The verdict as a table, for notebooks; all texts are escaped."""
        probabilities = ", ".join(f"{label} {p:.2f}" for label, p in (self.distribution or {}).items())
        values = {
            "status": self.status if self.reason is None else f"{self.status}: {self.reason} {self.detail}",
            "winner": self.winner,
            "category": self.category,
            "scores": ", ".join(f"{score:g}" for score in self.scores or ()),
            "probabilities": probabilities,
            "certainty": "" if self.certainty is None else f"{self.certainty:.2f}",
            "rationale": self.rationale,
            "notes": "\n".join(self.notes),
        }
        evidence = [
            (f"{finding.criterion} ({finding.order})" if finding.order else finding.criterion, finding.explanation)
            for finding in self.findings
        ]
        rows = [(name, value) for name, value in values.items() if value not in (None, "")]
        evidence += [(name, ", ".join(f"{number:.3g}" for number in row)) for name, row in self.measured.items()]
        return html_table(f"verdict of case {self.case_id}", (), [*rows, *evidence])

    def swapped(self) -> Self:
        """The verdict of the same judge on the pair with its candidates exchanged."""
        winner = SWAPPED[self.winner] if isinstance(self.winner, str) else self.winner
        return self.model_copy(
            update={
                "winner": winner,
                "scores": self.scores[::-1] if self.scores else None,
                "distribution": swap_distribution(self.distribution),
                "order_winners": {OTHER[order]: SWAPPED[value] for order, value in self.order_winners.items()},
                "findings": tuple(finding.swapped() for finding in self.findings),
                "measured": {name: values[::-1] for name, values in self.measured.items()},
                "corrections": tuple(
                    fix.model_copy(update={"candidate": 1 - fix.candidate}) for fix in self.corrections
                ),
            }
        )


class Judged(Verdict):
    """A line of `verdicts.jsonl`: the verdict with the human label, so that a run folder is enough to measure a run."""

    label: Label | None = Field(default=None, description="the case's human label")
    votes: tuple[Label, ...] = Field(default=(), description="the case's single annotators' labels")
    group: str | None = Field(default=None, description="the case's group")
    aspect: str | None = Field(default=None, description="the case's aspect")
    categories: tuple[str, ...] = Field(default=(), description="the case's categories; of two the second is positive")
    attributes: dict[str, ModelText] = Field(
        default_factory=dict, description="the case's attributes (subset, source, language, ...); empty values left out"
    )
    systems: tuple[ModelText | None, ...] = Field(
        default=(), description="the candidates' systems; empty: none is known"
    )
    options: Annotated[int, Field(ge=2, le=10**12)] | None = Field(
        default=None, description="how many candidates there were, where lengths and systems do not say it"
    )
    lengths: tuple[Annotated[int, Field(ge=0, le=10**12)], ...] = Field(
        default=(), description="the candidates' characters"
    )
    case_digest: Digest = Field(default="", description="of the case as it was read; empty in runs of earlier versions")
    text_digest: Digest = Field(
        default="",
        description="of the case's normalised texts (`case_text_digest`); empty in runs of earlier versions",
    )
    judge_digest: Digest = Field(
        default="", description="of judge, settings and models, as the run's manifest has them"
    )

    @model_validator(mode="after")
    def _names_candidates_that_exist(self) -> Self:
        values = self.label.values if isinstance(self.label, Scores) else ()
        count, first = 0, ""
        for name, items in (
            ("lengths", self.lengths), ("systems", self.systems), ("scores", self.scores), ("label", values),
            *((f"measured {name}", row) for name, row in self.measured.items()),
        ):  # fmt: skip
            if items and count and len(items) != count:
                raise ValueError(f"{name} for {len(items)} candidates, but {first} for {count}")
            if items and not count:
                count, first = len(items), name
        self._check_winner(self.winner, count)
        if self.category is not None and (self.winner is not None or count > 1):
            raise ValueError(f"category {self.category!r} is of a single text, but there is a winner, or two texts")
        for label in (self.label, *self.votes):
            if isinstance(label, Winner):
                self._check_winner(label.value, count)
        if self.order_winners:
            self._check_winner("a", count)
        for fix in self.corrections:
            if fix.candidate < 0 or fix.candidate >= (count or fix.candidate + 1):
                raise ValueError(f"a correction is of candidate {fix.candidate}, but there are {count}")
        return self

    @staticmethod
    def _check_winner(winner: Letter | int | None, count: int) -> None:
        """Raises ValueError for a winner that is none of so many candidates; 0: their number is not known."""
        if isinstance(winner, str):
            if count not in (0, 2) and (winner != "tie" or count < 2):
                raise ValueError(f"winner {winner!r} is for a pair, but there are {count} candidates")
        elif winner is not None and (winner < 0 or winner >= (count or winner + 1)):
            raise ValueError(f"winner {winner} is not the index of one of {count} candidates")

    @model_validator(mode="after")
    def _spent_what_can_be_summed(self) -> Self:
        spent = self.usage
        tokens = (spent.prompt_tokens, spent.completion_tokens, spent.cached_tokens)
        amounts = (spent.calls, spent.cached, spent.counted, *tokens, spent.seconds, spent.cost or 0)
        if max(amounts) > MOST_SPENT or min(amounts) < -MOST_SPENT:
            raise ValueError(f"the usage of one verdict is more than {MOST_SPENT:g}")
        return self

    def swapped(self) -> Self:
        """The verdict and the label of the pair with its candidates exchanged."""
        label = self.label.swapped() if self.label else None
        votes = tuple(vote.swapped() for vote in self.votes)
        swapped = {"systems": self.systems[::-1], "lengths": self.lengths[::-1], "case_digest": ""}
        return super().swapped().model_copy(update={"label": label, "votes": votes, **swapped})

    @property
    def group_name(self) -> str:
        """The group, else one of the case alone."""
        return self.group or own_group(self.case_id, self.aspect)

    @property
    def human_winner(self) -> Letter | int | None:
        """The candidate that the label prefers: its winner, or the candidate with the higher score."""
        return self.label.winner if self.label else None

    @property
    def human_answer(self) -> str | None:
        """The label's winner or category, as text; None of a score, or without a label."""
        return self.label.answer if self.label else None

    @classmethod
    def of(cls, case: Case, verdict: Verdict, **digests: str) -> "Judged":
        """The line of a case and its verdict; `digests` as in the fields, where it is a line of a run."""
        fields = {name: getattr(verdict, name) for name in Verdict.model_fields}
        systems = tuple(candidate.system for candidate in case.candidates)
        return cls(
            **fields,
            label=case.label,
            votes=case.votes,
            group=case.split_key,
            aspect=case.aspect,
            categories=case.categories,
            attributes=case.attributes,
            systems=systems if any(systems) else (),
            lengths=tuple(len(candidate.text) for candidate in case.candidates),
            **digests,
        )


def own_group(case_id: str, aspect: str | None) -> str:
    """The group of a case that names none: "id 17" of `17` and of `17#ASPECT`; no named group equals it."""
    return f"id {case_id.removesuffix(f'#{aspect}') if aspect else case_id}"


def swap_distribution(distribution: dict[str, float] | None) -> dict[str, float] | None:
    """`{a: p, b: q, ...}` with a and b exchanged; other labels stay."""
    if distribution is None:
        return None
    exchanged = {"a": "b", "b": "a"}
    return {exchanged.get(label, label): p for label, p in distribution.items()}
