"""PerSE: judging as one reviewer would, from that reviewer's history (Wang et al., arXiv 2310.03304).

`perse` writes the review that the reviewer would write of a text, and the score 1..10 from it; `perse-pairwise` says
which of two texts the reviewer prefers by an aspect. What of the history is shown is drawn by seed, and never holds the
texts to judge; each earlier review and choice is shown with its query (a story's premise) and its aspect, where it has
them. What a word limit removes is named in the verdict's notes.
"""

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from ..data import Case, Finding, Reviewer, Verdict
from ..data.profile_text import profile_text
from ..data.profiles import by_aspect, capped, count_words, history, without_comments
from ..data.rows import Scale, parse_scale
from ..data.task_descriptions import OVERALL, task
from ..data.verdict import Order
from ..engines.parallel import concurrently
from ..errors import DeclarationError
from ..judging.delimiters import constant
from ..judging.evidence import ScoreReading, rescaled, side_by_side
from ..judging.hparam import HParam
from ..judging.judge import Judge, aspect_text, fenced, in_case_order, orders, present, verdict_of
from ..judging.question import READOUTS, Answer, Question
from ..judging.reading_floor import min_mass_parameter
from ..judging.registry import register
from ..judging.stage import Stage
from ..signatures import perse as signatures

SOURCE = "PerSE, arXiv 2310.03304"
OWN = "own"
ASKED: Scale = (1, 10)  # the scale that the model is asked on
REVIEW_TOKENS = 600  # arXiv 2310.03304: the most that are generated
MOST_REVIEWS = 20


class FromHistory(Judge):
    """What the two share: the part of the reviewer's history that is shown.

    Args:
        k: reviews (or choices) shown, 0..20; the paper's 1..5.
        seed: draws them.
        shuffle: 0 keeps the history's order, any other number is the seed of another.
        max_words: of history, query and new text together; the longest texts of the history are cut at their end.
        aspects: "same" shows reviews and choices about the case's aspect, and those that name none; "all" shows those
            about other aspects too.
        task: where the aspects' meanings come from: "plot" has the paper's five, a YAML file of yours may have more.
    """

    scores_only = True

    def __init__(self, *, k: int, seed: int, shuffle: int, max_words: int, aspects: str, task: str) -> None:
        super().__init__()
        self.k = HParam(k, range(MOST_REVIEWS + 1), search=(1, 3, 5))  # the paper shows 1 to 5
        self.seed = HParam(seed)
        self.shuffle = HParam(shuffle)
        self.max_words = HParam(max_words, least=1)
        self.aspects = HParam(aspects, ("same", "all"), search=(), implied=True)
        self.task = HParam(task, implied=True)

    @property
    def reads_history(self) -> bool:
        return bool(self.k.value)

    def lacks(self, case: Case) -> str:
        if isinstance(case.profile, Reviewer) or not self.k.value:
            return ""
        return (
            f"judge {self.name!r}: case {case.id!r} has no reviewer. Give rows with `reviewer` and `reviews`, or "
            "--set k=0."
        )

    def known(self, case: Case) -> tuple[Reviewer, list[str]]:
        """What is shown of the reviewer of the case, and notes on what is not.

        Raises:
            ContextOverflow: the text to judge is longer than the cap.
        """
        reviewer = case.profile
        if not isinstance(reviewer, Reviewer):
            reviewer = Reviewer(id="nobody")
        if self.aspects.value == "same":
            reviewer = by_aspect(reviewer, case.aspect)
        texts = [candidate.text for candidate in case.candidates]
        drawn = history(reviewer, k=self.k.value, seed=self.seed.value, shuffle=self.shuffle.value, unseen=texts)
        shown = self.shown(drawn)
        known = len(shown.comparisons) or len(shown.reviews)
        few = [f"profile: {known} of {self.k.value} wanted are known"] if known < self.k.value else []
        words = self.words_to_judge(texts) + count_words(case.query)
        capped_reviewer, cuts = capped(shown, words=int(self.max_words.value) - words)
        return self._with_meanings(capped_reviewer), [*few, *cuts]

    def aspect(self, case: Case) -> str:
        """The aspect of the case as the task describes it."""
        return aspect_text(task(self.task.value), case.aspect)

    def _with_meanings(self, reviewer: Reviewer) -> Reviewer:
        """The history with its aspects as the task describes them."""
        described = task(self.task.value)

        def meaning(aspect: str | None) -> dict[str, str | None]:
            return {"aspect": None if aspect is None else described.describe(aspect)}

        reviews = tuple(past.model_copy(update=meaning(past.aspect)) for past in reviewer.reviews)
        comparisons = tuple(past.model_copy(update=meaning(past.aspect)) for past in reviewer.comparisons)
        return reviewer.model_copy(update={"reviews": reviews, "comparisons": comparisons})

    def shown(self, reviewer: Reviewer) -> Reviewer:
        """The part of the history that this judge reads."""
        raise NotImplementedError

    def words_to_judge(self, texts: list[str]) -> int:
        """How many words of the cap the new texts of one question take."""
        return max(map(count_words, texts))


@register(
    "perse",
    summary="the review that one reviewer would write, then the score 1..10",
    source=SOURCE,
    inputs="single texts, pairs; a reviewer's reviews",
    calls="1 a text",
)
class Perse(FromHistory):
    """Writes the reviewer's review of each text, then the score 1..10, on the reviewer's own scale.

    Calls: one a text; with the probability readout two, the review and one token.

    Args:
        k, seed, shuffle, max_words, aspects, task: see `FromHistory`.
        comments: show what the reviewer wrote, or the scores alone.
        comment_first: write the review before the score, as the paper does; off asks for the score at once.
        length: of the review: "history" asks for the median number of words of the reviews shown, "free" says nothing.
        readout: "generate" or "probability", for the score.
        scale: of the verdict's scores: "own" (the reviewer's) or LO..HI, moved linearly.
        tie_threshold: score differences of at most this many points are ties.
    """

    name = "perse"

    def __init__(
        self,
        *,
        k: int = 3,
        seed: int = 0,
        shuffle: int = 0,
        max_words: int = 2500,
        comments: bool = True,
        comment_first: bool = True,
        length: str = "history",
        readout: str = "generate",
        scale: str = OWN,
        tie_threshold: float = 0.0,
        aspects: str = "same",
        task: str = "plot",
    ) -> None:
        super().__init__(k=k, seed=seed, shuffle=shuffle, max_words=max_words, aspects=aspects, task=task)
        self.comments = HParam(comments, (True, False))
        self.comment_first = HParam(comment_first, (True, False))
        self.length = HParam(length, ("history", "free"), search=(), implied=True)
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.scale = HParam(scale)
        self.tie_threshold = HParam(tie_threshold, least=0.0)
        self.review_and_score = Stage(signatures.ReviewAndScore, "judgment", max_tokens=REVIEW_TOKENS)
        self.write_review = Stage(signatures.WriteReview, "review", max_tokens=REVIEW_TOKENS)
        self.score = Question(signatures.ScoreAs, "judgment", max_tokens=16)

    def set(self, **values: Any) -> Self:
        super().set(**values)
        self._scale(ASKED)  # a scale that cannot be read is refused now rather than at the first case
        return self

    def assess(self, case: Case) -> Verdict:
        reviewer, notes = self.known(case)
        scale = self._scale(reviewer.scale)
        shown = present(case)
        inputs = {
            "history": fenced(profile_text(_on_scale(reviewer, ASKED))),
            "query": shown.request,
            "aspect": self.aspect(case) if case.aspect else "",
        }
        length = _length(reviewer) if self.length.value == "history" else ""
        readings = concurrently(lambda text: self._read(inputs | {"text": text}, length, scale), shown.responses)
        finding = side_by_side("as the reviewer would", readings)
        return verdict_of(case, [finding], notes=notes, tie_threshold=self.tie_threshold.value)

    def shown(self, reviewer: Reviewer) -> Reviewer:
        of_texts = reviewer.model_copy(update={"comparisons": ()})
        return of_texts if self.comments.value else without_comments(of_texts)

    def _read(self, inputs: Mapping[str, str], length: str, scale: Scale) -> ScoreReading:
        if self.readout.value == "generate" and self.comment_first.value:
            answer = self.review_and_score(**inputs, length=length)
            return ScoreReading(rescaled(answer.score, ASKED, scale), explanation=answer.review.strip())
        review = self.write_review(**inputs, length=length).review.strip() if self.comment_first.value else ""
        scored: Answer = self.score(readout=self.readout.value, **inputs, review=fenced(review))
        reading = scored.reading("score", review)
        return replace(reading, score=rescaled(reading.score, ASKED, scale))

    def _scale(self, reviewer_scale: Scale) -> Scale:
        try:
            return reviewer_scale if self.scale.value == OWN else parse_scale(self.scale.value)
        except ValueError as error:
            raise DeclarationError(f"judge 'perse', scale: {error}, or 'own'.") from None


@register(
    "perse-pairwise",
    summary="which of two texts one reviewer prefers, by an aspect",
    source=SOURCE,
    inputs="pairs; a reviewer's choices",
    calls="2",
)
class PersePairwise(FromHistory):
    """Says which of two texts the reviewer prefers by the aspect of the case; one program for all aspects.

    Calls: one an order.

    Args:
        k, seed, shuffle, max_words, aspects, task: see `FromHistory`; the paper shows one earlier choice by the same
            aspect.
        readout: "generate" or "probability".
        order: "one" or "both".
    """

    name = "perse-pairwise"

    def __init__(
        self,
        *,
        k: int = 1,
        seed: int = 0,
        shuffle: int = 0,
        max_words: int = 2500,
        readout: str = "generate",
        order: str = "both",
        aspects: str = "same",
        task: str = "plot",
    ) -> None:
        super().__init__(k=k, seed=seed, shuffle=shuffle, max_words=max_words, aspects=aspects, task=task)
        self.readout = HParam(readout, READOUTS)
        self.min_mass = min_mass_parameter()
        self.order = HParam(order, ("one", "both"))
        self.task = HParam(task)
        self.prefer = Question(signatures.PreferAs, "judgment", max_tokens=16)

    @property
    def pairs_only(self) -> bool:
        return True

    def assess(self, case: Case) -> Verdict:
        reviewer, notes = self.known(case)
        history_text = fenced(profile_text(reviewer))
        findings = concurrently(lambda order: self._compare(case, history_text, order), orders(self.order.value))
        return verdict_of(case, findings, notes=notes)

    def shown(self, reviewer: Reviewer) -> Reviewer:
        return reviewer.model_copy(update={"reviews": ()})

    def words_to_judge(self, texts: list[str]) -> int:
        return sum(map(count_words, texts))

    def _compare(self, case: Case, history_text: str, order: Order) -> Finding:
        shown = present(case, order)
        answer = self.prefer(
            readout=self.readout.value,
            history=history_text,
            query=shown.request,
            aspect=self.aspect(case),
            text_a=shown.responses[0],
            text_b=shown.responses[1],
        )
        finding = Finding(
            criterion=case.aspect or OVERALL, distribution=answer.preference("preferred"), mass_read=answer.mass_read
        )
        return in_case_order(finding, order)


def _length(reviewer: Reviewer) -> str:
    """The length of a review by this reviewer, in words; empty where none is known."""
    words = [count_words(review.comment) for review in reviewer.reviews if review.comment.strip()]
    return constant(f"about {statistics.median_high(words)} words, as the earlier reviews have") if words else ""


def _on_scale(reviewer: Reviewer, scale: Scale) -> Reviewer:
    """The history with its scores on another scale, to one decimal."""
    if reviewer.scale == scale:
        return reviewer
    reviews = tuple(
        review.model_copy(update={"score": round(rescaled(review.score, reviewer.scale, scale), 1)})
        for review in reviewer.reviews
    )
    return reviewer.model_copy(update={"reviews": reviews, "scale": scale})
