"""A case: texts to judge for somebody, with the human label when there is one.

One record serves all five systems: pairs (Fennec), persona pairs (Personalized Judge), choices with a
preference (PREF), a reviewer's history (PerSE) and single texts with aspect scores (reference-free).
Records are frozen; `Case.swapped()` is the one way to exchange the two candidates of a pair.
"""

from collections import Counter
from hashlib import blake2b
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    model_serializer,
    model_validator,
)

from .attributes import attributes_of

Letter = Literal["a", "b", "tie"]
CaseKind = Literal["pairs", "texts", "choices", "categories"]


def encodable(text: str) -> str:
    """The text, refused when no server could receive it (half of a UTF-16 pair, as cut-off JSON escapes leave it)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start} is half of a UTF-16 pair; repair the text") from None
    return text


Text = Annotated[str, AfterValidator(encodable)]
NonEmpty = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), AfterValidator(encodable)]

MOST_SCORE = 1e50  # of a score or an end of a scale: squares and sums over many cases stay floats
ScoreNumber = Annotated[float, Field(ge=-MOST_SCORE, le=MOST_SCORE)]

SWAPPED: dict[Letter, Letter] = {"a": "b", "b": "a", "tie": "tie"}


def _check_scale(lo: float, hi: float) -> None:
    if max(abs(lo), abs(hi)) > MOST_SCORE:
        raise ValueError(f"the scale {lo:g}..{hi:g} goes beyond {MOST_SCORE:g}; give a shorter one")


def digest(text: str) -> str:
    """A short stable fingerprint of a text, 16 hex digits."""
    return blake2b(text.encode(), digest_size=8).hexdigest()


class Record(BaseModel):
    """A frozen record that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Candidate(Record):
    """One text to judge; it may be empty (a model can answer nothing)."""

    text: Text = Field(description="the text itself")
    system: Text | None = Field(default=None, description="the model or author that wrote it; never shown to a judge")


class Turn(Record):
    """One turn of a conversation: before the query, or of an earlier conversation."""

    role: Literal["system", "user", "assistant"] = Field(description="who speaks")
    text: Text = Field(description="what the role says")


class Preference(Record):
    """What one person said they like or avoid (PREF)."""

    kind: Literal["preference"] = "preference"
    text: NonEmpty = Field(description="the preference in the person's words")


class EarlierConversation(Record):
    """What one person and an assistant said earlier, from which the person's preference can be inferred (PrefEval)."""

    kind: Literal["earlier_conversation"] = "earlier_conversation"
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, description="what was said, in order")]

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not any(turn.text.strip() for turn in self.turns):
            raise ValueError("no turn of the conversation says anything")
        return self


class Persona(Record):
    """Who one person is: named features (age, education, ...) and free text (arXiv 2406.11657)."""

    kind: Literal["persona"] = "persona"
    features: dict[Text, Text] = Field(default_factory=dict, description="feature name -> value, as in age: 25-34")
    text: Text = Field(default="", description="the person described in free text")


class Review(Record):
    """One text that a reviewer wrote about and scored."""

    text: Text = Field(description="the text that was reviewed")
    comment: Text = Field(default="", description="the review itself; may be empty")
    score: float = Field(description="on the reviewer's scale")
    query: Text | None = Field(default=None, description="the request or premise that the text answers")
    aspect: Text | None = Field(default=None, description="what the score is about; None: overall")


class Comparison(Record):
    """One earlier choice of a reviewer between two texts."""

    response_a: Text = Field(description="the first text")
    response_b: Text = Field(description="the second text")
    label: Letter = Field(description="the text that the reviewer preferred")
    query: Text | None = Field(default=None, description="the request or premise that both texts answer")
    aspect: Text | None = Field(default=None, description="what the choice is about; None: overall")


class Reviewer(Record):
    """A reviewer's history: reviews, or earlier comparisons (PerSE)."""

    kind: Literal["reviewer"] = "reviewer"
    id: NonEmpty = Field(description="names the reviewer; equal ids are one person")
    reviews: tuple[Review, ...] = Field(default=(), description="texts they reviewed and scored")
    comparisons: tuple[Comparison, ...] = Field(default=(), description="pairs of texts they chose between")
    scale: tuple[float, float] = Field(default=(1, 10), description="lowest and highest score of their reviews")

    @model_validator(mode="after")
    def _scores_on_the_scale(self) -> Self:
        lo, hi = self.scale
        outside = [review.score for review in self.reviews if not lo <= review.score <= hi]
        if outside:
            raise ValueError(f"a review's score {outside[0]:g} is not on the scale {lo:g}..{hi:g}")
        _check_scale(lo, hi)
        return self


Profile = Annotated[Preference | EarlierConversation | Persona | Reviewer, Field(discriminator="kind")]


class Winner(Record):
    """Which candidate won: a letter for a pair, an index from 0 for a choice among more."""

    value: Letter | int = Field(description="a letter for a pair, an index from 0 for a choice among more")
    certainty: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="the annotator's stated certainty"
    )

    @property
    def winner(self) -> Letter | int:
        return self.value

    @property
    def answer(self) -> str:
        """The winner as text."""
        return str(self.value)

    def swapped(self) -> "Winner":
        return self if isinstance(self.value, int) else self.model_copy(update={"value": SWAPPED[self.value]})


class Scores(Record):
    """One score per candidate, on the scale lo..hi."""

    values: tuple[float, ...] = Field(description="one score per candidate, in the candidates' order")
    lo: float = Field(description="lowest score of the scale")
    hi: float = Field(description="highest score of the scale")

    @model_validator(mode="after")
    def _on_the_scale(self) -> Self:
        if not self.lo < self.hi:
            raise ValueError(f"lo must be below hi, got lo={self.lo:g}, hi={self.hi:g}")
        outside = [value for value in self.values if not self.lo <= value <= self.hi]
        if outside:
            raise ValueError(f"score {outside[0]:g} is not on the scale {self.lo:g}..{self.hi:g}")
        _check_scale(self.lo, self.hi)
        if not self.values:
            raise ValueError("there is no score; give one per candidate")
        return self

    @property
    def winner(self) -> Letter | None:
        """The candidate with the higher score, of a pair; None for any other number of candidates."""
        if len(self.values) != 2:
            return None
        first, second = self.values
        return "a" if first > second else "b" if second > first else "tie"

    @property
    def answer(self) -> str | None:
        """The winner as text, as `winner`."""
        return self.winner

    def swapped(self) -> "Scores":
        return self.model_copy(update={"values": self.values[::-1]})


class Category(Record):
    """Which of several categories a text belongs to, as in pass or fail."""

    category: NonEmpty = Field(description="one of the case's categories")
    certainty: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="the annotator's stated certainty"
    )

    @property
    def winner(self) -> None:
        """No candidate wins: there is one."""

    @property
    def answer(self) -> str:
        """The category."""
        return self.category

    def swapped(self) -> "Category":
        return self


Label = Winner | Scores | Category


class Case(Record):
    """Texts to judge for somebody.

    Raises:
        pydantic.ValidationError: a label that does not fit the candidates (letters are for pairs, an index must
            name a candidate, one score per candidate) or the categories, or no candidate.
    """

    id: NonEmpty = Field(description="unique in its file or set")
    query: Text = Field(description="the request that the candidates answer; may be empty")
    history: tuple[Turn, ...] = Field(default=(), description="the turns before the query, in a conversation")
    candidates: Annotated[tuple[Candidate, ...], Field(min_length=1, description="the texts to judge")]
    references: tuple[NonEmpty, ...] = Field(
        default=(), description="right answers that people wrote; metrics and judges of categories read them"
    )
    context: Text = Field(default="", description="what the answer must rest on, as a retrieved document; may be empty")
    categories: tuple[NonEmpty, ...] = Field(
        default=(), description="what a single text may be labelled with; of two the second is the positive one"
    )
    profile: Profile | None = Field(default=None, description="the person for whom the case is judged")
    aspect: Text | None = Field(default=None, description='what the label is about, as in "coherence"; None: overall')
    label: Label | None = Field(default=None, description="the human label; judges never see it")
    votes: tuple[Label, ...] = Field(default=(), description="single annotators' labels, in no order")
    group: Text | None = Field(default=None, description="a person or prompt: a split never divides a group")
    meta: dict[str, Any] = Field(default_factory=dict, description="other columns; judges never see them")

    @model_validator(mode="after")
    def _labels_fit_the_candidates(self) -> Self:
        count = len(self.candidates)
        if self.categories:
            self._check_categories(count)
        for label in (*((self.label,) if self.label else ()), *self.votes):
            if isinstance(label, Category) or self.categories:
                if label.answer not in self.categories or not isinstance(label, Category):
                    named = ", ".join(self.categories) or "none"
                    raise ValueError(f"label {label.answer!r} is none of the categories ({named})")
            elif isinstance(label, Scores):
                if len(label.values) != count:
                    raise ValueError(f"{len(label.values)} scores for {count} candidates")
            elif isinstance(label.value, int):
                if count < 3 or not 0 <= label.value < count:
                    raise ValueError(f"label {label.value} does not name one of {count} candidates by index")
            elif count != 2:
                raise ValueError(f"label {label.value!r} is for a pair, but there are {count} candidates")
        return self

    def _check_categories(self, count: int) -> None:
        if count != 1:
            raise ValueError(f"categories are for a single text, but there are {count} candidates")
        if len(set(self.categories)) != len(self.categories) or len(self.categories) < 2:
            raise ValueError(f"categories are {', '.join(self.categories)}; give two or more, each once")

    @model_serializer(mode="wrap")
    def _without_what_is_empty(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """The fields; without references, context or categories as before there were any, and with the same digest."""
        values: dict[str, Any] = serialize(self)
        for name in ("references", "context", "categories"):
            if not getattr(self, name):
                values.pop(name, None)
        return values

    @property
    def is_pair(self) -> bool:
        return len(self.candidates) == 2

    @property
    def kind(self) -> CaseKind:
        """What a label of the case says: which of two is better, a score, which of several, or a category."""
        if self.categories:
            return "categories"
        return "pairs" if self.is_pair else "texts" if len(self.candidates) == 1 else "choices"

    @property
    def split_key(self) -> str:
        """What must not straddle a split: the group, else a digest of the conversation, else of the texts to judge."""
        if self.group is not None:
            return self.group
        conversation = [*(turn.text for turn in self.history), self.query]
        return digest("\n".join(conversation if any(conversation) else sorted(text.text for text in self.candidates)))

    @property
    def attributes(self) -> dict[str, str]:
        """The short values of `meta`, as texts: subset, source, domain, language, ...; figures are given by them."""
        return attributes_of(self.meta)

    @property
    def digest(self) -> str:
        """16 hex digits of the case as it was read; `meta` does not count, as no judge sees it."""
        return digest(self.model_dump_json(exclude={"meta"}, exclude_none=True))

    def swapped(self) -> "Case":
        """The same pair with the candidates exchanged, labels and votes included.

        Raises:
            ValueError: the case is not a pair.
        """
        if not self.is_pair:
            raise ValueError(f"case {self.id!r} has {len(self.candidates)} candidates; only a pair can be swapped")
        return self.model_copy(
            update={
                "candidates": self.candidates[::-1],
                "label": self.label.swapped() if self.label else None,
                "votes": tuple(vote.swapped() for vote in self.votes),
            }
        )

    def soft_label(self) -> dict[str, float] | None:
        """The proportion of annotators for each winner or category; without votes that of the label, None without
        either.

        Example:
            >>> votes = [Winner(value=v) for v in ("a", "a", "tie")]
            >>> Case(id="1", query="q", candidates=[{"text": "x"}, {"text": "y"}], votes=votes).soft_label()
            {'a': 0.6666666666666666, 'tie': 0.3333333333333333}
        """
        answers = [vote.answer for vote in self.votes if not isinstance(vote, Scores)]
        if not answers and self.label is not None and not isinstance(self.label, Scores):
            answers = [self.label.answer]
        return {answer: n / len(answers) for answer, n in Counter(answers).items()} if answers else None
