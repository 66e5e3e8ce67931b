"""Paired tests of two judges' scores of the same texts: of the mean over aspects, and of each aspect."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats import paired
from ..stats.resampling import Estimate, bootstrap
from .aspects import OfRows, Rows, Strata, aspect_name
from .measure_factories import to_measure
from .results import PairedTest
from .run_arrays import Codes, Floats

EXCHANGES = 1000  # of the permutation tests of statistics of all cases together
SWAPPED_GROUPS = "permutation of whole groups"
UNEQUAL_GROUPS = "the larger p of permuting whole groups and of the interval"
Statistic = Callable[[NDArray[Any], NDArray[Any]], float]  # of (n,) outputs of a judge and (n,) of people


def mean_test(
    name: str, first: Floats, second: Floats, groups: Codes, seed: int, description: str, strata: Strata | None = None
) -> PairedTest:
    """The test of two means of one number per case, (n,) each; with strata of the means over aspects."""
    if strata is None or not strata.several:
        estimate = paired.difference(first, second, groups)
        words, weights = "", np.ones(len(first))
    else:
        estimate = paired.difference(strata.balanced(first), strata.balanced(second), groups)
        words, weights = strata.words(strata.names), strata.weights
    p = paired.larger_p(paired.permutation(weights * first, weights * second, groups, seed=seed), estimate)
    difference = to_measure(name, estimate, description + words, null_value=0.0)
    return PairedTest(name=name, difference=difference, p=known(p), note=_note(estimate, strata))


def mean_tests(
    name: str, first: Floats, second: Floats, groups: Codes, seed: int, description: str, *, strata: Strata,
    pooled: bool = False,
) -> Iterator[PairedTest]:  # fmt: skip
    """The test of the mean over aspects, or of all cases if `pooled`, then of each aspect where there are several."""
    yield mean_test(name, first, second, groups, seed, description, None if pooled else strata)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        yield mean_test(aspect_name(name, aspect), first[rows], second[rows], groups[rows], seed, description)


def statistic_test(
    name: str, statistic: Statistic, sides: tuple[NDArray[Any], NDArray[Any]], people: NDArray[Any], groups: Codes,
    seed: int, description: str, strata: Strata | None = None,
) -> PairedTest:  # fmt: skip
    """The test of a statistic in [-1, 1] that only all cases together have, or its mean over aspects.

    Whole groups are swapped and drawn, with all their aspects together. Aspects on which the statistic of either judge
    is not defined are left out, and the description says so.

    Args:
        sides: (n,) outputs of the two judges, on one scale within each aspect; see `on_one_scale`.
        people: (n,) human labels or scores.
    """
    first, second = sides
    strata = strata or Strata(("",), np.zeros(len(people), dtype=np.int64))
    words = ""
    if strata.several:
        used = strata.defined(_of_rows(statistic, first, people), _of_rows(statistic, second, people))
        words = strata.words(used)
        rows = np.isin(strata.codes, [strata.names.index(aspect) for aspect in used])
        first, second, people, groups, part = first[rows], second[rows], people[rows], groups[rows], strata.part(rows)
    else:
        part = strata
    everything = np.arange(len(people))
    p = paired.permutation_statistic(
        lambda side: part.mean_of(_of_rows(statistic, side, people))(everything),
        first, second, groups, resamples=EXCHANGES, seed=seed,
    )  # fmt: skip
    ours, theirs = (part.mean_of(_of_rows(statistic, side, people)) for side in (first, second))
    bounds = (-2.0, 2.0)
    estimate = bootstrap(lambda rows: ours(rows) - theirs(rows), len(people), groups, seed=seed, bounds=bounds)
    measure = to_measure(name, estimate, description + words, null_value=0.0)
    p = paired.larger_p(p, estimate, bounds=bounds)
    return PairedTest(name=name, difference=measure, p=known(p), note=_note(estimate, strata))


def statistic_tests(
    name: str, statistic: Statistic, sides: tuple[Floats, Floats], people: Floats, groups: Codes, seed: int,
    description: str, *, strata: Strata,
) -> Iterator[PairedTest]:  # fmt: skip
    """The test of a statistic of scores as the mean over aspects, then of each aspect where there are several."""
    first, second = on_one_scale(name, *sides, strata)
    yield statistic_test(name, statistic, (first, second), people, groups, seed, description, strata)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        part = (first[rows], second[rows]), people[rows], groups[rows]
        yield statistic_test(aspect_name(name, aspect), statistic, *part, seed, description)


def on_one_scale(name: str, first: Floats, second: Floats, strata: Strata) -> tuple[Floats, Floats]:
    """Both sides on one scale within each aspect, which the exchange of their outputs requires: ranks, or standard
    deviations for Pearson's correlation."""
    scaled = np.empty(len(first)), np.empty(len(first))
    for aspect in strata.names:
        rows = strata.rows(aspect)
        for side, result in zip((first, second), scaled, strict=True):
            result[rows] = _standardised(side[rows]) if name == "pearson" else _ranks(side[rows])
    return scaled


def known(p: float) -> float | None:
    """The p-value; None if it is NaN."""
    return None if math.isnan(p) else p


def _of_rows(statistic: Statistic, side: NDArray[Any], people: NDArray[Any]) -> OfRows:
    def of_rows(rows: Rows) -> float:
        return statistic(side[rows], people[rows])

    return of_rows


def _ranks(side: Floats) -> Floats:
    from scipy.stats import rankdata

    ranks: Floats = rankdata(side)
    return ranks


def _standardised(side: Floats) -> Floats:
    standardised: Floats = (side - side.mean()) / (side.std() or 1.0)
    return standardised


def exchange_note(estimate: Estimate) -> str:
    """The test of exchanged groups in words."""
    return SWAPPED_GROUPS if estimate.effective_groups is None else UNEQUAL_GROUPS


def _note(estimate: Estimate, strata: Strata | None) -> str:
    aspects = ", all aspects together" if strata is not None and strata.several else ""
    return exchange_note(estimate) + aspects
