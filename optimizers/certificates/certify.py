"""Abstention with a guarantee: at most `risk` of the accepted verdicts disagree with people, with confidence 1 - delta.

Thresholds are tested in sequence, the strictest first, each by the exact binomial test averaged over one accepted
verdict of each group (`averaged_binomial_test`). The first threshold that is not rejected ends the sequence, and the
threshold before it is certified (fixed-sequence Learn then Test, Angelopoulos, Bates, Candès, Jordan & Lei 2021, arXiv
2110.01052; for judges Jung, Brahman & Choi 2024, arXiv 2407.18370). The labelled cases must come from the same
population as future cases, and nothing else may have been fitted on them.

What is guaranteed. Groups (prompts, persons) are independent, cases of a group are not. Certified is the disagreement
of a random accepted verdict of a random group that has accepted verdicts: each such group has equal weight, however
many cases it has. A threshold that is fixed in advance is certified with probability at most delta if its disagreement
is `risk` or more, for any number of groups, sizes and dependence within groups: drawn errors are then exactly binomial.
The path and its start depend on certainties only, never on labels. Given all certainties, drawn errors are independent,
each with its own probability, and such a sum is at most c no more often than a binomial of the same mean, for every c
up to that mean less 1 (Hoeffding 1956, Annals of Mathematical Statistics 27). All counts that are rejected at a delta
up to 1/4 are that small (Greenberg & Mohri 2014, Statistics & Probability Letters 86). So with one accepted verdict a
group the probability is at most delta that a threshold is certified at which people disagree with more than `risk` of
verdicts on average over cases of the accepted certainties. For the population, and a start chosen by certainties,
tests/optimizers/test_certify.py and benchmarks/certificates.py simulate it.

Where it starts. Few accepted groups cannot be rejected: 10 % at 95 % takes 29 without an error. The start is the
strictest threshold that accepts a tenth of the cases and would be rejected with probability 0.9 if the certainties were
calibrated; if there is none, the threshold most likely to be rejected.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...data import Judged
from ...errors import DataError, DeclarationError
from ...stats.resampling import Groups
from .averaged_binomial_test import limits
from .certainty_table import CertaintyTable, JudgeEvidence, ThresholdPath, certainty_table
from .certificate import CascadeCertificate, CascadePoint, Certificate, CertificatePoint, RiskCertificate
from .fixed_sequence_test import SequenceResult, check_levels, run_sequence, start_of
from .threshold_check import ThresholdCheck

__all__ = [
    "CascadeCertificate",
    "Certificate",
    "ThresholdCheck",
    "certify",
    "certify_answer",
    "certify_cascade",
    "check",
    "check_cascade",
]

# Fixed in advance; dense at the top, where judges that multiply probabilities crowd. 0 accepts every certainty.
GRID = (0.99999, 0.9999, 0.999, 0.998, 0.995, *(percent / 100 for percent in range(99, -1, -1)))
NEVER = math.inf  # a threshold that no certainty reaches


def certify(
    certainty: ArrayLike,
    correct: ArrayLike,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    groups: Groups = None,
) -> Certificate:
    """The loosest threshold on certainty that can be certified (see the module).

    Args:
        certainty: (n,) in [0, 1]; NaN for a case without a verdict, which is never accepted and counts in n.
        correct: (n,) whether the verdict equals the human label, a tie included.
        risk: in (0, 0.5].
        delta: in (0, 0.25].
        groups: (n,) the group of each case: cases of one prompt are not independent. None: independent cases.

    Raises:
        DataError: no case with a certainty, sides of different length, or values out of range.
        DeclarationError: risk or delta out of range.

    Example:
        >>> certify([0.9] * 60 + [0.6] * 40, [True] * 60 + [True, False] * 20).threshold
        0.61
    """
    table = certainty_table([(certainty, correct)], groups)
    result = run_sequence(table, [(threshold,) for threshold in GRID], risk, delta)
    points = {step: CertificatePoint(threshold=result.path[step][0], **result.at(step)) for step in result.changes()}
    return Certificate(
        threshold=None if result.last is None else result.path[result.last][0],
        stopped=None
        if result.stop is None
        else CertificatePoint(threshold=result.path[result.stop][0], **result.at(result.stop)),
        curve=tuple(points.values()),
        **result.summary(),
    )


def certify_cascade(
    stages: Sequence[JudgeEvidence],
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    costs: Sequence[float] | None = None,
    groups: Groups = None,
) -> CascadeCertificate:
    """Thresholds of a cascade: every case gets the verdict of the first judge that is certain enough.

    Jung, Brahman & Choi's program calibrates one judge after the other, each at delta; here the whole cascade is tested
    on one path, at delta in total. First only the last judge decides, and its threshold falls until its certainties
    predict half of `risk`. Then the judge before it joins, from the strictest threshold down to that of the last judge,
    then the judge before that. In the end all thresholds fall together. So each step accepts more, and from the second
    part on costs less. The test starts in the first part, and ends early if a judge is overconfident.

    Args:
        stages: certainty and correct of each judge, as in `certify`, of the same cases; the cheapest judge first.
        costs: of one verdict of each judge, in any unit.

    Raises:
        DataError: as in `certify`, or a judge that never has a certainty.
        DeclarationError: as in `certify`; no stage, or another number of costs than of stages.
    """
    if not stages or (costs is not None and len(costs) != len(stages)):
        count = "no" if costs is None else len(costs)
        raise DeclarationError(
            f"certify: {len(stages)} stages, {count} costs. Give stages, and a cost for each or none."
        )
    table = certainty_table(stages, groups)
    if silent := np.flatnonzero((table.certainty < 0).all(axis=1)).tolist():
        raise DataError(
            f"certify: judge {silent[0] + 1} of {len(stages)} has a certainty in none of the {table.n} cases. "
            "Leave it out, or give more cases."
        )
    path, start_steps = _descent(table, risk, delta)
    result = run_sequence(table, path, risk, delta, start_steps)
    points = {step: _cascade_point(result, step) for step in result.changes()}
    thresholds = result.path[result.last] if result.last is not None else ()
    decider = table.decider(thresholds) if thresholds else np.empty(0)
    judges = range(len(thresholds))
    reached = tuple(0.0 if thresholds[judge] == NEVER else table.proportion(decider >= judge) for judge in judges)
    return CascadeCertificate(
        thresholds=_none_for_never(thresholds),
        decided=tuple(table.proportion(decider == judge) for judge in judges),
        reached=reached,
        cost=None if costs is None or not thresholds else math.fsum(a * b for a, b in zip(costs, reached, strict=True)),
        stopped=None if result.stop is None else _cascade_point(result, result.stop),
        curve=tuple(points.values()),
        **result.summary(),
    )


def judge_evidence(verdicts: Sequence[Judged]) -> tuple[list[float], list[bool]]:
    """The (n,) certainties, NaN without a verdict, and whether each verdict equals the label: what `certify` takes."""
    certainties = [
        math.nan if judged.status != "scored" or judged.certainty is None else judged.certainty for judged in verdicts
    ]
    return certainties, [judged.answer == judged.human_answer for judged in verdicts]


def certify_answer(
    verdicts: Sequence[Judged], answer: str, *, risk: float, delta: float, groups: Groups
) -> Certificate | None:
    """The certificate of the verdicts that name a category: of what a judge passes, at most `risk` is bad.

    Other verdicts are never accepted, whatever their certainty; they count among the cases. Each certificate holds at
    1 - delta by itself. None where no verdict names the category with a certainty.

    Args:
        verdicts: one a case, of the judge that is certified.
        answer: the category.
        risk, delta, groups: as in `certify`.

    Raises:
        DeclarationError: as `certify`.
    """
    certainty, correct = judge_evidence(verdicts)
    named = [value if judged.answer == answer else math.nan for value, judged in zip(certainty, verdicts, strict=True)]
    if all(map(math.isnan, named)):
        return None
    return certify(named, correct, risk=risk, delta=delta, groups=groups).model_copy(update={"said": answer})


def check(
    certificate: Certificate,
    certainty: ArrayLike,
    correct: ArrayLike,
    *,
    groups: Groups = None,
    ids: Sequence[str] | None = None,
) -> ThresholdCheck:
    """The certified threshold on other labelled cases; arguments and errors as in `certify`.

    Args:
        ids: (n,) of the cases; a certificate of an earlier version is about one case of each group, and takes the case
            whose id has the lowest SHA-256.
    """
    threshold = NEVER if certificate.threshold is None else certificate.threshold
    return _check(certificate, (threshold,), [(certainty, correct)], groups, ids)


def check_cascade(
    certificate: CascadeCertificate,
    stages: Sequence[JudgeEvidence],
    *,
    groups: Groups = None,
    ids: Sequence[str] | None = None,
) -> ThresholdCheck:
    """The certified thresholds of a cascade on other labelled cases; arguments and errors as in `certify_cascade`.

    Args:
        ids: as in `check`.
    """
    thresholds = certificate.thresholds or (None,) * len(stages)
    if len(thresholds) != len(stages):
        raise DeclarationError(f"certify: {len(thresholds)} thresholds, {len(stages)} stages. Give the same judges.")
    known = tuple(NEVER if threshold is None else threshold for threshold in thresholds)
    return _check(certificate, known, stages, groups, ids)


def _descent(table: CertaintyTable, risk: float, delta: float) -> tuple[ThresholdPath, int]:
    """The path of a cascade's thresholds (see `certify_cascade`), and the number of steps with the last judge only."""
    check_levels(risk, delta)
    judges = len(table.certainty)
    last_only = [(NEVER,) * (judges - 1) + (threshold,) for threshold in GRID]
    steps = [table.accepted(thresholds) for thresholds in last_only]
    trusted = [number for number, step in enumerate(steps) if step.predicted <= risk / 2]
    turn = max(start_of(steps, risk, delta), *trusted[-1:], 0)
    path, thresholds = last_only[: turn + 1], list(last_only[turn])
    for judge in range(judges - 2, -1, -1):
        for threshold in GRID[: turn + 1]:
            thresholds[judge] = threshold
            path.append(tuple(thresholds))
    return [*path, *((threshold,) * judges for threshold in GRID[turn + 1 :])], turn + 1


def _check(
    certificate: RiskCertificate,
    thresholds: tuple[float, ...],
    stages: Sequence[JudgeEvidence],
    groups: Groups,
    ids: Sequence[str] | None,
) -> ThresholdCheck:
    table = certainty_table(stages, groups)
    used, everything = table, table.accepted(thresholds)
    if certificate.weighting == "drawn" and table.groups < table.n:
        if ids is None:
            raise DataError("certify: this certificate is about one case of each group. Give the ids of the cases.")
        used = certainty_table(stages, groups, one_of_each=ids)
    accepted = used.accepted(thresholds)
    counts: dict[str, Any] = {
        "weighting": certificate.weighting, "risk": certificate.risk, "n": used.groups, "accepted": accepted.groups,
        "errors": accepted.total, "cases": table.n, "accepted_of_all": everything.cases,
        "errors_of_all": everything.wrong,
    }  # fmt: skip
    if not accepted.groups:
        return ThresholdCheck(**counts, disagreement=None, low=None, high=None, holds=None)
    low, high = limits(accepted.errors, certificate.delta, single=accepted.single)
    disagreement = accepted.total / accepted.groups
    return ThresholdCheck(**counts, disagreement=disagreement, low=low, high=high, holds=low <= certificate.risk)


def _cascade_point(result: SequenceResult, step: int) -> CascadePoint:
    return CascadePoint(thresholds=_none_for_never(result.path[step]), **result.at(step))


def _none_for_never(thresholds: tuple[float, ...]) -> tuple[float | None, ...]:
    return tuple(None if threshold == NEVER else threshold for threshold in thresholds)
