"""What the judge wrote besides its verdicts: factors added for a person, and texts rewritten.

Factors (PREF, arXiv 2508.10028): how many the person's profile added, and how many of the added and of the general ones
are exclusions, found by keyword (see `data.exclusions`). Explanation check: each general factor's weight by the
person's preference against its weight by the data set's explanation of the right answer, over the factors of all
guidelines, and as the mean over guidelines. A guideline with constant weights or under 3 such factors has no
correlation and is left out. The paper gives one value of each and, as far as we know, does not say which of the two.

Corrections (Fennec, arXiv 2405.12163, section 4): both scores are the same judge's, each text judged by itself. Texts
were selected for their low scores, so part of any gain is regression to the mean: unless another judge confirms it,
the gain is an upper bound.
"""

import math
from collections.abc import Iterator

import numpy as np

from ...stats.association import sample_level
from ...stats.proportions import FEWEST
from ...stats.resampling import mean
from ..measure_factories import point_measure, proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays
from .correlation import COEFFICIENTS, resampled_correlation


@register("findings", "added factors", "exclusions", "keyword exclusions", "general exclusions")
def added_factors(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How many factors the person's profile added, and how many of these and of the others are exclusions."""
    factors = run.factors
    if not len(factors.row):
        return
    added, groups = factors.added, run.group[factors.row]
    per_guideline = added.sum() / len(np.unique(factors.guideline))
    description = f"factors that the person's profile added, of all; {per_guideline:.2f} per guideline"
    yield proportion_measure("added factors", added, groups, description)
    for name, flags, which, description in (
        ("exclusions", factors.exclusion, added, "added factors that ask to leave something out"),
        (
            "keyword exclusions",
            factors.aversion,
            added,
            'added factors with "dislike" or "avoid", the keywords of the paper',
        ),
        ("general exclusions", factors.exclusion, ~added, "factors for everybody that ask to leave something out"),
    ):
        if which.any():
            yield proportion_measure(name, flags[which], groups[which], description)


@register("findings", *(f"explained {name}{of}" for name in COEFFICIENTS for of in ("", " by guideline")))
def explained_weights(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Correlation of weights by preference with weights by the explanation of the right answer."""
    factors = run.factors
    checked = ~np.isnan(factors.explained_weight) & ~factors.added
    if checked.sum() < FEWEST:
        return
    weight, explained = factors.weight[checked], factors.explained_weight[checked]
    guideline, row = factors.guideline[checked], factors.row[checked]
    for name, title in COEFFICIENTS.items():
        estimate = resampled_correlation(name, weight, explained, run.group[row], options.seed)
        note = "constant weights" if math.isnan(estimate.value) else ""
        description = f"{title} of factor weights by preference and by the explanation of the right answer"
        yield to_measure(f"explained {name}", estimate, description, note)
    parts = sample_level(weight, explained, guideline)
    if not parts.used:
        return
    row_of = dict(zip(guideline.tolist(), row.tolist(), strict=True))
    groups = run.group[[row_of[number] for number in parts.groups.tolist()]]
    left = f"; {parts.left_out:,} left out" if parts.left_out else ""
    for name, title in COEFFICIENTS.items():
        description = f"{title} within each guideline, mean over {parts.used:,}{left}"
        yield to_measure(f"explained {name} by guideline", mean(parts.per_group[name], groups), description)


@register("findings", "rewrites", "improved rewrites", "rewrite gain")
def rewrites(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """How many texts were rewritten, and whether the judge scores them higher."""
    corrections = run.corrections
    if not (count := len(corrections.row)):
        return
    yield point_measure("rewrites", count / run.n, run.n, f"rewritten texts per case; {count:,} in all")
    known = ~np.isnan(corrections.before) & ~np.isnan(corrections.after)
    if known.any():
        before, after = corrections.before[known], corrections.after[known]
        groups = run.group[corrections.row[known]]
        yield proportion_measure("improved rewrites", after > before, groups, "rewritten texts that score higher")
        description = f"score after less before; mean {before.mean():.2f} -> {after.mean():.2f}"
        yield to_measure("rewrite gain", mean(after - before, groups), description, null_value=0.0)
