"""Fit a head to labelled verdicts, without an LM call; thousands of fits take seconds.

Every candidate is fitted on all folds but one and measured on that fold; folds take whole groups (a person, a prompt).
The candidate with the lowest loss over all folds is then fitted to all cases; a candidate that weighs measured
evidence only if that predicts the labels by itself (`screening`). Breiman's rule, the simplest candidate within one
standard error of the best, was tried in simulated worlds of 60 to 400 labels: on new cases it lost 0.015 to 0.05 nats
wherever the judge knew something, and gained up to 0.028 where 60 labels met a judge near chance. The penalties already
restrain rich candidates.

A penalty shrinks margins, and a head fitted to votes is less certain than the majority is. So the chosen head is
calibrated on margins out of fold: those of heads that were fitted without the fold (Platt 1999, section 2.3).

The out-of-fold verdicts come from heads that were also chosen without their fold (nested cross-fitting; Varma and Simon
2006), so that a choice among many candidates does not flatter itself. That takes the fits without every two folds,
which serve both purposes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from threadpoolctl import threadpool_limits

from ...data import Case, Scores, Verdict
from ...data.case import CaseKind, Record
from ...data.split import split
from ...errors import DeclarationError
from ...evidence.source_spec import SourceSpec
from ...judging.block_base import Vectors
from ...judging.heads import CategoryHead, Head
from ..error_costs import costs_of_head
from .block_fits import block_fits, with_distances
from .category_logit import CategoryEvidence
from .conditional_logit import ChoiceEvidence
from .cross_fits import CrossFits
from .head_labels import HeadLabels
from .ordered_logit import PairEvidence
from .probe import LEAST_FOLDS
from .score_regression import TextEvidence
from .screening import standard_error
from .stacking import StackedEvidence
from .worth import EvidenceWorth, worth

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

LEAST_LABELS = 20
LEAST_GROUPS = 3  # one to measure on, one to choose on, one to fit to


class TooFewVerdicts(DeclarationError):
    """There are too few labelled verdicts or groups to fit a head."""


class HeadCandidate(Record):
    """A candidate head and its loss."""

    name: str = Field(description="features, penalty and form")
    loss: float = Field(
        description="mean cross-fitted loss: nats, or squared points for scores, where aspects count equally"
    )
    standard_error: float = Field(description="of the loss, by whole groups")
    chosen: bool = Field(default=False, description="whether it became the head")


@dataclass(frozen=True)
class HeadFit:
    """A fitted head with its cross-fitted verdicts.

    Attributes:
        crossfitted: one verdict per case, by a head that was fitted without the case and its group; unchanged if the
            verdict is unscored, and by the final head if the case has no label.
        without: the heads of `crossfitted`, one per case; the final head if the case is unscored or has no label.
        candidates: all candidates, the lowest loss first.
        labels: what it was fitted to.
        worth: of each source of measured evidence.
    """

    head: Head
    crossfitted: tuple[Verdict, ...]
    without: tuple[Head, ...]
    candidates: tuple[HeadCandidate, ...]
    labels: HeadLabels
    worth: tuple[EvidenceWorth, ...] = ()


TASKS: Mapping[str, Any] = {
    "pair": PairEvidence, "score": TextEvidence, "choice": ChoiceEvidence, "category": CategoryEvidence,
}  # fmt: skip
KINDS: Mapping[CaseKind, str] = {"pairs": "pair", "texts": "score", "choices": "choice", "categories": "category"}


def fit(
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    seed: int = 0,
    folds: int = 5,
    length: bool = False,
    sources: Mapping[str, SourceSpec] | None = None,
    vectors: Sequence[Mapping[str, Vectors]] | None = None,
    neighbours: bool = False,
    costs: Mapping[str, float] | None = None,
) -> HeadFit:
    """The head with the lowest cross-fitted loss on the labelled cases, whatever their order; see `screening` for
    which measured evidence it may weigh.

    Args:
        cases: labelled or not; a head is fitted to those with a label and a scored verdict. Folds take their groups as
            they are: join those that share texts before (`data.joined_groups`), as a compilation does.
        verdicts: of a judge without a head, one per case, in the same order.
        seed: of the folds.
        folds: 3 or more; fewer if there are fewer groups.
        length: also offer the texts' lengths as a feature.
        sources: whose vectors become blocks of the head where that lowers the loss; by name.
        vectors: one mapping a case, (candidates, width) by name of the source, as `Judge.read_vectors` gives them;
            those of unscored verdicts are not looked at. With fewer than 4 groups there are no blocks.
        neighbours: offer votes of the nearest cases too, beside a probe of each source. On PandaLM they vote as well as
            the probe, but say the same: with both to choose from, the nested loss was .01 higher on three splits.
        costs: of an error, by the category that people give; a head of categories names that of the least cost.

    Raises:
        TooFewVerdicts: fewer than 20 labelled verdicts, or than 3 groups.
        DeclarationError: cases of several kinds, or verdicts of other cases.
    """
    # On busy cores the threads of a product wait for each other: 20 times as long was measured on two.
    with threadpool_limits(1 if sources else None, user_api="blas"):
        return _fit(cases, verdicts, seed, folds, length, sources or {}, vectors, neighbours, costs or {})


def _fit(
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    seed: int,
    folds: int,
    length: bool,
    sources: Mapping[str, SourceSpec],
    vectors: Sequence[Mapping[str, Vectors]] | None,
    neighbours: bool,
    costs: Mapping[str, float],
) -> HeadFit:
    kind, usable = _labelled(cases, verdicts)
    labelled, judged = [cases[index] for index in usable], [verdicts[index] for index in usable]
    fold = _folds(labelled, max(folds, LEAST_FOLDS) if sources else folds, seed)

    def make_task(seen: Sequence[Verdict], like: Any) -> Any:
        return TASKS[kind](labelled, seen, length=length, like=like)

    blocks, answers = [], make_task(judged, None)
    if sources and vectors is not None and answers.reads_vectors and fold.max() + 1 >= LEAST_FOLDS:
        read = [vectors[index] for index in usable]
        blocks = block_fits(labelled, answers, fold, sources, read, neighbours=neighbours)
        judged = [with_distances(verdict, sources, row) for verdict, row in zip(judged, read, strict=True)]
    stacked = StackedEvidence(make_task, labelled, judged, blocks)
    groups = np.unique([case.split_key for case in labelled], return_inverse=True)[1]
    fits = CrossFits(stacked, fold, groups)
    head = _priced(fits.head(fits.best, frozenset()), costs)
    by_fold = [_priced(fits.head(plan, frozenset({k})), costs) for k, plan in enumerate(fits.inner())]
    by_row = {index: by_fold[k] for index, k in zip(usable, fold.tolist(), strict=True)}
    without = tuple(by_row.get(index, head) for index in range(len(cases)))
    crossfitted = tuple(
        unseen(case, verdict, None if vectors is None else vectors[place])
        for place, (unseen, case, verdict) in enumerate(zip(without, cases, verdicts, strict=True))
    )
    targets = stacked.answers.targets
    soft = {"soft": targets.soft, "against": targets.against} if targets else {}
    return HeadFit(
        head,
        crossfitted,
        without,
        _table(fits, groups),
        HeadLabels(n=len(usable), **soft),
        _worth(fits, groups),
    )


def _priced(head: Head, costs: Mapping[str, float]) -> Head:
    """The head that weighs these costs of errors.

    Raises:
        DeclarationError: costs of what it does not name.
    """
    if not costs:
        return head
    names = head.categories if isinstance(head, CategoryHead) else ()
    return head.model_copy(update={"costs": costs_of_head(costs, names)})


def _labelled(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> tuple[str, list[int]]:
    """The kind of the cases, and the indices of those with a label and a scored verdict, by case id."""
    if [case.id for case in cases] != [verdict.case_id for verdict in verdicts]:
        raise DeclarationError("fit: the verdicts are not of these cases in this order. Give one verdict a case.")
    kinds = {index: kind for index, case in enumerate(cases) if (kind := _kind(case))}
    usable = [index for index in kinds if verdicts[index].status == "scored"]
    if len(usable) < LEAST_LABELS:
        lost = Counter(verdicts[index].reason or verdicts[index].status for index in kinds.keys() - set(usable))
        why = f" ({', '.join(f'{n} more are {reason}' for reason, n in lost.most_common())})" if lost else ""
        raise TooFewVerdicts(
            f"fit: {len(usable)} labelled verdicts of {len(cases)} cases{why}. Label {LEAST_LABELS} at least; 100 or "
            "more make a head with useful probabilities."
        )
    if len(names := sorted(set(kinds.values()))) > 1:
        raise DeclarationError(f"fit: cases of several kinds, {', '.join(names)}. Fit each kind by itself.")
    return names[0], sorted(usable, key=lambda index: (cases[index].id, cases[index].model_dump_json()))


def _kind(case: Case) -> str | None:
    """The kind of head that the case's label can train; None without a label."""
    if case.kind == "texts":
        return KINDS[case.kind] if isinstance(case.label, Scores) else None
    voted = any(vote.answer is not None for vote in case.votes)
    if not voted and (case.label is None or case.label.answer is None):
        return None
    return KINDS[case.kind]


def _folds(cases: Sequence[Case], folds: int, seed: int) -> Rows:
    """The (n,) fold of every case; all cases of a group are in the same fold."""
    groups = len({case.split_key for case in cases})
    if groups < LEAST_GROUPS or folds < LEAST_GROUPS:
        raise TooFewVerdicts(
            f"fit: {groups} groups of cases in {folds} folds. Give {LEAST_GROUPS} of each at least: one to measure on, "
            "one to choose on, one to fit to."
        )
    k = min(folds, groups)
    dealt = split(cases, parts={str(number): 1 / k for number in range(k)}, seed=seed, join=False)
    fold = {case.split_key: int(name) for name, part in dealt.items() for case in part}
    return np.array([fold[case.split_key] for case in cases], dtype=np.int64)


def _table(fits: CrossFits, groups: Rows) -> tuple[HeadCandidate, ...]:
    table = [
        HeadCandidate(
            name=str(plan),
            loss=float(row.mean()),
            standard_error=standard_error(row, groups),
            chosen=number == fits.best,
        )
        for number, (plan, row) in enumerate(zip(fits.plans, fits.losses, strict=True))
    ]
    return tuple(sorted(table, key=lambda candidate: candidate.loss))


def _worth(fits: CrossFits, groups: Rows) -> tuple[EvidenceWorth, ...]:
    """The worth of each source: all candidates that weigh evidence of it against all that do not, both without evidence
    of other sources that says nothing."""
    sources, used, table = fits.stacked.evidence, fits.plans[fits.best].evidence, []
    for source in dict.fromkeys(sources.values()):
        has_it = np.array([any(sources[name] == source for name in plan.evidence) for plan in fits.plans])
        if not has_it.any():  # constant evidence is in none
            continue
        others = fits.admitted(besides=source)
        loss, without = fits.nested_losses(has_it & others), fits.nested_losses(~has_it & others)
        by_itself = max(
            (screening.gain() for name, screening in fits.screening.items() if sources[name] == source),
            key=lambda gain: (gain.is_there, gain.value),
        )
        is_used = any(sources[name] == source for name in used)
        table.append(worth(source, loss, without, groups, by_itself=by_itself, used=is_used))
    return tuple(table)
