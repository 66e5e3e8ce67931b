"""Convert estimates to measures: value, interval, n and description."""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..data.counting import groups_text
from ..stats.resampling import Estimate, Groups, group_codes, mean, proportion, quantile, wilson
from .results import Measure

NO_WIDTH = 1e-12  # of an interval of equal values, but for rounding
FEW_GROUPS = 20  # effective groups; below it intervals cover 93 to 97 % only of figures that are not skewed


def to_measure(
    name: str, estimate: Estimate, description: str, note: str = "", *,
    null_value: float | None = None, is_proportion: bool = False,
) -> Measure:  # fmt: skip
    """An estimate as a measure; where it is not defined, the measure has no value and its note says so."""
    defined = not math.isnan(estimate.value)
    bounded = defined and not math.isnan(estimate.low)
    return Measure(
        name=name,
        value=estimate.value if defined else None,
        low=estimate.low if bounded else None,
        high=estimate.high if bounded else None,
        n=estimate.n,
        groups=estimate.groups if estimate.groups < estimate.n else None,
        effective_n=estimate.effective_n,
        effective_groups=estimate.effective_groups if estimate.groups < estimate.n else None,
        design_effect=estimate.design_effect,
        description=description,
        note=note or ("" if defined else "not defined on these cases"),
        kind="proportion" if is_proportion else "number",
        null_value=null_value,
    )


def proportion_measure(
    name: str, hits: ArrayLike, groups: Groups, description: str, note: str = "", *, null_value: float | None = None
) -> Measure:
    """The proportion of cases that are hits.

    Args:
        hits: (n,) truth values; or (n, m) of m answers of each case, which are of its group and count 1 / m each.
        groups: (n,) the group of each case.
    """
    answers = np.asarray(hits, dtype=np.bool_)
    if answers.ndim == 2:
        codes, _ = group_codes(groups, len(answers))
        estimate = proportion(answers.ravel(), np.repeat(codes, answers.shape[1]))
        estimate = replace(estimate, n=len(answers))
    else:
        estimate = proportion(answers, groups)
    return to_measure(name, estimate, description, note, null_value=null_value, is_proportion=True)


def mean_proportion_measure(
    name: str, proportions: ArrayLike, groups: Groups, description: str, note: str = ""
) -> Measure:
    """The mean of (n,) proportions, one per case."""
    return to_measure(name, clip_interval(mean(proportions, groups), 0, 1), description, note, is_proportion=True)


def with_few_groups_warning(measure: Measure) -> Measure:
    """With a warning where the groups count for fewer than 20 of equal size; for the first measures of a run."""
    count = measure.freedom + 1
    if measure.groups is None or count >= FEW_GROUPS:
        return measure
    unequal = "" if measure.effective_groups is None else f" that count for {count:.3g} of equal size"
    warning = (
        f"few effective groups: the {measure.n:,} labelled cases are in {groups_text(measure.groups)}{unequal}. "
        f"Below {FEW_GROUPS} an interval holds the truth less surely; label more groups."
    )
    return measure.model_copy(update={"warning": " ".join(filter(None, (measure.warning, warning)))})


def clip_interval(estimate: Estimate, low: float, high: float) -> Estimate:
    """With an interval inside the range of the statistic: that of a mean may leave it on few cases.

    Where all values are equal, no variation was seen, which is not certainty: in a finite range the interval is then
    Wilson's of a proportion of as many cases, or groups, as no values in the range have a larger variance.
    """
    if math.isfinite(high - low) and 0 <= estimate.high - estimate.low <= NO_WIDTH:
        place, freedom = (estimate.value - low) / (high - low), estimate.freedom
        ends = wilson(min(max(place, 0.0), 1.0), freedom + 1, quantile(0.95, freedom))
        return replace(estimate, low=low + (high - low) * ends[0], high=low + (high - low) * ends[1])
    return replace(estimate, low=max(estimate.low, low), high=min(estimate.high, high))


def difference_measure(name: str, estimate: Estimate, description: str) -> Measure:
    """A difference of proportions; 0 is no difference."""
    return to_measure(name, estimate, description, null_value=0.0, is_proportion=True)


def point_measure(name: str, value: float, n: int, description: str, note: str = "") -> Measure:
    """A value without an interval."""
    return to_measure(name, Estimate(value, math.nan, math.nan, n, n), description, note)
