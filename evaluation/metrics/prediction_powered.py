"""What people would say of each system, from few labels and many verdicts of a judge whose bias is removed.

Labelled cases must be a random sample of all; see `stats.prediction_powered` (prediction-powered inference).
"""

from collections.abc import Iterator

import numpy as np

from ...stats.prediction_powered import prediction_powered_mean
from ..answers import of_answers
from ..measure_factories import clip_interval, to_measure
from ..metric import MetricOptions, register
from ..results import Measure
from ..run_arrays import Codes, Floats, RunArrays

FEWEST_LABELS = 10  # of a system: the judge's bias is estimated from them
TO_FIRST = np.array([1.0, 0.0, 0.5])  # what a, b, tie give to the first text of a pair


@register("powered", "*: win rate", "*: mean score")
@of_answers
def prediction_powered_systems(run: RunArrays, options: MetricOptions) -> Iterator[Measure]:
    """A win rate or a mean score per system; nothing unless some of its verdicts have no label."""
    for code, system in enumerate(run.systems):
        if run.system.shape[1] == 2 and (run.judge >= 0).any():
            sides = _wins(run, code)
            yield from _estimate(f"{system}: win rate", *sides, run.group, is_proportion=True)
        elif run.system.shape[1] == 1:
            wrote = run.system[:, 0] == code
            sides = np.where(wrote, run.score, np.nan), np.where(wrote, run.human_score, np.nan)
            yield from _estimate(f"{system}: mean score", *sides, run.group, is_proportion=False)


def _wins(run: RunArrays, code: int) -> tuple[Floats, Floats]:
    """What the judge and people give a system in each of its pairs: 1 a win, 0.5 a tie, 0 a loss; NaN in others."""
    first, second = (run.system == code).T
    sides = []
    for winners in (run.judge, run.human):
        to_first = np.where(np.isin(winners, (0, 1, 2)), TO_FIRST[winners.clip(0, 2)], np.nan)
        sides.append(np.where(first & ~second, to_first, np.where(second & ~first, 1 - to_first, np.nan)))
    return sides[0], sides[1]


def _estimate(name: str, judge: Floats, human: Floats, groups: Codes, *, is_proportion: bool) -> Iterator[Measure]:
    scored, labelled = ~np.isnan(judge), ~np.isnan(judge) & ~np.isnan(human)
    unlabelled = scored & ~labelled
    if labelled.sum() < FEWEST_LABELS or not unlabelled.any():
        return
    powered = prediction_powered_mean(
        human[labelled], judge[labelled], judge[unlabelled], groups[labelled], groups[unlabelled]
    )
    labels_only = powered.classical
    description = (
        f"from {labelled.sum():,} labels and {scored.sum():,} verdicts, worth {powered.worth:.2f} times the labels; "
        f"labels only {labels_only.value:.3f} [{labels_only.low:.3f}, {labels_only.high:.3f}]"
    )
    estimate = clip_interval(powered.estimate, 0, 1) if is_proportion else powered.estimate
    yield to_measure(name, estimate, description, is_proportion=is_proportion)
