"""Two runs on the same cases: differences with intervals, paired tests, and p-values adjusted for being many."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..stats import paired
from ..stats.bias import repetition
from ..stats.proportions import FEWEST, correlation
from ..stats.resampling import bootstrap
from .measure_factories import difference_measure, to_measure
from .metrics.correlation import COEFFICIENTS
from .minimum_detectable_effect import sensitivity
from .results import Comparison, PairedTest
from .run_arrays import Codes, Floats, RunArrays

ALPHA = 0.05  # of a test that is told to have shown nothing
SWAPS = 1000  # of the permutation tests of figures of all cases together

Tests = Callable[
    [RunArrays, RunArrays, int], Iterator[PairedTest]
]  # of two runs of the same cases, row by row, and a seed
Figure = Callable[[NDArray[Any], NDArray[Any]], float]  # of (n,) outputs of a judge and (n,) of people


def compare(
    runs: Sequence[tuple[str, RunArrays]], seed: int = 0, *, more: Tests | None = None
) -> tuple[Comparison, ...]:
    """The first run against each other one, on the labelled cases that both have scored.

    Args:
        runs: each one's name and verdicts.
        seed: of permutations and resamples.
        more: makes further tests.

    Returns:
        One comparison for each run but the first; p-values are adjusted over all of them together.
    """
    (name, first), *others = runs
    found = [_compare((name, first), (other, second), seed, more) for other, second in others]
    p_values = [math.nan if test.p is None else test.p for one in found for test in one.tests]
    adjusted = iter(paired.holm(p_values).tolist())
    return tuple(
        one.model_copy(update={"tests": tuple(_adjust(test, adjusted) for test in one.tests)}) for one in found
    )


def _adjust(test: PairedTest, adjusted: Iterator[float]) -> PairedTest:
    p = next(adjusted)
    return test if math.isnan(p) else test.model_copy(update={"p_holm": p})


def _compare(one: tuple[str, RunArrays], two: tuple[str, RunArrays], seed: int, more: Tests | None) -> Comparison:
    (name, first), (other, second) = one, two
    ours, theirs = set(first.ids), set(second.ids)
    first, second = (
        run.rows(np.array([one in ours & theirs for one in run.ids], dtype=bool)) for run in (first, second)
    )
    tests = (*_winners(first, second, seed), *_scores(first, second, seed))
    if more is not None:
        tests = (*tests, *more(first, second, seed))
    cases = max((test.difference.n for test in tests), default=0)
    return Comparison(
        first=name,
        second=other,
        cases=cases,
        only_first=len(ours - theirs),
        only_second=len(theirs - ours),
        tests=tests,
    )


def _winners(first: RunArrays, second: RunArrays, seed: int) -> Iterator[PairedTest]:
    verdict, other = first.judge, recoded(second, first.labels)
    kept = (first.human >= 0) & (verdict >= 0) & (other != -1)
    if not kept.any():
        return
    one, two = first.rows(kept), second.rows(kept)
    right, also_right = one.judge == one.human, other[kept] == one.human
    yield _shares("accuracy", right, also_right, one.group, seed)
    both = (one.consistent >= 0) & (two.consistent >= 0) & (two.human >= 0)
    if both.any():
        sides = one.both_orders_correct[both], two.both_orders_correct[both]
        yield _shares("agreement", *sides, one.group[both], seed)
    sure = ~np.isnan(one.certainty) & ~np.isnan(two.certainty)
    if sure.any():
        ours, theirs = ((run.certainty - hits)[sure] ** 2 for run, hits in ((one, right), (two, also_right)))
        yield of_means("Brier", ours, theirs, one.group[sure], seed, "lower is better")
    yield from _alike(one.judge, other[kept], len(first.labels) + len(second.labels), one.group, seed)


def _shares(name: str, first: NDArray[Any], second: NDArray[Any], groups: Codes, seed: int) -> PairedTest:
    """Exact where cases are independent, else by whole groups."""
    figure = paired.difference(first, second, groups)
    alone = figure.groups == figure.n
    p = paired.mcnemar(first, second).p if alone else paired.permutation(first, second, groups, seed=seed)
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    counts = f"{only_first} right by the first alone, {only_second} by the second"
    told = PairedTest(
        name=name,
        difference=difference_measure(name, figure, counts),
        discordant=(only_first, only_second),
        p=_known(p),
        note="McNemar, exact" if alone else "permutation of whole groups",
    )
    if p > ALPHA and only_first != only_second:
        return told.model_copy(update={"note": f"{told.note}; {_needed(told)}"})
    return told


def of_means(name: str, first: Floats, second: Floats, groups: Codes, seed: int, what: str) -> PairedTest:
    """The test of two means of one number a case."""
    difference = to_measure(name, paired.difference(first, second, groups), what, null_value=0.0)
    p = paired.permutation(first, second, groups, seed=seed)
    return PairedTest(name=name, difference=difference, p=_known(p), note="permutation of whole groups")


def of_wholes(
    name: str, figure: Figure, sides: tuple[NDArray[Any], NDArray[Any]], people: NDArray[Any], groups: Codes,
    seed: int, what: str,
) -> PairedTest:  # fmt: skip
    """The test of a figure in [-1, 1] that only all cases together have; both sides are on one scale."""
    one, two = sides
    p = paired.permutation_statistic(lambda said: figure(said, people), one, two, groups, resamples=SWAPS, seed=seed)

    def difference(rows: NDArray[np.intp]) -> float:
        return figure(one[rows], people[rows]) - figure(two[rows], people[rows])

    found = bootstrap(difference, len(people), groups, seed=seed, bounds=(-2.0, 2.0))
    measure = to_measure(name, found, what, null_value=0.0)
    return PairedTest(name=name, difference=measure, p=_known(p), note="permutation of whole groups")


def _needed(test: PairedTest) -> str:
    """How many labels would show the difference, at a power of 80 %."""
    found, groups = sensitivity(test), test.difference.groups
    if found is not None and found.groups is not None:
        few = f"{groups} groups" if groups else f"{test.difference.n} labels"
        return f"{few} are too few to show any difference, {found.groups} the fewest that can"
    if found is None or found.labels is None:
        return "far more labels to show such a difference"
    labels = "labels in such groups" if groups else "independent labels"
    return f"about {found.labels:,} {labels} to show such a difference"


def _alike(first: Codes, second: Codes, k: int, groups: Codes, seed: int) -> Iterator[PairedTest]:
    """How often both say the same: of one judge asked twice this is its repetition."""
    found = repetition(first, second, k, groups, seed=seed)
    what, kappa = "both name the same winner", found.kappa
    if not math.isnan(kappa.value):
        what += f"; kappa {kappa.value:.3f}"
    if not math.isnan(kappa.low):
        what += f" [{kappa.low:.3f}, {kappa.high:.3f}]"
    yield PairedTest(name="same verdict", difference=to_measure("same verdict", found.equal, what, is_proportion=True))


def _scores(first: RunArrays, second: RunArrays, seed: int) -> Iterator[PairedTest]:
    kept = ~(np.isnan(first.human_score) | np.isnan(first.score) | np.isnan(second.score))
    if kept.sum() < FEWEST:
        return
    for name in ("pearson", "spearman"):
        sides = on_one_scale(name, first.score[kept], second.score[kept])
        what = f"difference of {COEFFICIENTS[name]} with people's scores"
        figure = partial(correlation, name)
        yield of_wholes(name, figure, sides, first.human_score[kept], first.group[kept], seed, what)


def on_one_scale(name: str, one: Floats, two: Floats) -> tuple[Floats, Floats]:
    """Both sides on one scale, as the exchange of their outputs asks for: standard deviations, or ranks where the
    correlation is of ranks."""
    from scipy.stats import rankdata

    if name != "pearson":
        return rankdata(one), rankdata(two)
    first, second = ((side - side.mean()) / (side.std() or 1.0) for side in (one, two))
    return first, second


def recoded(run: RunArrays, labels: tuple[str, ...]) -> Codes:
    """The verdicts as codes of another run's labels; a label that it does not have gets a code of its own beyond."""
    names = {label: code for code, label in enumerate(labels)}
    codes = np.array([names.get(label, len(labels) + code) for code, label in enumerate(run.labels)] + [-1])
    return np.asarray(codes[run.judge], dtype=np.int64)


def _known(p: float) -> float | None:
    return None if math.isnan(p) else p
