"""How far two judges agree on the ranking of systems, by the mean scores of their texts: no human label is needed.

Fennec (arXiv 2405.12163, Figure 4) holds its mean single scores per system against those of another judge.
"""

from collections.abc import Iterator

import numpy as np

from ..stats.association import COEFFICIENTS
from ..stats.proportions import FEWEST
from ..stats.ranking import mean_scores
from ..stats.system_agreement import draw_groups, mean_score_draws, system_agreement
from .answer_table import AnswerTable
from .measure_factories import to_measure
from .results import Measure


def ranked_alike(table: AnswerTable, first: int, second: int, *, seed: int) -> Iterator[Measure]:
    """Correlations of the two judges' mean scores of the systems; none of verdicts, or of fewer than 3 systems."""
    k = len(table.systems)
    if not table.of_scores or k < FEWEST:
        return
    drawn = draw_groups(table.group, len(table.ids), seed=seed)
    sides = [table.answers[judge] for judge in (first, second)]
    means = [np.array([mean.value for mean in mean_scores(side, table.system, k, table.group)]) for side in sides]
    resampled = [mean_score_draws(side, table.system, k, drawn) for side in sides]
    for name, estimate in system_agreement(*means, *resampled, seed=seed).items():
        if name in COEFFICIENTS and estimate.n >= FEWEST:
            description = f"the two judges' mean scores of {estimate.n} systems; prompts and systems drawn again"
            yield to_measure(f"systems {name}", estimate, description)
