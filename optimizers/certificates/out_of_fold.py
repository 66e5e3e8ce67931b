"""Certify with all labels of a compilation: the test part's, and out of fold those that the head was fitted to.

A verdict is out of fold if it is by a head that was fitted, and chosen, without the case and its group
(`head.fit.HeadFit.without`). Heads differ, so the same certainty means more with one than with another. Ranks do not:
each head is applied to all cases, and a case's share is the proportion of them of which its own head is at least as
certain. Thresholds of shares are tested in sequence, and a share becomes the least certainty that the final head has
among the cases of so small a share.

What is guaranteed. Where all heads read one feature and are sure in the order of its size, as a judge with one kind of
evidence gets them, shares and verdicts do not depend on labels, nor do the path and its start, which are of shares and
numbers of groups. Then the test is that of a threshold fixed in advance, on all labels (see `certify`). Where heads
choose among features, weigh several or fit ties, ranks depend on labels of other folds. That certificates fail no more
often than they may is then shown by simulation only: benchmarks/certificates.py, part compile, with up to 12 useless
features. It does not cover a search of prompts or of structure on the same labels, which makes the out-of-fold verdicts
better than those of new cases: after one, only the test part is evidence.

Where it starts. The first share that accepts a tenth of the cases and so many groups that one error is allowed (46 for
10 % at 95 %). Nothing about labels may decide it: the certainties of heads know them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...data import Case, Judged, Verdict
from ...errors import DataError
from ...judging.block_base import Vectors
from ...judging.heads import Head
from ...stats.resampling import Groups
from ..head.fit import HeadFit
from .averaged_binomial_test import critical_errors
from .certainty_table import Accepted, certainty_table
from .certificate import Certificate, CertificatePoint
from .fixed_sequence_test import START_COVERAGE, run_sequence

Floats = NDArray[np.float64]
SHARES = tuple(percent / 100 for percent in range(2, 101))  # fixed in advance


def shares(certainty: ArrayLike) -> Floats:
    """The (n,) proportion of cases of which a judge is at least as certain; NaN without a certainty, last of all.

    Args:
        certainty: (n,) of one judge, NaN without a verdict.

    Example:
        >>> shares([0.9, 0.7, 0.9, float("nan")]).tolist()
        [0.5, 0.75, 0.5, nan]
    """
    values = np.asarray(certainty, dtype=np.float64)
    known = np.sort(values[~np.isnan(values)])
    at_least = len(known) - np.searchsorted(known, values, side="left")
    return np.where(np.isnan(values), np.nan, at_least / max(1, len(values)))


@dataclass(frozen=True)
class OutOfFold:
    """The evidence of all labels of a compilation: of those that the head was fitted to, and of others.

    Attributes:
        learned: the number of the former.
        share, correct, certainty, groups: (n,), see `certify_by_share`.
    """

    learned: int
    share: Floats
    correct: Sequence[bool]
    certainty: Floats
    groups: Sequence[str]

    def certificate(self, *, risk: float, delta: float) -> Certificate:
        """The certificate, see `certify_by_share`."""
        certificate = certify_by_share(
            self.share, self.correct, self.certainty, risk=risk, delta=delta, groups=self.groups
        )
        return certificate.model_copy(update={"out_of_fold": self.learned})


def out_of_fold(
    head: Head,
    fitted: HeadFit,
    learn: Sequence[Case],
    of_learn: Sequence[Verdict],
    others: Sequence[Case],
    of_others: Sequence[Verdict],
) -> OutOfFold | None:
    """The evidence, or None where it may not count: the fit gives another head, or no case has a certainty.

    Args:
        head: of the judge that is certified, as an earlier version may have fitted it.
        fitted: the fit to `learn`.
        of_learn, of_others: verdicts without a head, one per case.
    """
    if fitted.head != head:
        return None
    cases, without = [*learn, *others], [*fitted.without, *[head] * len(others)]
    judged, share, certainty = judged_out_of_fold(cases, [*of_learn, *of_others], head, without)
    if np.isnan(certainty).all():
        return None
    correct = [
        Judged.of(case, verdict).answer == Judged.of(case, verdict).human_answer
        for case, verdict in zip(cases, judged, strict=True)
    ]
    return OutOfFold(len(learn), share, correct, certainty, [case.split_key for case in cases])


def ranked_out_of_fold(
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    without: Sequence[Head],
    vectors: Sequence[Mapping[str, Vectors]] | None = None,
) -> dict[str, float]:
    """By case id, how sure its head is of it among all cases, in [0, 1], higher the surer; without cases that have no
    certainty. Ranks of several heads are on one scale, certainties are not.

    Args:
        cases, verdicts: n, of the judge without a head.
        without: (n,) the head that was fitted without the case.
        vectors: of each case, for heads that weigh measured evidence.
    """
    read: Sequence[Mapping[str, Vectors] | None] = vectors or [None] * len(cases)
    share = {
        key: shares([_certainty(head(*row)) for row in zip(cases, verdicts, read, strict=True)])
        for key, head in {id(head): head for head in without}.items()
    }
    ranks = [1 - float(share[id(head)][place]) for place, head in enumerate(without)]
    return {case.id: rank for case, rank in zip(cases, ranks, strict=True) if not math.isnan(rank)}


def judged_out_of_fold(
    cases: Sequence[Case], verdicts: Sequence[Verdict], final: Head, without: Sequence[Head]
) -> tuple[list[Verdict], Floats, Floats]:
    """Each case judged by its own head.

    Args:
        cases, verdicts: n, of the judge without a head.
        final: the head that is certified.
        without: (n,) the head that was fitted without the case; the final head for cases that it was not fitted to.

    Returns:
        The verdicts by these heads, their (n,) shares, and the (n,) certainties of the final head, NaN without a
        verdict.
    """
    heads = {id(head): head for head in (final, *without)}
    read = {
        key: [head(case, verdict) for case, verdict in zip(cases, verdicts, strict=True)] for key, head in heads.items()
    }
    certainty = {key: np.array([_certainty(verdict) for verdict in judged]) for key, judged in read.items()}
    share = {key: shares(values) for key, values in certainty.items()}
    keys = [id(head) for head in without]
    return (
        [read[key][case] for case, key in enumerate(keys)],
        np.array([share[key][case] for case, key in enumerate(keys)]),
        certainty[id(final)],
    )


def certify_by_share(
    share: ArrayLike,
    correct: ArrayLike,
    certainty: ArrayLike,
    *,
    risk: float = 0.1,
    delta: float = 0.05,
    groups: Groups = None,
) -> Certificate:
    """The loosest threshold on the final head's certainty that can be certified (see the module).

    Args:
        share: (n,) in [0, 1], of each case by its own head; NaN without a verdict.
        correct: (n,) whether the verdict by that head equals the human label.
        certainty: (n,) of the final head, NaN without a verdict.
        risk, delta, groups: as in `certify.certify`.

    Raises:
        DataError, DeclarationError: as `certify.certify`.
    """
    sure, of_final = np.asarray(certainty, dtype=np.float64), shares(certainty)
    if np.isnan(sure).all():
        raise DataError(f"certify: none of {len(sure)} cases has a certainty. Give a judge's verdicts.")
    least = float(np.nanmin(of_final))  # a head that is equally certain of many cases cannot accept fewer
    path = [allowed for allowed in SHARES if allowed >= least]
    thresholds = [float(sure[of_final <= allowed].min()) for allowed in path]
    table = certainty_table([(1 - np.asarray(share, dtype=np.float64), correct)], groups)
    result = run_sequence(table, [(1 - allowed,) for allowed in path], risk, delta, start=start_by_groups)
    points = {step: CertificatePoint(threshold=thresholds[step], **result.at(step)) for step in result.changes()}
    return Certificate(
        threshold=None if result.last is None else thresholds[result.last],
        stopped=None
        if result.stop is None
        else CertificatePoint(threshold=thresholds[result.stop], **result.at(result.stop)),
        curve=tuple(points.values()),
        **result.summary(),
    )


def start_by_groups(steps: Sequence[Accepted], risk: float, delta: float) -> int:
    """The first step that accepts a tenth of the cases and of which one error is allowed; else the first that can be
    rejected at all; else the last. It reads numbers of groups and cases only."""
    critical = critical_errors([step.groups for step in steps], risk, delta)
    enough = np.array([step.coverage for step in steps]) >= START_COVERAGE
    for candidates in ((critical >= 1) & enough, critical >= 0):
        if candidates.any():
            return int(candidates.argmax())
    return len(steps) - 1


def _certainty(verdict: Verdict) -> float:
    return math.nan if verdict.status != "scored" or verdict.certainty is None else verdict.certainty
