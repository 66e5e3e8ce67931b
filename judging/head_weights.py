"""The weights of a head, each with what its feature says and what the weight does, the largest first."""

from collections.abc import Mapping

from pydantic import Field

from ..data.case import Record
from .feature_words import HeadKind, feature_words, tie_words, weight_words
from .heads import Head, PairHead


class HeadWeight(Record):
    """One weight, in words."""

    name: str = Field(description="of the feature; of the evidence for ties 'ties by' and the feature")
    weight: float = Field(description="per unit of the feature")
    words: str = Field(description="what the feature says")
    effect: str = Field(description="what the weight does to the odds, the score or the ties")
    of_ties: bool = Field(default=False, description="whether it moves the threshold of ties")


def head_weights(head: Head) -> tuple[HeadWeight, ...]:
    """The weights by their size, then those of the evidence for ties."""
    kind: HeadKind = head.kind
    weights = [
        HeadWeight(name=name, weight=weight, words=feature_words(name, kind), effect=weight_words(name, weight, kind))
        for name, weight in _by_size(head.weights)
    ]
    ties = [
        HeadWeight(
            name=f"ties by {name}",
            weight=weight,
            words=feature_words(name, kind),
            effect=tie_words(weight),
            of_ties=True,
        )
        for name, weight in _by_size(head.threshold if isinstance(head, PairHead) else {})
    ]
    return (*weights, *ties)


def odds_note(head: Head) -> str:
    """What the odds of the effects are; "" of a head of scores, which has none."""
    if head.kind == "score":
        return ""
    if head.kind == "pair":
        return "Odds are those of A against B: 9 to 1 is a certainty of 90 %."
    return "Odds are those of one answer against another: 9 to 1 is 90 % against 10 %."


def _by_size(weights: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))
