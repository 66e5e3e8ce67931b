"""PandaLM (Wang et al. 2023, arXiv 2306.05087): two judges on its human-labelled test set, in one order."""

from pathlib import Path

import numpy as np

from ..stats.agreement import confusion, f1, precision, recall
from .recorded import Preference, read
from .table import Figure

FILES = ("pandalm/judgments.jsonl",)
LABELS = ("a", "b", "tie")
MACRO = {"precision": precision, "recall": recall, "F1": f1}


def figures(root: Path) -> dict[str, Figure]:
    """Counts of the majority labels; of each judge accuracy, and precision, recall and F1 averaged over the labels.

    An answer that could not be read is wrong, and is no label that is averaged over.
    """
    judged: dict[str, list[tuple[int, int]]] = {}
    labels: dict[str, str] = {}
    for row in read(root / FILES[0], Preference):
        labels[row.item_id] = row.label
        unread = len(LABELS)
        verdict = unread if row.prediction is None else LABELS.index(row.prediction)
        judged.setdefault(row.judge, []).append((LABELS.index(row.label), verdict))
    found = {f"labels, {label}": Figure.count(list(labels.values()).count(label)) for label in LABELS}
    for judge, pairs in judged.items():
        people, verdicts = np.array(pairs).T
        table = confusion(people, verdicts, len(LABELS) + 1)
        hits = int(np.trace(table))
        found[f"{judge}, accuracy"] = Figure(hits / len(pairs), len(pairs), hits)
        for name, each in MACRO.items():
            found[f"{judge}, {name}"] = Figure(float(each(table)[: len(LABELS)].mean()), len(pairs))
    return found
