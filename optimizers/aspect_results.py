"""What a compilation did to each aspect of the cases: the objective before and after, and the paired test."""

import math

import numpy as np
from pydantic import Field

from ..data.case import Record
from ..evaluation.aspects import aspect_name, strata_of
from ..evaluation.measure_factories import to_measure
from ..evaluation.results import Evaluation, Measure, PairedTest, RunComparison
from ..evaluation.run_arrays import RunArrays
from ..stats.resampling import Estimate, bootstrap, mean
from .objective import TEXTS, Objective


class AspectResult(Record):
    """The objective on the test cases of one aspect."""

    aspect: str = Field(description="name of the aspect")
    before: Measure | None = Field(description="of the uncompiled judge; None where it is not defined")
    after: Measure | None = Field(description="of the compiled judge; None where it is not defined")
    test: PairedTest | None = Field(
        description="compiled less uncompiled, p-values as in the comparison; None: too few"
    )


def aspect_results(
    objective: Objective,
    before: tuple[RunArrays, Evaluation],
    after: tuple[RunArrays, Evaluation],
    comparison: RunComparison,
    *,
    seed: int,
) -> tuple[AspectResult, ...]:
    """One result for each aspect of the test part, by name; empty where there are not several.

    Args:
        before: verdicts and measures of the uncompiled judge.
        after: those of the compiled judge.
        comparison: of the compiled judge against the uncompiled one.
        seed: of the intervals of measures that the evaluation lacks.
    """
    strata = strata_of(before[0])
    if not strata.several:
        return ()
    tests = {test.name: test for test in comparison.tests}
    return tuple(
        AspectResult(
            aspect=aspect,
            before=_measure(objective, *before, aspect, seed),
            after=_measure(objective, *after, aspect, seed),
            test=tests.get(aspect_name(objective.name, aspect)),
        )
        for aspect in strata.names
    )


def _measure(objective: Objective, run: RunArrays, evaluation: Evaluation, aspect: str, seed: int) -> Measure | None:
    """The evaluation's measure of this aspect, else the objective of its cases with an interval."""
    name = aspect_name(objective.name, aspect)
    if measure := evaluation.measure(name):
        return measure
    strata = strata_of(run)
    if aspect not in strata.names:
        return None
    part = run.rows(strata.codes == strata.names.index(aspect))
    estimate = _estimate(objective, part, seed)
    return None if math.isnan(estimate.value) else to_measure(name, estimate, objective.summary)


def _estimate(objective: Objective, run: RunArrays, seed: int) -> Estimate:
    if objective.case_values is not None:
        values = objective.case_values(run)
        known = ~np.isnan(values)
        return mean(values[known], run.group[known])
    if objective.statistic is None:
        return Estimate(objective.value(run), math.nan, math.nan, run.n, run.n)
    statistic = objective.statistic
    both = run.rated if objective.kinds == TEXTS else run.labelled
    judge, people = (both.score, both.human_score) if objective.kinds == TEXTS else (both.judge, both.human)
    return bootstrap(lambda rows: statistic(judge[rows], people[rows]), both.n, both.group, seed=seed)
