"""The verdicts that a reader should look at first: confident disagreements with people, scores furthest apart."""

import numpy as np

from .run_arrays import Floats, RunArrays


def disagreements(run: RunArrays, most: int) -> list[str]:
    """The ids of at most `most` verdicts that differ from people's, the worst first.

    A wrong winner is the worse the surer the judge was (without a certainty: least); a text's score the further its
    place among all of the judge's scores is from its place among people's.
    """
    wrong = (run.judge >= 0) & (run.human >= 0) & (run.judge != run.human)
    severity = np.where(wrong, 1 + np.nan_to_num(run.certainty), 0.0)
    texts = ~np.isnan(run.score) & ~np.isnan(run.human_score)
    if texts.any():
        severity[texts] = np.abs(places(run.score[texts]) - places(run.human_score[texts]))
    order = np.lexsort((np.arange(run.n), -severity))[:most]
    return [run.ids[index] for index in order if severity[index] > 0]


def places(scores: Floats) -> Floats:
    """Each score's mid rank as a proportion of all, in (0, 1)."""
    from scipy.stats import rankdata

    return np.asarray((rankdata(scores) - 0.5) / len(scores), dtype=np.float64)
