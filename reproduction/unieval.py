"""UniEval (Zhong et al. 2022, arXiv 2210.07197): correlations with people over all texts of a set."""

from pathlib import Path

import numpy as np

from ..stats.association import data_set_level
from .recorded import Score, read
from .table import Figure

SETS = ("topical_chat_usr", "sfres", "sfhot", "qags_xsum", "qags_cnndm")
FILES = tuple(f"unieval/{name}.jsonl" for name in SETS)


def figures(root: Path) -> dict[str, Figure]:
    """`<set>, <aspect>, <coefficient>`: Pearson's r, Spearman's rho and Kendall's tau-b of the whole set."""
    found: dict[str, Figure] = {}
    for name, file in zip(SETS, FILES, strict=True):
        pairs: dict[str, list[tuple[float, float]]] = {}
        for row in read(root / file, Score):
            if row.label is not None:
                pairs.setdefault(row.aspect, []).append((row.prediction, row.label))
        for aspect, points in pairs.items():
            for coefficient, value in data_set_level(*np.array(points).T).items():
                found[f"{name}, {aspect}, {coefficient}"] = Figure(value, len(points))
    return found
