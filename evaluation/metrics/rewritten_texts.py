"""The gain of rewritten texts over their originals, by a judge that scored both (Fennec, arXiv 2405.12163, Table 4)."""

from collections.abc import Iterator

import numpy as np

from ...data.rewritten_texts import original_of
from ...stats.resampling import mean
from ..measure_factories import proportion_measure, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import RunArrays


@register("findings", "original score", "corrected score", "rewrite gain", "improved rewrites")
def rewritten_texts(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """Mean scores of originals and of corrected texts, and their difference, where both are scored."""
    row_of = {name: row for row, name in enumerate(run.ids)}
    rows = [(row_of.get(original_of(name) or ""), row) for name, row in row_of.items()]
    pairs = np.array([(first, second) for first, second in rows if first is not None], dtype=np.intp).reshape(-1, 2)
    scores = run.score[pairs]
    known = ~np.isnan(scores).any(axis=1)
    if not known.any():
        return
    (before, after), groups = scores[known].T, run.group[pairs[known, 0]]
    yield to_measure("original score", mean(before, groups), "mean score of the texts that were rewritten")
    yield to_measure("corrected score", mean(after, groups), "mean score of the rewritten texts")
    description = "corrected less original score of the same text, each scored by itself"
    yield to_measure("rewrite gain", mean(after - before, groups), description, null_value=0.0)
    yield proportion_measure("improved rewrites", after > before, groups, "rewritten texts that score higher")
