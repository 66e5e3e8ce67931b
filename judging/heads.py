"""Heads: small statistical models, fitted to human labels, from a verdict's evidence to calibrated probabilities.

    pair     ordered logit with symmetric thresholds (Rao & Kupper 1967): margin m = w.x over odd features, threshold
             t = exp(v.z) over even ones, P(a) = s(m - t), P(b) = s(-m - t), the rest is a tie
    score    w.x on the human scale, with isotonic regression where that helped; of several aspects with an intercept or
             a model for each where that helped
    choice   softmax of w.x over the options (conditional logit, McFadden 1974)
    category the same over the categories, with a constant for each; the verdict is of the least expected cost (Elkan
             2001)

A head is applied after the judge and needs no call; one with blocks needs the vectors that the judge has read, and
first makes a number a candidate of them. The verdict of a swapped pair is the swapped verdict, bit for bit.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from ..data import Case, Verdict
from ..data.case import MOST_SCORE, Letter, Record
from ..errors import DeclarationError
from .aggregate import best
from .block_base import Vectors
from .blocks import Block, measured
from .calibration_features import category_features, impute, option_features, pair_features, text_features
from .probabilities import normalised

THRESHOLDS = (-8.0, 3.0)  # log t: at margin 0 between 0.017 % and all but 4e-9 are ties, and nothing overflows
Bounded = Annotated[float, Field(ge=-MOST_SCORE, le=MOST_SCORE)]  # so that sums of products stay floats


def _rising(knots: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    if any(x > later for (x, _), (later, _) in pairwise(knots)):
        raise ValueError("the knots' x must rise")
    return knots


# (x, y), x rising: linear between, constant beyond
Knots = Annotated[tuple[tuple[Bounded, Bounded], ...], AfterValidator(_rising)]


class _WeightedHead(Record):
    """The fields of every head."""

    model_config = ConfigDict(allow_inf_nan=False)  # beside those of Record

    fitted: str = Field(default="", description="the features, penalty and steps that cross-fitting chose")
    n: int = Field(default=0, description="labelled cases it was fitted to")
    weights: dict[str, Bounded] = Field(default={}, description="feature name -> weight, per unit of the feature")
    blocks: dict[str, Block] = Field(
        default={}, description="by name, what makes a feature of this name out of a source of evidence"
    )

    @model_serializer(mode="wrap")
    def _without_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; a head without aspects or blocks is written, and has the digest, as before there were any."""
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if value or name not in ("aspects", "blocks")}

    def describe(self) -> list[tuple[str, str]]:
        """What the head learned, as (name, text) pairs."""
        weights = sorted(self.weights.items(), key=lambda item: item[0])
        rows = [("head", f"{self.fitted}, of {self.n} labels"), *((name, f"{w:+.3g}") for name, w in weights)]
        return [*rows, *((f"evidence {name}", block.describe()) for name, block in sorted(self.blocks.items()))]


class PairHead(_WeightedHead):
    """A head for pairs: an ordered logit of the margin, with a tie threshold that depends on the case."""

    kind: Literal["pair"] = "pair"
    intercept: Bounded | None = Field(
        default=None, description="constant of the log tie threshold; None: no annotator ever labelled a tie"
    )
    threshold: dict[str, Bounded] = Field(default={}, description="weights of the log tie threshold, by even feature")
    typical: Bounded | None = Field(
        default=None, description="median log tie threshold of the cases it was fitted to; None: not known"
    )
    knots: Knots = Field(default=(), description="points of a piecewise linear map of the margin's absolute value")

    def __call__(self, case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None = None) -> Verdict:
        """The verdict with the calibrated winner, distribution and certainty; the most probable label wins, a tie
        where two are equally probable.

        Args:
            vectors: what was read of the case, (candidates, width) by source; a head without blocks needs none.
        """
        if not _applies("pair", case, verdict, case.is_pair):
            return verdict
        verdict = measured(self.blocks, case, verdict, vectors)
        features = pair_features(case, verdict)
        m = weighted_sum(self.weights, features.odd)
        if self.knots:
            m = math.copysign(interpolate(abs(m), self.knots), m)
        if self.intercept is None:
            a, b, tie = _logistic(m), _logistic(-m), 0.0
        else:
            t = _threshold(self.intercept + weighted_sum(self.threshold, features.even))
            a, b = _logistic(m - t), _logistic(-m - t)
            tie = max(0.0, 1 - (a + b))
        shares: dict[Letter, float] = {"a": a, "b": b, "tie": tie}
        winner: Letter = "tie" if a == b or tie >= max(a, b) else "a" if a > b else "b"
        fields = {"winner": winner, "distribution": shares, "certainty": shares[winner], "by_head": True}
        return verdict.model_copy(update=fields)

    def describe(self) -> list[tuple[str, str]]:
        rows = super().describe()
        if self.intercept is not None:
            rows.append(("ties", self._tie_text(self.intercept)))
            rows += [(f"ties by {name}", f"{v:+.3g}") for name, v in sorted(self.threshold.items())]
        return [*rows, *([("isotonic", f"{len(self.knots)} knots")] if self.knots else [])]

    def _tie_text(self, intercept: float) -> str:
        """The percentage of ties at margin 0: P(tie) = 1 - 2 s(-t) = tanh(t / 2).

        The intercept alone describes cases without other evidence of ties, which may not exist.
        """
        if not self.threshold:
            log_t, which = intercept, "cases at margin 0"
        elif self.typical is not None:
            log_t, which = self.typical, "typical cases at margin 0"
        else:
            log_t, which = intercept, "cases at margin 0 whose other evidence of ties is 0"
        return f"{100 * math.tanh(_threshold(log_t) / 2):.3g} % of {which}"


class AspectModel(Record):
    """The model of the texts of one aspect: linear, mapped by the knots and clipped to the human scale."""

    model_config = ConfigDict(allow_inf_nan=False)  # beside those of Record

    n: int = Field(default=0, description="labelled cases of the aspect")
    weights: dict[str, Bounded] = Field(default={}, description="feature name -> weight, per unit of the feature")
    intercept: Bounded = Field(description="constant of the linear model")
    knots: Knots = Field(default=(), description="points of a piecewise linear map of the score")
    lo: Bounded = Field(description="lowest score of the human scale")
    hi: Bounded = Field(description="highest score of the human scale")


class ScoreHead(_WeightedHead):
    """A head for single texts: a linear model of the score, one for all texts or one for each aspect.

    Where there are models of aspects, that of the head itself is for texts of an aspect that was not in training: their
    common weights, with the mean intercept.
    """

    kind: Literal["score"] = "score"
    intercept: Bounded = Field(description="constant of the linear model")
    knots: Knots = Field(default=(), description="points of a piecewise linear map of the score")
    lo: Bounded = Field(description="lowest score of the human scale")
    hi: Bounded = Field(description="highest score of the human scale")
    aspects: dict[str, AspectModel] = Field(
        default={}, description="the model of each aspect, empty name: of cases without; empty: one model for all"
    )

    def __call__(self, case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None = None) -> Verdict:
        """The verdict with the score on the human scale, without a certainty; an aspect that was not in training gets
        the common model, and a note.

        Raises:
            DeclarationError: an aspect that was not in training, where those of training are on several scales.
        """
        if not _applies("single text", case, verdict, len(case.candidates) == 1):
            return verdict
        verdict = measured(self.blocks, case, verdict, vectors)
        model, notes = self.model_of(case.aspect), verdict.notes
        if self.aspects and model is self:
            notes = (*notes, self._note(case))
        score = model.intercept + weighted_sum(model.weights, impute(text_features(case, verdict), model.weights))
        if model.knots:
            score = interpolate(score, model.knots)
        score = min(max(score, model.lo), model.hi)
        update = {"scores": (score,), "distribution": None, "certainty": None, "notes": notes}
        return verdict.model_copy(update=update)

    def model_of(self, aspect: str | None) -> "AspectModel | ScoreHead":
        """The model that scores texts of an aspect: of the aspect if it was in training, else the head's."""
        return self.aspects.get(aspect or "", self)

    def describe(self) -> list[tuple[str, str]]:
        rows = [*super().describe(), ("scale", f"{self.lo:g}..{self.hi:g}, from {self.intercept:.3g}")]
        rows += [("isotonic", f"{len(self.knots)} knots")] if self.knots else []
        return [*rows, *(row for name, model in sorted(self.aspects.items()) for row in _described(name, model))]

    def _note(self, case: Case) -> str:
        aspect = f"the aspect {case.aspect!r}" if case.aspect else "a case without an aspect"
        if len({(model.lo, model.hi) for model in self.aspects.values()}) > 1:
            names = ", ".join(filter(None, sorted(self.aspects)))
            raise DeclarationError(
                f"head of a single text: case {case.id!r} is of {aspect}, which was not in training, and the aspects "
                f"{names} are on several scales. Compile a judge with labels of this aspect."
            )
        return f"the head was not fitted to {aspect}; the common model of the other aspects scored it"


def _described(aspect: str, model: AspectModel) -> Iterator[tuple[str, str]]:
    weights = ", ".join(f"{name} {weight:+.3g}" for name, weight in sorted(model.weights.items()))
    words = f"{weights or 'no feature'}, from {model.intercept:.3g}, {model.lo:g}..{model.hi:g}, of {model.n} labels"
    yield f"aspect {aspect}" if aspect else "no aspect", words + (f", {len(model.knots)} knots" if model.knots else "")


class ChoiceHead(_WeightedHead):
    """A head for choices among three options or more: a conditional logit."""

    kind: Literal["choice"] = "choice"

    def __call__(self, case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None = None) -> Verdict:
        """The verdict with the calibrated winner, distribution and certainty; equally probable options tie."""
        if not _applies("choice", case, verdict, len(case.candidates) > 2):
            return verdict
        verdict = measured(self.blocks, case, verdict, vectors)
        features = option_features(case, verdict)
        utilities = [
            weighted_sum(self.weights, {name: values[index] for name, values in features.items()})
            for index in range(len(case.candidates))
        ]
        masses = [math.exp(utility - max(utilities)) for utility in utilities]
        shares = [mass / math.fsum(masses) for mass in masses]
        distribution = {str(index): share for index, share in enumerate(shares)}
        fields = {"winner": best(shares), "distribution": distribution, "certainty": max(shares), "by_head": True}
        return verdict.model_copy(update=fields)


class CategoryHead(_WeightedHead):
    """A head for texts with categories: a conditional logit over the categories, with a constant for each."""

    kind: Literal["category"] = "category"
    categories: tuple[str, ...] = Field(min_length=2, description="in the order of the cases' own")
    costs: dict[str, dict[str, Annotated[float, Field(ge=0, le=MOST_SCORE)]]] = Field(
        default={}, description="right category -> other category -> cost of saying it; errors not named cost 1"
    )

    def __call__(self, case: Case, verdict: Verdict, vectors: Mapping[str, Vectors] | None = None) -> Verdict:
        """The verdict with calibrated probabilities, and the category of the least expected cost; the first where
        several are equal. The certainty is the category's probability."""
        if not _applies("category", case, verdict, bool(case.categories) and self.knows(case)):
            return verdict
        case = case.model_copy(update={"categories": self.categories})
        verdict = measured(self.blocks, case, verdict, vectors)
        features = category_features(case, verdict)
        utilities = {
            name: weighted_sum(self.weights, {feature: values[place] for feature, values in features.items()})
            for place, name in enumerate(case.categories)
        }
        shares = normalised(utilities)
        said = self.decided(shares)
        fields = {"category": said, "distribution": shares, "certainty": min(shares[said], 1), "by_head": True}
        return verdict.model_copy(update=fields)

    def knows(self, case: Case) -> bool:
        """Whether the case's categories are among those of the head; a file may hold labels of some of them only."""
        return set(case.categories) <= set(self.categories)

    def decided(self, shares: Mapping[str, float]) -> str:
        """The category of the least expected cost."""
        expected = {
            said: math.fsum(p * self.cost(right, said) for right, p in shares.items() if right != said)
            for said in shares
        }
        return min(expected, key=lambda name: expected[name])

    def cost(self, right: str, said: str) -> float:
        """Of saying one category where another is right."""
        return self.costs.get(right, {}).get(said, 1.0)

    @property
    def cutoff(self) -> float | None:
        """The probability above which the positive of two categories is said; None of more categories."""
        if len(self.categories) != 2:
            return None
        negative, positive = self.categories
        passed, failed = self.cost(negative, positive), self.cost(positive, negative)
        return passed / (passed + failed) if passed + failed else None

    def describe(self) -> list[tuple[str, str]]:
        costs = [f"{right}:{said}={cost:g}" for right, row in self.costs.items() for said, cost in row.items()]
        rows = [("categories", ", ".join(self.categories)), *([("costs", ", ".join(costs))] if costs else [])]
        if self.cutoff is not None:
            rows.append((f"says {self.categories[1]}", f"from a probability of {self.cutoff:.3g} on"))
        return [*super().describe(), *rows]


Head = Annotated[PairHead | ScoreHead | ChoiceHead | CategoryHead, Field(discriminator="kind")]


def weighted_sum(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    """The sum of weight x feature, correctly rounded; a feature that the verdict lacks counts as 0."""
    return math.fsum(weight * features.get(name, 0.0) for name, weight in weights.items())


def _threshold(log_t: float) -> float:
    low, high = THRESHOLDS
    return math.exp(min(max(log_t, low), high))


def interpolate(x: float, knots: Sequence[tuple[float, float]]) -> float:
    """The value at x of the line through the knots, constant beyond the first and the last."""
    places, values = zip(*knots, strict=True)
    return float(np.interp(x, places, values))


def _applies(kind: str, case: Case, verdict: Verdict, fits: bool) -> bool:
    """Whether there is a judgment to calibrate.

    Raises:
        DeclarationError: the head is of another kind of case.
    """
    if not fits and (case.categories or kind == "category"):
        named = ", ".join(case.categories) or "no category"
        raise DeclarationError(
            f"head of a {kind}: case {case.id!r} is of {named}. Compile a judge with labels of these categories."
        )
    if not fits:
        raise DeclarationError(
            f"head of a {kind}: case {case.id!r} has {len(case.candidates)} candidates. "
            "Compile a judge for this kind of case."
        )
    return verdict.status == "scored"


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))
