"""Fit a head to labelled verdicts: no call is made, thousands of fits take seconds.

Every candidate is fitted on all folds but one and measured on that one, by whole groups (a person, a prompt). The least
loss over all folds chooses the head, which is then fitted to all cases. Breiman's rule, the simplest candidate within
one standard error of the best, was tried in simulated worlds of 60 to 400 labels: on fresh cases it cost 0.015 to 0.05
nats wherever the judge knew something, and gained up to 0.028 where 60 labels met a judge near chance. The penalties
already hold rich candidates back.

A penalty shrinks margins, and a head fitted to votes is less sure than the majority is. So the chosen head is scaled by
the margins that heads which lack a fold have on it (Platt 1999, section 2.3).

The out-of-fold verdicts are of heads that were chosen without their fold as well (nested cross-fitting; Varma and Simon
2006), so that a choice among many candidates does not flatter itself: that takes the fits without each two folds, which
serve both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...data import Case, Scores, Verdict
from ...data.case import Record
from ...data.split import split
from ...errors import DeclarationError
from ...judging.heads import Head
from .conditional_logit import Options
from .model_spec import Plan
from .ordered_logit import Pairs
from .score_regression import Texts

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]
Heads = dict[frozenset[int], Any]
LEAST_LABELS = 20
LEAST_GROUPS = 3  # one to measure on, one to choose on, one to fit to


class TooFewVerdicts(DeclarationError):
    """There is too little to fit a head to."""


class Candidate(Record):
    """A head that was tried: its cross-fitted loss (nats; squared points for scores) with its standard error."""

    name: str
    loss: float
    standard_error: float
    chosen: bool = False


@dataclass(frozen=True)
class Fitted:
    """A head, and what shows how good it is.

    Attributes:
        crossfitted: one verdict a case given, by a head that saw neither the case nor its group; as it was where the
            verdict is unscored, and by the head itself where the case has no label.
        candidates: what was tried, the least loss first.
    """

    head: Head
    crossfitted: tuple[Verdict, ...]
    candidates: tuple[Candidate, ...]


class Task(Protocol):
    """Labelled evidence of one kind of case, n rows."""

    def plans(self) -> list[Plan]: ...

    def fits(self, plan: Plan, chosen: Flags) -> list[Any]: ...

    def losses(self, head: Any) -> Floats: ...

    def calibrated(self, head: Any, others: Sequence[Any], rows: Flags) -> Any: ...


TASKS: Mapping[str, Any] = {"pair": Pairs, "score": Texts, "choice": Options}


def fit(
    cases: Sequence[Case], verdicts: Sequence[Verdict], *, seed: int = 0, folds: int = 5, length: bool = False
) -> Fitted:
    """The head that the labelled cases choose; the order of the cases does not matter.

    Args:
        cases: labelled or not; those without a label and unscored verdicts teach nothing.
        verdicts: of an uncompiled judge, one a case, in the same order.
        seed: draws the folds.
        folds: 3 or more; fewer where there are fewer groups.
        length: also offer the texts' lengths as a feature.

    Raises:
        TooFewVerdicts: fewer than 20 labelled verdicts, or than 3 groups.
        DeclarationError: cases of several kinds, or lists that do not fit.
    """
    kind, taught = _labelled(cases, verdicts)
    chosen_cases = [cases[index] for index in taught]
    task: Task = TASKS[kind](chosen_cases, [verdicts[index] for index in taught], length=length)
    fold = _folds(chosen_cases, folds, seed)
    plans = sorted(task.plans(), key=lambda plan: plan.complexity)
    heads, losses, inner = _crossfitted(task, plans, fold)
    best = int(losses.mean(axis=1).argmin())
    head = _calibrated(task, heads[best], frozenset(), fold)
    without = [_calibrated(task, heads[plan], frozenset({k}), fold) for k, plan in enumerate(inner)]
    by_row = {index: without[k] for index, k in zip(taught, fold.tolist(), strict=True)}
    crossfitted = tuple(
        by_row.get(index, head)(case, verdict)
        for index, (case, verdict) in enumerate(zip(cases, verdicts, strict=True))
    )
    return Fitted(head, crossfitted, _table(plans, losses, best, [case.split_key for case in chosen_cases]))


def _labelled(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> tuple[str, list[int]]:
    """The kind of the cases, and the indices of those that teach something, by case id."""
    if [case.id for case in cases] != [verdict.case_id for verdict in verdicts]:
        raise DeclarationError("fit: the verdicts are not of these cases in this order. Give one verdict a case.")
    kinds = {index: kind for index, case in enumerate(cases) if (kind := _kind(case))}
    taught = [index for index in kinds if verdicts[index].status == "scored"]
    if len(taught) < LEAST_LABELS:
        raise TooFewVerdicts(
            f"fit: {len(taught)} labelled verdicts of {len(cases)} cases. Label {LEAST_LABELS} at least; 100 or more "
            "make a head that is worth its probabilities."
        )
    if len(found := sorted(set(kinds.values()))) > 1:
        raise DeclarationError(f"fit: cases of several kinds, {', '.join(found)}. Fit each kind by itself.")
    return found[0], sorted(taught, key=lambda index: (cases[index].id, cases[index].model_dump_json()))


def _kind(case: Case) -> str | None:
    """Which head the case teaches; None without a label for any."""
    if len(case.candidates) == 1:
        return "score" if isinstance(case.label, Scores) else None
    voted = any(vote.winner is not None for vote in case.votes)
    if not voted and (case.label is None or case.label.winner is None):
        return None
    return "pair" if case.is_pair else "choice"


def _folds(cases: Sequence[Case], folds: int, seed: int) -> Rows:
    """The (n,) fold of each case; a group is in one fold."""
    groups = len({case.split_key for case in cases})
    if groups < LEAST_GROUPS or folds < LEAST_GROUPS:
        raise TooFewVerdicts(
            f"fit: {groups} groups of cases in {folds} folds. Give {LEAST_GROUPS} of each at least: one to measure on, "
            "one to choose on, one to fit to."
        )
    k = min(folds, groups)
    dealt = split(cases, parts={str(number): 1 / k for number in range(k)}, seed=seed)
    fold = {case.split_key: int(name) for name, part in dealt.items() for case in part}
    return np.array([fold[case.split_key] for case in cases], dtype=np.int64)


def _crossfitted(task: Task, plans: Sequence[Plan], fold: Rows) -> tuple[list[Heads], Floats, list[int]]:
    """Each plan's heads, by the folds that they have not seen: none, each one, each two; the (plans, n) losses of each
    row by the head without its fold; and for each fold the plan that the other folds choose among themselves."""
    count = int(fold.max()) + 1
    unseen = [frozenset(folds) for size in range(3) for folds in combinations(range(count), size)]
    chosen = np.stack([~np.isin(fold, list(folds)) for folds in unseen])
    heads: list[Heads] = []
    losses, inner = np.empty((len(plans), len(fold))), np.zeros((count, len(plans)))
    for number, plan in enumerate(plans):
        heads.append(dict(zip(unseen, task.fits(plan, chosen), strict=True)))
        told = {folds: task.losses(head) for folds, head in heads[-1].items()}
        for k in range(count):
            losses[number, fold == k] = told[frozenset({k})][fold == k]
            inner[k, number] = sum(told[frozenset({j, k})][fold == j].sum() for j in range(count) if j != k)
    return heads, losses, inner.argmin(axis=1).tolist()


def _calibrated(task: Task, heads: Heads, unseen: frozenset[int], fold: Rows) -> Any:
    """The head that has not seen some folds, calibrated on each other fold by the head that has not seen that one
    either: on the cases that it was fitted to, any head is right too often."""
    others = [k for k in range(int(fold.max()) + 1) if k not in unseen]
    rows = np.stack([fold == k for k in others])
    return task.calibrated(heads[unseen], [heads[unseen | {k}] for k in others], rows)


def _table(plans: Sequence[Plan], losses: Floats, best: int, groups: Sequence[str]) -> tuple[Candidate, ...]:
    codes = np.unique(groups, return_inverse=True)[1]
    table = [
        Candidate(
            name=str(plan),
            loss=float(row.mean()),
            standard_error=_standard_error(row, codes),
            chosen=number == best,
        )
        for number, (plan, row) in enumerate(zip(plans, losses, strict=True))
    ]
    return tuple(sorted(table, key=lambda one: one.loss))


def _standard_error(values: Floats, groups: Rows) -> float:
    """Of the mean, by whole groups (Liang and Zeger 1986)."""
    totals = np.bincount(groups, values - values.mean())
    count = len(totals)
    return float(np.sqrt(count / (count - 1) * np.square(totals).sum()) / len(values))
