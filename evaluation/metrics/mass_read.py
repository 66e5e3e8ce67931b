"""How much of the model's probability lay on the options that it was offered, where probabilities were read.

A judgment is read from what the options hold. Where that is little, the model would mostly have said something else,
and the distribution over the options is about a remainder. A question below the floor of its judge is not in these
figures: its case is unscored with the reason `unreadable`.
"""

from collections.abc import Iterator

import numpy as np

from ...stats.resampling import mean
from ..measure_factories import clip_interval, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays

LITTLE = 0.5  # below, most of what the model would say is no answer
LOW = 0.05  # the quantile that is shown beside the mean


@register("readout", "mass read", "mass read, lowest 5 %")
def mass_read(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Mean and 5 % quantile of the probability on the offered options, over all findings that were read."""
    read = run.mass_read
    if not len(read.row):
        return
    groups = run.group[read.row]
    estimate = clip_interval(mean(read.mass, groups), 0, 1)
    description = "probability that the offered options hold, mean over what was read"
    measure = to_measure("mass read", estimate, description, is_proportion=True)
    yield measure.model_copy(update={"warning": warning_of(estimate.value)})
    yield Measure(
        name="mass read, lowest 5 %",
        value=float(np.quantile(read.mass, LOW)),
        n=len(read.mass),
        groups=estimate.groups if estimate.groups < estimate.n else None,
        description="the options hold at most this much in 5 % of what was read",
        kind="proportion",
    )


def warning_of(mass: float) -> str:
    """What a reader must know of a mean this low; empty for a mean of .5 or more."""
    if mass >= LITTLE:
        return ""
    return (
        f"the options hold {mass:.0%} of the probability on average: the model would mostly say something else. "
        "Use --readout generate, or another model; dicast check --lm MODEL shows what it says."
    )
