"""PandaLM (Wang et al. 2023, arXiv 2306.05087): two judges on its human-labelled test set, in one order."""

from pathlib import Path

import numpy as np

from ...stats.agreement import confusion, f1, precision, recall
from ..comparison import Recomputed
from ..published import register
from ..recorded import RecordedPreference, read

FILES = ("pandalm/judgments.jsonl",)
LABELS = ("a", "b", "tie")
MACRO = {"precision": precision, "recall": recall, "F1": f1}


def recompute(root: Path) -> dict[str, Recomputed]:
    """Counts of the majority labels; of each judge accuracy, and precision, recall and F1 averaged over the labels.

    An answer that could not be parsed is wrong, and is not a label of the mean.
    """
    judged: dict[str, list[tuple[int, int]]] = {}
    labels: dict[str, str] = {}
    for row in read(root / FILES[0], RecordedPreference):
        labels[row.item_id] = row.label
        unread = len(LABELS)
        verdict = unread if row.prediction is None else LABELS.index(row.prediction)
        judged.setdefault(row.judge, []).append((LABELS.index(row.label), verdict))
    values = {f"labels, {label}": Recomputed.count(list(labels.values()).count(label)) for label in LABELS}
    for judge, pairs in judged.items():
        people, verdicts = np.array(pairs).T
        table = confusion(people, verdicts, len(LABELS) + 1)
        hits = int(np.trace(table))
        values[f"{judge}, accuracy"] = Recomputed(hits / len(pairs), len(pairs), hits)
        for name, metric in MACRO.items():
            values[f"{judge}, {name}"] = Recomputed(float(metric(table)[: len(LABELS)].mean()), len(pairs))
    return values


register("pandalm", FILES, recompute)
