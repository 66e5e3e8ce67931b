"""Baselines without a model: a judge below them has shown nothing."""

from collections.abc import Iterator

import numpy as np

from ...stats import paired
from ...stats.association import pair_codes
from ..measure_factories import difference_measure, proportion_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays


@register("baselines")
def baselines(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """The most frequent label, the longer text, and the judge's accuracy above each."""
    both = run.labelled
    if not both.n:
        return
    hits = both.judge == both.human
    most = int(np.bincount(both.human).argmax())
    always = both.human == most
    description = f"always {both.labels[most]!r}, the most frequent human label of these cases"
    yield proportion_measure("majority", always, both.group, description)
    lead = paired.difference(hits, always, both.group)
    yield difference_measure("above majority", lead, "accuracy less that of majority")
    if (known := ~np.isnan(both.length_difference)).any():
        longer = pair_codes(both.length_difference[known]) == both.human[known]
        yield proportion_measure("longer", longer, both.group[known], "the longer text wins, equal lengths tie")
        lead = paired.difference(hits[known], longer, both.group[known])
        yield difference_measure("above longer", lead, "accuracy less that of longer")
