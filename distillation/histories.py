"""PerSE's instruction data: what a reviewer said of new texts, from their history (arXiv 2310.03304, section 4).

`preparation.histories` builds the cases: reviewers 9 : 1, prior pool and queries without common texts, k reviews drawn.
Here each case becomes the rows that teach a student the reviewer's review and score of a text, or choice between two.

    with comments     the history has its reviews, and the review is learnt before the score
    without comments  the history has scores alone, and the score is learnt, as one token
    choices           of a pair one token is learnt, in both orders
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data import Case, Reviewer, Scores
from ..judging.evidence import rescaled
from ..judging.judge import Judge
from ..preparation.histories import Histories
from ..programs.perse import ASKED, Perse, PersePairwise
from .questions import calls_of
from .row import ChatMessage, TrainingRow
from .soft_targets import human_targets

SOURCE = "histories"


@dataclass(frozen=True)
class HistoryRows:
    """The rows of reviewers' histories.

    Attributes:
        rows: in the order of the cases.
        validation_groups: the reviewers that no training row is of, for `training_set.build`.
        counts: what was left out and why, for the data card.
    """

    rows: tuple[TrainingRow, ...]
    validation_groups: frozenset[str]
    counts: Mapping[str, int]


def history_rows(
    cases: Sequence[Case],
    *,
    k: int | str = "auto",
    comments: bool = True,
    aspect: str | None = None,
    validation: float = 0.1,
    seed: int = 0,
    **settings: int | float | str,
) -> HistoryRows:
    """The rows of flat reviews or choices, one a row (reviewer, text, review, score; or response_a, response_b, label).

    Args:
        k: reviews or choices in each history; auto is 3 or 1.
        comments: learn the review too, from a history with reviews. Texts without a review teach the score alone.
        aspect: only the queries of this aspect, for one student an aspect; None: one student of all aspects.
        validation: the proportion of reviewers that are held out.
        seed: of split, prior pool and histories.
        settings: further parameters of the preparation `histories`.

    Raises:
        DataError: no case can be built.
    """
    built = Histories(k=k, validation=validation, **settings).build(cases, seed=seed)  # type: ignore[arg-type]
    chosen = [case for case in built.cases if aspect is None or case.aspect == aspect]
    held_out = {case.split_key for case in chosen if case.meta.get("split") == "validation"}
    rows = tuple(row for case in chosen for row in rows_of_case(case, comments=comments))
    return HistoryRows(rows, frozenset(held_out), dict(built.left_out))


def rows_of_case(case: Case, *, comments: bool = True) -> Iterator[TrainingRow]:
    """The rows of a case whose profile is a reviewer with a history.

    Raises:
        DeclarationError: the case has no reviewer.
    """
    profile = case.profile
    known = max(len(profile.reviews), len(profile.comparisons)) if isinstance(profile, Reviewer) else 0
    if case.is_pair:
        yield from _token_rows(PersePairwise(k=known, readout="probability"), case)
    elif comments and str(case.meta.get("review", "")).strip():
        yield from _review_rows(Perse(k=known), case)
    else:
        yield from _token_rows(Perse(k=known, comments=comments, comment_first=False, readout="probability"), case)


def _token_rows(judge: Judge, case: Case) -> Iterator[TrainingRow]:
    """Rows of what the reviewer chose, or scored, as one token."""
    for trace in calls_of(judge, case):
        if (targets := human_targets(trace)) is not None:
            yield trace.row(targets, source=SOURCE)


def _review_rows(judge: Judge, case: Case) -> Iterator[TrainingRow]:
    """The row of the review that the reviewer wrote, and the score."""
    label = case.label
    if not isinstance(label, Scores):
        return
    score = round(rescaled(label.values[0], (label.lo, label.hi), (float(ASKED[0]), float(ASKED[1]))))
    said = json.dumps({"review": str(case.meta["review"]).strip(), "score": score}, ensure_ascii=False)
    for trace in calls_of(judge, case):
        answer = ChatMessage(role="assistant", content=said)
        yield trace.row(source=SOURCE).model_copy(update={"messages": (*trace.messages, answer)})
