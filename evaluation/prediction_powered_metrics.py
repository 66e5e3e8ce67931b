"""What people would say of each system, from few labels and many verdicts of a judge whose bias is taken out.

Labelled cases must be drawn at random from all; see `statistics.estimate` (prediction-powered inference).
"""

from collections.abc import Iterator

import numpy as np

from ..stats.prediction_powered import prediction_powered_mean
from .measure_factories import told, within
from .results import Measure
from .run_arrays import Codes, Columns, Floats

FEWEST = 10  # labels of a system: the judge's bias is learnt from them
WORTH = np.array([1.0, 0.0, 0.5])  # of a, b, tie to the first of a pair


def powered(run: Columns) -> Iterator[Measure]:
    """A win rate or a mean score each system; nothing unless some of its verdicts have no label."""
    for code, system in enumerate(run.systems):
        if run.system.shape[1] == 2 and (run.judge >= 0).any():
            sides = _wins(run, code)
            yield from _estimated(f"{system}: win rate", *sides, run.group, is_share=True)
        elif run.system.shape[1] == 1:
            wrote = run.system[:, 0] == code
            sides = np.where(wrote, run.score, np.nan), np.where(wrote, run.human_score, np.nan)
            yield from _estimated(f"{system}: mean score", *sides, run.group, is_share=False)


def _wins(run: Columns, code: int) -> tuple[Floats, Floats]:
    """What the judge and people give a system in each of its pairs: 1 a win, 0.5 a tie, 0 a loss; NaN elsewhere."""
    first, second = (run.system == code).T
    told = []
    for verdicts in (run.judge, run.human):
        to_first = np.where(np.isin(verdicts, (0, 1, 2)), WORTH[verdicts.clip(0, 2)], np.nan)
        told.append(np.where(first & ~second, to_first, np.where(second & ~first, 1 - to_first, np.nan)))
    return told[0], told[1]


def _estimated(name: str, judge: Floats, human: Floats, groups: Codes, *, is_share: bool) -> Iterator[Measure]:
    given, labelled = ~np.isnan(judge), ~np.isnan(judge) & ~np.isnan(human)
    unlabelled = given & ~labelled
    if labelled.sum() < FEWEST or not unlabelled.any():
        return
    found = prediction_powered_mean(
        human[labelled], judge[labelled], judge[unlabelled], groups[labelled], groups[unlabelled]
    )
    alone = found.classical
    what = (
        f"from {labelled.sum():,} labels and {given.sum():,} verdicts, worth {found.worth:.2f} times the labels; "
        f"labels alone {alone.value:.3f} [{alone.low:.3f}, {alone.high:.3f}]"
    )
    yield told(name, within(found.estimate, 0, 1) if is_share else found.estimate, what, is_share=is_share)
