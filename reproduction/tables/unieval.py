"""UniEval (Zhong et al. 2022, arXiv 2210.07197): correlations with human scores over all texts of a set."""

from pathlib import Path

import numpy as np

from ...stats.association import data_set_level
from ..comparison import Recomputed
from ..published import register
from ..recorded import RecordedScore, read

SETS = ("topical_chat_usr", "sfres", "sfhot", "qags_xsum", "qags_cnndm")
FILES = tuple(f"unieval/{name}.jsonl" for name in SETS)


def recompute(root: Path) -> dict[str, Recomputed]:
    """`<set>, <aspect>, <coefficient>`: Pearson's r, Spearman's rho and Kendall's tau-b of the whole set."""
    values: dict[str, Recomputed] = {}
    for name, file in zip(SETS, FILES, strict=True):
        pairs: dict[str, list[tuple[float, float]]] = {}
        for row in read(root / file, RecordedScore):
            if row.label is not None:
                pairs.setdefault(row.aspect, []).append((row.prediction, row.label))
        for aspect, points in pairs.items():
            for coefficient, value in data_set_level(*np.array(points).T).items():
                values[f"{name}, {aspect}, {coefficient}"] = Recomputed(value, len(points))
    return values


register("unieval", FILES, recompute)
