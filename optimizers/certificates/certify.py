"""Abstention with a guarantee: of kept verdicts at most `risk` disagree with people, with confidence 1 - delta.

Thresholds are tested one after the other, the strictest first, each by the exact binomial p-value P(Bin(kept, risk) <=
errors). The first that is not rejected ends the sequence, and the one before it is certified (fixed-sequence Learn then
Test, Angelopoulos, Bates, Candès, Jordan & Lei 2021, arXiv 2110.01052; for judges Jung, Brahman & Choi 2024, arXiv
2407.18370). The labelled cases must be drawn like those to come, and nothing else may have been fitted on them.

What is guaranteed. The sequence and its start depend on certainties alone, never on labels. Given the certainties,
disagreements are independent, each with a probability of its own, and such a sum is at most c no more often than a
binomial of the same mean, for every c up to that mean less 1 (Hoeffding 1956, Annals of Mathematical Statistics 27).
All counts that are rejected at a delta up to 1/4 are that small (Greenberg & Mohri 2014, Statistics & Probability
Letters 86). So with any number of cases, and however wrong the certainties are, the probability is at most delta that a
threshold is certified at which people disagree with more than `risk` of verdicts on average over cases of the kept
certainties. Of the population that the cases are drawn from the same is exact for a sequence that starts at a fixed
threshold, as the binomial is then; for a start chosen by certainties tests/test_certify.py simulates it.

Where it starts. Few kept cases cannot be rejected: 10 % at 95 % takes 29 without an error. The start is the strictest
threshold that would be rejected with probability 0.9, and keeps a tenth of the cases, if the certainties were
calibrated; where there is none, the one most likely to be rejected.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import DataError, DeclarationError
from ...stats.resampling import Groups
from .certificate import CascadeCertificate, CascadePoint, Certificate, Certified, Check, Point
from .fixed_sequence_test import Cases, Outcome, Path, Stages, check_levels, drawn_cases, limits, run_sequence, start_of

__all__ = ["CascadeCertificate", "Certificate", "Check", "certify", "certify_cascade", "check", "check_cascade"]

# Fixed beforehand; close at the top, where judges that multiply probabilities crowd. 0 keeps all that has a certainty.
GRID = (0.99999, 0.9999, 0.999, 0.998, 0.995, *(percent / 100 for percent in range(99, -1, -1)))
NEVER = math.inf  # a threshold that no certainty reaches


def certify(
    certainty: ArrayLike,
    correct: ArrayLike,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    groups: Groups = None,
    seed: int = 0,
) -> Certificate:
    """The loosest threshold on certainty that is certified (see the module).

    Args:
        certainty: (n,) in [0, 1]; NaN for a case without a verdict, which is never kept and counts in n.
        correct: (n,) whether the verdict is people's, a tie included.
        risk: in (0, 0.5].
        delta: in (0, 0.25].
        groups: (n,) the group of each case. Cases of one prompt are not independent, so one of each group is drawn,
            and the risk is that of a case of a random group. None: independent cases.
        seed: of that draw, which goes by position: sort the cases, by id say, before.

    Raises:
        DataError: no case with a certainty, sides of different length, or values out of range.
        DeclarationError: risk or delta out of range.

    Example:
        >>> certify([0.9] * 60 + [0.6] * 40, [True] * 60 + [True, False] * 20).threshold
        0.61
    """
    cases = drawn_cases([(certainty, correct)], groups, seed)
    found = run_sequence(cases, [(threshold,) for threshold in GRID], risk, delta)
    points = {step: Point(threshold=found.path[step][0], **found.at(step)) for step in found.changes()}
    return Certificate(
        threshold=None if found.last is None else found.path[found.last][0],
        stopped=None if found.stop is None else Point(threshold=found.path[found.stop][0], **found.at(found.stop)),
        curve=tuple(points.values()),
        seed=seed,
        **found.summary(),
    )


def certify_cascade(
    stages: Stages,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    costs: Sequence[float] | None = None,
    groups: Groups = None,
    seed: int = 0,
) -> CascadeCertificate:
    """Thresholds of judges asked in turn, each kept verdict that of the first judge which is sure enough.

    Jung, Brahman & Choi's program calibrates one judge after the other, each at delta; here the whole cascade is tested
    on one path, at delta in all. First the last judge alone decides, and its threshold falls until half of `risk` is
    expected by its own certainties. Then the judge before it is let in, from the strictest threshold down to that of
    the last, then the one before that. In the end all thresholds fall together. So each step keeps more, and from
    the second part on costs less. The test starts in the first part, and ends early where a judge is too sure of
    itself.

    Args:
        stages: each judge's certainty and correct, as `certify` takes them, of the same cases; the cheapest first.
        costs: of one verdict of each judge, in any unit.

    Raises:
        DataError: as `certify`, or a judge that never has a certainty.
        DeclarationError: as `certify`; no stage, or not one cost for each.
    """
    if not stages or (costs is not None and len(costs) != len(stages)):
        given = "none" if costs is None else str(len(costs))
        raise DeclarationError(
            f"certify: {len(stages)} stages, {given} costs. Give stages, and a cost for each or none."
        )
    cases = drawn_cases(stages, groups, seed)
    if silent := np.flatnonzero((cases.sure < 0).all(axis=1)).tolist():
        raise DataError(
            f"certify: judge {silent[0] + 1} of {len(stages)} has a certainty in none of the {cases.n} cases used. "
            "Leave it out, or give more cases."
        )
    path, alone = _descent(cases, risk, delta)
    found = run_sequence(cases, path, risk, delta, alone)
    points = {step: _cascade_point(found, step) for step in found.changes()}
    used = found.path[found.last] if found.last is not None else ()
    decider = cases.decider(used) if used else np.empty(0)
    numbers = range(len(used))
    asked = tuple(0.0 if used[judge] == NEVER else float((decider >= judge).mean()) for judge in numbers)
    return CascadeCertificate(
        thresholds=_named(used),
        decided=tuple(float((decider == judge).mean()) for judge in numbers),
        asked=asked,
        cost=None if costs is None or not used else math.fsum(a * b for a, b in zip(costs, asked, strict=True)),
        stopped=None if found.stop is None else _cascade_point(found, found.stop),
        curve=tuple(points.values()),
        seed=seed,
        **found.summary(),
    )


def check(
    certificate: Certificate, certainty: ArrayLike, correct: ArrayLike, *, groups: Groups = None, seed: int = 0
) -> Check:
    """Whether the certificate stands on other labelled cases; arguments and errors as `certify`."""
    threshold = NEVER if certificate.threshold is None else certificate.threshold
    return _checked(certificate, (threshold,), drawn_cases([(certainty, correct)], groups, seed))


def check_cascade(certificate: CascadeCertificate, stages: Stages, *, groups: Groups = None, seed: int = 0) -> Check:
    """Whether the cascade's certificate stands on other labelled cases; arguments and errors as `certify_cascade`."""
    thresholds = certificate.thresholds or (None,) * len(stages)
    if len(thresholds) != len(stages):
        raise DeclarationError(f"certify: {len(thresholds)} thresholds, {len(stages)} stages. Give the same judges.")
    return _checked(
        certificate, tuple(NEVER if one is None else one for one in thresholds), drawn_cases(stages, groups, seed)
    )


def _descent(cases: Cases, risk: float, delta: float) -> tuple[Path, int]:
    """The path of a cascade's thresholds (see `certify_cascade`), and how many steps the last judge decides alone."""
    check_levels(risk, delta)
    judges = len(cases.sure)
    alone = [(NEVER,) * (judges - 1) + (threshold,) for threshold in GRID]
    kept, _, expected = cases.tally(alone)
    trusted = np.flatnonzero(expected <= risk / 2 * kept)
    turn = max(start_of(kept, expected, cases.n, risk, delta), int(trusted[-1]) if len(trusted) else 0)
    path, thresholds = alone[: turn + 1], list(alone[turn])
    for judge in range(judges - 2, -1, -1):
        for threshold in GRID[: turn + 1]:
            thresholds[judge] = threshold
            path.append(tuple(thresholds))
    return [*path, *((threshold,) * judges for threshold in GRID[turn + 1 :])], turn + 1


def _checked(certificate: Certified, thresholds: tuple[float, ...], cases: Cases) -> Check:
    (kept, errors), (kept_of_all, errors_of_all) = cases.count(thresholds), cases.all.count(thresholds)
    told: dict[str, Any] = {"risk": certificate.risk, "n": cases.n, "kept": kept, "errors": errors}
    told |= {"cases": cases.all.n, "kept_of_all": kept_of_all, "errors_of_all": errors_of_all}
    if not kept:
        return Check(**told, rate=None, low=None, high=None, holds=None)
    low, high = limits(errors, kept, certificate.delta)
    return Check(**told, rate=errors / kept, low=low, high=high, holds=low <= certificate.risk)


def _cascade_point(found: Outcome, step: int) -> CascadePoint:
    return CascadePoint(thresholds=_named(found.path[step]), **found.at(step))


def _named(thresholds: tuple[float, ...]) -> tuple[float | None, ...]:
    return tuple(None if one == NEVER else one for one in thresholds)
