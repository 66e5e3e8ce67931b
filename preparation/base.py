"""A preparation: a `dspy.Module` from a Case to the Case that is judged in its place.

Texts are those of the candidates and of the reviewer's history; comments go with their text. Equal texts of a case
become equal texts, so that a text to judge is still found in the history. The reviewer's own review of
a single text (`meta["review"]`) is a comment on that text, and so is the query or premise that a text answers; what a
pair answers is a comment on the first text, and then on the second.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, ClassVar

from ..data import Case, Comparison, Review, Reviewer
from ..judging.hparam import HParam
from ..judging.module_base import StagedModule


class Preparation(StagedModule):
    """Base of all preparations. A subclass builds its stages in `__init__` and returns the new case from `prepare`."""

    kind: ClassVar[str] = "preparation"

    def forward(self, case: Case) -> Case:
        """The prepared case; its calls are charged to the context's ledger.

        Raises:
            ExecutionError: the model gave nothing that can be used, or the budget is used up.
            DeclarationError: a model cannot be used at all.
        """
        return self.prepare(case)

    async def aforward(self, case: Case) -> Case:
        """A call in a thread."""
        return await asyncio.to_thread(self, case)

    def prepare(self, case: Case) -> Case:
        """The prepared case."""
        raise NotImplementedError


class Chain(Preparation):
    """Preparations one after the other; no two have a parameter of the same name."""

    def __init__(self, steps: Sequence[Any]) -> None:
        super().__init__()
        self.steps = list(steps)
        self.name = ",".join(step.name for step in steps)

    def prepare(self, case: Case) -> Case:
        for step in self.steps:
            case = step(case)
        return case

    def hparams(self) -> dict[str, HParam]:
        return {name: hparam for step in self.steps for name, hparam in step.hparams().items()}


def texts_of(case: Case) -> dict[str, list[str]]:
    """Every different text of the case, each with the comments on it."""
    texts: dict[str, list[str]] = {}
    for said, comments in _said(case):
        for text in said:
            texts.setdefault(text, []).extend(comments)
    return texts


def _said(case: Case) -> Iterator[tuple[list[str], list[str]]]:
    """Texts that are judged together, or were, and the comments on all of them."""
    comments = [*filter(None, (_own_review(case), case.query))]
    yield [candidate.text for candidate in case.candidates], comments
    if isinstance(case.profile, Reviewer):
        for review in case.profile.reviews:
            yield [review.text], [review.comment, *filter(None, (review.query,))]
        for comparison in case.profile.comparisons:
            yield [comparison.response_a, comparison.response_b], [*filter(None, (comparison.query,))]


def rewritten(
    case: Case,
    text: Callable[[str], str],
    comment: Callable[[str, str], str] = lambda _, comment: comment,
    **meta: Any,
) -> Case:
    """The case with each text, and each comment, replaced by what the functions give; `meta` is added.

    Args:
        text: an old text -> the new one.
        comment: an old text and a comment on it -> the new comment.
    """

    def names_replaced(query: str | None, *texts: str) -> str | None:
        return reduce(lambda said, of: comment(of, said), texts, query) if query else query

    def review_of(old: Review) -> Review:
        said = {"comment": comment(old.text, old.comment), "query": names_replaced(old.query, old.text)}
        return old.model_copy(update={"text": text(old.text), **said})

    def comparison_of(old: Comparison) -> Comparison:
        first, second = old.response_a, old.response_b
        said = {"query": names_replaced(old.query, first, second)}
        return old.model_copy(update={"response_a": text(first), "response_b": text(second), **said})

    candidates = tuple(candidate.model_copy(update={"text": text(candidate.text)}) for candidate in case.candidates)
    query = names_replaced(case.query, *(candidate.text for candidate in case.candidates))
    profile = case.profile
    if isinstance(profile, Reviewer):
        reviews, comparisons = map(review_of, profile.reviews), map(comparison_of, profile.comparisons)
        profile = profile.model_copy(update={"reviews": tuple(reviews), "comparisons": tuple(comparisons)})
    if written := _own_review(case):
        meta = {"review": comment(case.candidates[0].text, written)} | meta
    return case.model_copy(
        update={"query": query, "candidates": candidates, "profile": profile, "meta": case.meta | meta}
    )


def _own_review(case: Case) -> str:
    """What the reviewer of a single text wrote about it; generated reviews are measured against it."""
    review = case.meta.get("review")
    return review if isinstance(review, str) and len(case.candidates) == 1 else ""
