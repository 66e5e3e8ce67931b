"""Two runs on the same cases: differences with intervals, paired tests, and p-values adjusted for all tests."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np

from ..stats import paired
from ..stats.bias import repetition
from ..stats.proportions import FEWEST, correlation
from .aspects import Strata, aspect_name, strata_of
from .join import join
from .measure_factories import difference_measure, to_measure
from .metrics.correlation import COEFFICIENTS
from .minimum_detectable_effect import sensitivity
from .paired_answers import credit, paired_answers, recoded_answers
from .results import PairedTest, RunComparison
from .run_arrays import Codes, Floats, RunArrays
from .score_tests import exchange_note, known, mean_test, statistic_tests
from .subgroup_comparison import adjusted, tests_by_field
from .verdict_rules import NO_ANSWER

ALPHA = 0.05  # above this p-value the note says which difference these labels could show
MOST_IDS = 10  # of the cases that only one run scored

# further tests of two runs of the same cases, row by row, and a seed
Tests = Callable[[RunArrays, RunArrays, int], Iterator[PairedTest]]


def compare(
    runs: Sequence[tuple[str, RunArrays]], seed: int = 0, *, more: Tests | None = None, by: Sequence[str] = ()
) -> tuple[RunComparison, ...]:
    """The first run against every other run, on the labelled cases that both have scored.

    Args:
        runs: name and verdicts of each run.
        seed: of permutations and resamples.
        more: further tests.
        by: fields of the first run's cases, for whose values the main figures are compared too.

    Returns:
        One comparison for each run but the first; p-values are adjusted over all of them together, those by fields
        apart.

    Raises:
        DataError: an id is not the same case in two runs.
    """
    (name, first), *others = runs
    comparisons = [_compare((name, first), (other, second), seed, more, by) for other, second in others]
    tests = adjusted([test for comparison in comparisons for test in comparison.tests])
    subgroups = adjusted([test for comparison in comparisons for test in comparison.subgroups])
    return tuple(
        comparison.model_copy(
            update={
                "tests": tuple(islice(tests, len(comparison.tests))),
                "subgroups": tuple(islice(subgroups, len(comparison.subgroups))),
            }
        )
        for comparison in comparisons
    )


def _compare(
    named_first: tuple[str, RunArrays], named_second: tuple[str, RunArrays], seed: int, more: Tests | None,
    by: Sequence[str],
) -> RunComparison:  # fmt: skip
    name, other = named_first[0], named_second[0]
    joined = join([named_first, named_second])
    (first, second), (only_first, only_second) = joined.runs, joined.unshared
    tests = (*_winner_tests(first, second, seed), *_score_tests(first, second, seed))
    if more is not None:
        tests = (*tests, *more(first, second, seed))
    cases = max((test.difference.n for test in tests), default=0)
    return RunComparison(
        first=name,
        second=other,
        cases=cases,
        only_first=len(only_first),
        only_second=len(only_second),
        only_first_ids=only_first[:MOST_IDS],
        only_second_ids=only_second[:MOST_IDS],
        tests=tests,
        subgroups=tuple(tests_by_field(first, second, by, _main_tests, seed)),
    )


def _main_tests(first: RunArrays, second: RunArrays, seed: int) -> Iterator[PairedTest]:
    """The test of accuracy, or of the mean over aspects of Spearman's correlation; none where neither is defined."""
    yield from islice(_winner_tests(first, second, seed), 1)
    yield from islice(_score_tests(first, second, seed, ("spearman",)), 1)


def _winner_tests(first: RunArrays, second: RunArrays, seed: int) -> Iterator[PairedTest]:
    answered = paired_answers(first, second)
    first, second, hits, other_hits = answered.first, answered.second, answered.hits, answered.other_hits
    if not first.n:
        return
    strata = strata_of(first)
    sides = answered.credits
    yield from _proportion_tests("accuracy", sides, first.group, strata, seed)
    both = (first.consistent >= 0) & (second.consistent >= 0) & (second.human >= 0)
    if both.any():
        sides = credit(first.both_orders_correct[both][:, None]), credit(second.both_orders_correct[both][:, None])
        yield from _proportion_tests("both-orders accuracy", sides, first.group[both], strata.part(both), seed)
    certain = ~np.isnan(first.certainty) & ~np.isnan(second.certainty)
    if certain.any():
        losses, other_losses = (
            ((run.certainty[:, None] - right)[certain] ** 2).mean(axis=1)
            for run, right in ((first, hits), (second, other_hits))
        )
        yield mean_test("Brier", losses, other_losses, first.group[certain], seed, "lower is better")
    yield _repetition(first, second, seed)


def _proportion_tests(
    name: str, sides: tuple[Floats, Floats], groups: Codes, strata: Strata, seed: int
) -> Iterator[PairedTest]:  # fmt: skip
    """The test of all cases, then of each aspect where there are several."""
    first, second = sides
    yield _proportion_test(name, first, second, groups, seed)
    for aspect in strata.names if strata.several else ():
        rows = strata.rows(aspect)
        yield _proportion_test(aspect_name(name, aspect), first[rows], second[rows], groups[rows], seed)


def _proportion_test(name: str, first: Floats, second: Floats, groups: Codes, seed: int) -> PairedTest:
    """Exact where cases are independent and right or wrong as a whole, else by whole groups."""
    estimate = paired.difference(first, second, groups)
    whole = bool(np.isin((first, second), (0, 1)).all())
    independent = estimate.groups == estimate.n and whole
    if independent:
        p = paired.mcnemar(first, second).p
    else:
        p = paired.larger_p(paired.permutation(first, second, groups, seed=seed), estimate)
    only_first, only_second = int((first > second).sum()), int((first < second).sum())
    counts = f"{only_first} right only by the first, {only_second} only by the second"
    if not whole:
        counts = f"{only_first} right more often by the first, {only_second} by the second"
    test = PairedTest(
        name=name,
        difference=difference_measure(name, estimate, counts),
        discordant=(only_first, only_second),
        p=known(p),
        note="McNemar, exact" if independent else exchange_note(estimate),
    )
    if p > ALPHA and only_first != only_second and whole:
        return test.model_copy(update={"note": f"{test.note}; {_shown(test)}"})
    return test


def _shown(test: PairedTest) -> str:
    """The difference that these labels show, at a power of 80 %."""
    result, groups = sensitivity(test), test.difference.groups
    if result is not None and result.groups is not None:
        few = f"{groups} groups" if groups else f"{test.difference.n} labels"
        return f"{few} are too few to show any difference, {result.groups} the fewest that can"
    if result is None or result.detectable is None:
        return "these labels are too few to show any difference"
    return f"these labels show a difference of {result.detectable:.3f} or more, with 80 % power"


def _repetition(first: RunArrays, second: RunArrays, seed: int) -> PairedTest:
    """How often both say the same; for one judge run twice this is its repetition."""
    m = max(first.answers.shape[1], second.answers.shape[1])
    labels = (*first.labels, *(label for label in second.labels if label not in first.labels))
    silent = labels.index(NO_ANSWER) if NO_ANSWER in labels else -1
    sides = (np.broadcast_to(recoded_answers(run, labels), (run.n, m)) for run in (first, second))
    ours, theirs = (np.where(side == silent, -1, side).ravel() for side in sides)
    result = repetition(ours, theirs, len(labels), np.repeat(first.group, m), seed=seed)
    description, kappa = "both name the same winner", result.kappa
    if not math.isnan(kappa.value):
        description += f"; kappa {kappa.value:.3f}"
    if not math.isnan(kappa.low):
        description += f" [{kappa.low:.3f}, {kappa.high:.3f}]"
    equal = replace(result.equal, n=result.equal.n // m)
    return PairedTest(
        name="same verdict", difference=to_measure("same verdict", equal, description, is_proportion=True)
    )


def _score_tests(
    first: RunArrays, second: RunArrays, seed: int, names: Sequence[str] = ("pearson", "spearman")
) -> Iterator[PairedTest]:
    rated = ~(np.isnan(first.human_score) | np.isnan(first.score) | np.isnan(second.score))
    if rated.sum() < FEWEST:
        return
    people, groups, strata = first.human_score[rated], first.group[rated], strata_of(first.rows(rated))
    for name in names:
        sides = first.score[rated], second.score[rated]
        description = f"difference of {COEFFICIENTS[name]} with human scores"
        yield from statistic_tests(
            name, partial(correlation, name), sides, people, groups, seed, description, strata=strata
        )
