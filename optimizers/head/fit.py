"""Fit a head to labelled verdicts, without an LM call; thousands of fits take seconds.

Every candidate is fitted on all folds but one and measured on that fold; folds take whole groups (a person, a prompt).
The candidate with the lowest loss over all folds is then fitted to all cases. Breiman's rule, the simplest candidate
within one standard error of the best, was tried in simulated worlds of 60 to 400 labels: on new cases it lost 0.015 to
0.05 nats wherever the judge knew something, and gained up to 0.028 where 60 labels met a judge near chance. The
penalties already restrain rich candidates.

A penalty shrinks margins, and a head fitted to votes is less certain than the majority is. So the chosen head is
calibrated on margins out of fold: those of heads that were fitted without the fold (Platt 1999, section 2.3).

The out-of-fold verdicts come from heads that were also chosen without their fold (nested cross-fitting; Varma and Simon
2006), so that a choice among many candidates does not flatter itself. That takes the fits without every two folds,
which serve both purposes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ...data import Case, Scores, Verdict
from ...data.case import Record
from ...data.split import split
from ...errors import DeclarationError
from ...judging.heads import Head
from ..soft_labels import SoftLabels
from .conditional_logit import ChoiceEvidence
from .head_labels import HeadLabels
from .model_spec import HeadSpec
from .ordered_logit import PairEvidence
from .score_regression import TextEvidence

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
Heads = dict[frozenset[int], Any]
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
    """

    head: Head
    crossfitted: tuple[Verdict, ...]
    without: tuple[Head, ...]
    candidates: tuple[HeadCandidate, ...]
    labels: HeadLabels


class HeadTask(Protocol):
    """Labelled evidence of one kind of case, n rows, and how a head is fitted to it; `targets` of winners."""

    targets: SoftLabels | None

    def plans(self) -> list[HeadSpec]: ...

    def fits(self, plan: HeadSpec, chosen: Flags) -> list[Any]: ...

    def losses(self, head: Any) -> Floats: ...

    def calibrated(self, head: Any, others: Sequence[Any], rows: Flags) -> Any: ...


TASKS: Mapping[str, Any] = {"pair": PairEvidence, "score": TextEvidence, "choice": ChoiceEvidence}


def fit(
    cases: Sequence[Case], verdicts: Sequence[Verdict], *, seed: int = 0, folds: int = 5, length: bool = False
) -> HeadFit:
    """The head with the lowest cross-fitted loss on the labelled cases, whatever their order.

    Args:
        cases: labelled or not; a head is fitted to those with a label and a scored verdict. Folds take their groups as
            they are: join those that share texts before (`data.joined_groups`), as a compilation does.
        verdicts: of a judge without a head, one per case, in the same order.
        seed: of the folds.
        folds: 3 or more; fewer if there are fewer groups.
        length: also offer the texts' lengths as a feature.

    Raises:
        TooFewVerdicts: fewer than 20 labelled verdicts, or than 3 groups.
        DeclarationError: cases of several kinds, or verdicts of other cases.
    """
    kind, usable = _labelled(cases, verdicts)
    chosen_cases = [cases[index] for index in usable]
    task: HeadTask = TASKS[kind](chosen_cases, [verdicts[index] for index in usable], length=length)
    fold = _folds(chosen_cases, folds, seed)
    plans = sorted(task.plans(), key=lambda plan: plan.complexity)
    heads, losses, inner = _crossfitted(task, plans, fold)
    best = int(losses.mean(axis=1).argmin())
    head = _calibrated(task, heads[best], frozenset(), fold)
    by_fold = [_calibrated(task, heads[plan], frozenset({k}), fold) for k, plan in enumerate(inner)]
    by_row = {index: by_fold[k] for index, k in zip(usable, fold.tolist(), strict=True)}
    without = tuple(by_row.get(index, head) for index in range(len(cases)))
    crossfitted = tuple(unseen(case, verdict) for unseen, case, verdict in zip(without, cases, verdicts, strict=True))
    table = _table(plans, losses, best, [case.split_key for case in chosen_cases])
    soft = {"soft": task.targets.soft, "against": task.targets.against} if task.targets else {}
    return HeadFit(head, crossfitted, without, table, HeadLabels(n=len(usable), **soft))


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
    if len(case.candidates) == 1:
        return "score" if isinstance(case.label, Scores) else None
    voted = any(vote.winner is not None for vote in case.votes)
    if not voted and (case.label is None or case.label.winner is None):
        return None
    return "pair" if case.is_pair else "choice"


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


def _crossfitted(task: HeadTask, plans: Sequence[HeadSpec], fold: Rows) -> tuple[list[Heads], Floats, list[int]]:
    """Every plan's heads by the folds that they are fitted without (none, one, two); the (plans, n) losses of every row
    by the head without its fold; and for every fold the plan with the lowest loss on the other folds."""
    count = int(fold.max()) + 1
    unseen = [frozenset(folds) for size in range(3) for folds in combinations(range(count), size)]
    chosen = np.stack([~np.isin(fold, list(folds)) for folds in unseen])
    heads: list[Heads] = []
    losses, inner = np.empty((len(plans), len(fold))), np.zeros((count, len(plans)))
    for number, plan in enumerate(plans):
        heads.append(dict(zip(unseen, task.fits(plan, chosen), strict=True)))
        by_folds = {folds: task.losses(head) for folds, head in heads[-1].items()}
        for k in range(count):
            losses[number, fold == k] = by_folds[frozenset({k})][fold == k]
            inner[k, number] = sum(by_folds[frozenset({j, k})][fold == j].sum() for j in range(count) if j != k)
    return heads, losses, inner.argmin(axis=1).tolist()


def _calibrated(task: HeadTask, heads: Heads, unseen: frozenset[int], fold: Rows) -> Any:
    """The head without some folds, calibrated on every other fold by the head without that fold too.

    On the cases that it was fitted to, a head is right too often.
    """
    others = [k for k in range(int(fold.max()) + 1) if k not in unseen]
    rows = np.stack([fold == k for k in others])
    return task.calibrated(heads[unseen], [heads[unseen | {k}] for k in others], rows)


def _table(plans: Sequence[HeadSpec], losses: Floats, best: int, groups: Sequence[str]) -> tuple[HeadCandidate, ...]:
    codes = np.unique(groups, return_inverse=True)[1]
    table = [
        HeadCandidate(
            name=str(plan),
            loss=float(row.mean()),
            standard_error=_standard_error(row, codes),
            chosen=number == best,
        )
        for number, (plan, row) in enumerate(zip(plans, losses, strict=True))
    ]
    return tuple(sorted(table, key=lambda candidate: candidate.loss))


def _standard_error(values: Floats, groups: Rows) -> float:
    """The standard error of the mean, by whole groups (Liang and Zeger 1986)."""
    totals = np.bincount(groups, values - values.mean())
    count = len(totals)
    return float(np.sqrt(count / (count - 1) * np.square(totals).sum()) / len(values))
