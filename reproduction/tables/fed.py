"""A replication of the FED metric (Mehri and Eskenazi 2020, arXiv 2006.12719), github.com/DSincerity/FED_Replication.

The human score is the mean of an item's annotations without the furthest one; with all five, none of the 36
coefficients equals the printed one.
"""

from pathlib import Path

import numpy as np

from ...stats.association import data_set_level
from ..comparison import Recomputed
from ..published import register
from ..recorded import RecordedScore, read

FILES = ("fed_metric/judgments.jsonl",)


def recompute(root: Path) -> dict[str, Recomputed]:
    """`<turn or dialog>, <aspect>, <coefficient>`, over all turns or dialogs."""
    pairs: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in read(root / FILES[0], RecordedScore):
        if row.label_outlier_removed is not None:
            pairs.setdefault((row.setting, row.aspect), []).append((row.prediction, row.label_outlier_removed))
    return {
        f"{level}, {aspect}, {coefficient}": Recomputed(value, len(points))
        for (level, aspect), points in pairs.items()
        for coefficient, value in data_set_level(*np.array(points).T).items()
    }


register("fed-replication", FILES, recompute)
