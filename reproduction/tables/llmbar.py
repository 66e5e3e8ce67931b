"""LLMBar (Zeng et al. 2023, arXiv 2310.07641): evaluators by model and prompting strategy, each asked in both orders.

The source prints the statistics of each run with counts and all digits. Its four "kappas" are not Cohen's kappa with
the labels: its program codes a verdict for the first response as 1 and any other as 0, but the gold labels as 1 and 2,
so that a correct verdict for the second response counts as a disagreement. They are recomputed in the same way.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from ...stats.agreement import confusion, kappa
from ...stats.proportions import Proportion
from ..comparison import PublishedValue, Recomputed
from ..published import register
from ..recorded import RecordedPreference, read

SUBSETS = ("natural", "gptinst")
FILES = (*(f"llmbar/{subset}.jsonl" for subset in SUBSETS), "llmbar/published_statistics.jsonl")
DIGITS = 9  # printed digits that do not depend on the order of a sum
COUNTED = {
    "correct_False": "accuracy",
    "correct_True": "accuracy, responses exchanged",
    "correct_both": "both-orders accuracy",
    "equal": "positional agreement",
}
KAPPAS = {
    "kappa_False": "kappa as printed",
    "kappa_True": "kappa as printed, responses exchanged",
    "kappa_average": "kappa as printed, mean of both orders",
    "kappa_agreement": "kappa as printed, of the two orders",
}
MEAN = "accuracy, mean of both orders"
Counted = Annotated[str, Field(pattern=r"^\d+ / [1-9]\d* = ")]


class Statistics(BaseModel):
    """The printed statistics of one run: `"81 / 100 = 81.0%"`, `"82.0%"`, and kappas."""

    subset: str
    judge: str
    setting: str
    correct_False: Counted
    correct_True: Counted
    correct_average: Annotated[str, Field(pattern=r"^\d+(\.\d+)?%$")]
    correct_both: Counted
    equal: Counted
    kappa_False: float
    kappa_True: float
    kappa_average: float
    kappa_agreement: float


def read_published(root: Path) -> dict[str, PublishedValue]:
    """The source's own statistics of every run.

    Raises:
        DataError: a row is damaged, or a proportion has another format than the source's.
    """
    values: dict[str, PublishedValue] = {}
    for row in read(root / FILES[-1], Statistics):
        run = f"{row.subset}, {row.judge} {row.setting}"
        for field, name in COUNTED.items():
            counts, _, _ = getattr(row, field).partition(" = ")
            hits, _, n = counts.partition(" / ")
            values[f"{run}, {name}"] = PublishedValue(int(hits) / int(n), DIGITS, int(hits), int(n))
        values[f"{run}, {MEAN}"] = PublishedValue(float(row.correct_average.rstrip("%")) / 100, DIGITS)
        for field, name in KAPPAS.items():
            values[f"{run}, {name}"] = PublishedValue(getattr(row, field), DIGITS)
    return values


def recompute(root: Path) -> dict[str, Recomputed]:
    """`<subset>, <model> <strategy>, <statistic>` of every run."""
    values: dict[str, Recomputed] = {}
    for subset, file in zip(SUBSETS, FILES, strict=False):
        runs: dict[str, list[RecordedPreference]] = {}
        for row in read(root / file, RecordedPreference):
            runs.setdefault(f"{subset}, {row.judge} {row.setting}", []).append(row)
        for run, rows in runs.items():
            values |= {f"{run}, {name}": figure for name, figure in _statistics(rows).items()}
    return values


def _statistics(rows: list[RecordedPreference]) -> dict[str, Recomputed]:
    original = np.array([row.prediction == row.label for row in rows])
    exchanged = np.array([row.prediction_swapped == row.label for row in rows])
    equal = np.array([row.prediction == row.prediction_swapped for row in rows])
    counted = zip(COUNTED.values(), (original, exchanged, original & exchanged, equal), strict=True)
    values = {name: Recomputed.proportion(Proportion(int(hits.sum()), len(rows))) for name, hits in counted}
    values[MEAN] = Recomputed(float(original.mean() + exchanged.mean()) / 2, len(rows))
    gold = np.array([1 if row.label == "a" else 2 for row in rows])
    first = np.array([row.prediction == "a" for row in rows], dtype=int)
    second = np.array([row.prediction_swapped == "a" for row in rows], dtype=int)
    with_gold = [float(kappa(confusion(gold, verdicts, 3))) for verdicts in (first, second)]
    kappas = (*with_gold, sum(with_gold) / 2, float(kappa(confusion(first, second, 3))))
    return values | {name: Recomputed(value, len(rows)) for name, value in zip(KAPPAS.values(), kappas, strict=True)}


register("llmbar", FILES, recompute, read_published)
