"""Ablation of criteria: the verdicts that the first n criteria alone would give, from a run's findings.

The sweep of the branch count in Fennec (arXiv 2405.12163, section 5), without an LM call, from one run with the most
branches. Criteria are asked for once, `count` of them, so n here means the first n that the model names when it is
asked for all; asked for n alone it may name others. Where a case has fewer criteria than n, all of them count.
"""

from collections.abc import Sequence
from typing import TypeVar

from ..data import Judged, Verdict
from ..errors import DeclarationError
from ..evaluation.metric import MetricOptions
from ..evaluation.metrics.agreement import accuracy, order_agreement
from ..evaluation.results import Branch, Measure
from ..evaluation.run_arrays import run_arrays
from ..judging.aggregate import aggregate_findings
from ..judging.judge import rationale_of

OF_ALL = ("accuracy", "both-orders accuracy", "consistency")
MEASURES = (*OF_ALL, *(f"{name} without ties" for name in OF_ALL))
AnyVerdict = TypeVar("AnyVerdict", bound=Verdict)


def criteria(verdict: Verdict) -> list[str]:
    """The criteria of a verdict's readings in the order in which they were judged; factors are none."""
    return list(dict.fromkeys(finding.criterion for finding in verdict.findings if not finding.is_factor))


def first_branches(verdict: AnyVerdict, n: int, candidates: int = 2, **rules: float) -> AnyVerdict:
    """The verdict that the first n criteria alone give; with all of them it is the verdict itself.

    Corrections stay only with all criteria, for they were written from all; `usage` is always that of the whole run.

    Args:
        verdict: of a judge whose verdict is the sum of its findings; an unscored verdict stays as it is.
        n: at least 1.
        candidates: how many were judged.
        rules: the judge's own `tie_threshold` and `score_weight`, as `merge.aggregate` takes them.

    Raises:
        DeclarationError: n below 1, or a panel's verdict: its members are pooled, not merged.
    """
    if n < 1:
        raise DeclarationError(f"sweep: n must be at least 1, got {n}.")
    if verdict.status != "scored":
        return verdict
    if any(finding.member for finding in verdict.findings):
        raise DeclarationError(f"sweep: case {verdict.case_id!r} was judged by a panel. Give a run of one judge.")
    names = criteria(verdict)
    findings = tuple(finding for finding in verdict.findings if finding.criterion in names[:n])
    return verdict.model_copy(
        update={
            "findings": findings,
            "rationale": rationale_of(findings),
            "corrections": verdict.corrections if n >= len(names) else (),
            **aggregate_findings(findings, candidates, **rules),
        }
    )


def _is_swept(measure: Measure) -> bool:
    return measure.name in MEASURES


def sweep(run: Sequence[Judged], *, seed: int = 0, **rules: float) -> tuple[Branch, ...]:
    """For n = 1, 2, ... the agreement with people of the verdicts that the first n criteria alone give.

    All lines are of the same pairs: their intervals say how sure each figure is, not whether two of them differ.

    Args:
        run: the verdicts of a judge of pairs; empty when no pair has two criteria, or no label.
        seed: of what is resampled.
        rules: as in `first_branches`.

    Raises:
        DeclarationError: a verdict is not the merge of its findings.
    """
    counts = [len(criteria(judged)) for judged in run]
    most = max(counts, default=0)
    if most < 2:
        return ()
    for judged, count in zip(run, counts, strict=True):
        if judged.status == "scored" and first_branches(judged, max(count, 1), 2, **rules).winner != judged.winner:
            raise DeclarationError(
                f"sweep: case {judged.case_id!r} is no pair whose verdict is the sum of its criteria. "
                "Give a run of a judge that sums criteria."
            )
    branches, options = [], MetricOptions(seed=seed)
    for n in range(1, most + 1):
        arrays = run_arrays(first_branches(judged, n, 2, **rules) for judged in run)
        if not arrays.labelled.n:
            return ()
        computed = (*accuracy(arrays, options), *order_agreement(arrays, options))
        measures = tuple(sorted(filter(_is_swept, computed), key=lambda measure: MEASURES.index(measure.name)))
        full = sum(count >= n for count in counts)
        branches.append(Branch(n=n, full=full, measures=measures))
    return tuple(branches)
