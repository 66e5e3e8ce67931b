"""LLMBar (Zeng et al. 2023, arXiv 2310.07641): evaluators by model and prompting strategy, each asked in both orders.

The source prints its statistics beside each run, with counts and every digit. Its four "kappas" are not agreement with
people beyond chance: its program codes a verdict for the first response 1 and every other one 0, but the gold labels 1
and 2, so that a right verdict for the second response counts as a disagreement. They are recomputed as they were made.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, Field

from ..stats.agreement import confusion, kappa
from ..stats.proportions import Proportion
from .recorded import Preference, read
from .table import Figure, Printed

SUBSETS = ("natural", "gptinst")
FILES = (*(f"llmbar/{subset}.jsonl" for subset in SUBSETS), "llmbar/published_statistics.jsonl")
DIGITS = 9  # of those printed, all that the order of a sum cannot move
COUNTED = {
    "correct_False": "accuracy",
    "correct_True": "accuracy, responses exchanged",
    "correct_both": "both orders correct",
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
    """What the source printed of one run: `"81 / 100 = 81.0%"`, `"82.0%"`, and kappas."""

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


def printed(root: Path) -> dict[str, Printed]:
    """The source's own statistics of every run.

    Raises:
        DataError: a row is damaged, or a share is not written as the source writes shares.
    """
    found: dict[str, Printed] = {}
    for row in read(root / FILES[-1], Statistics):
        run = f"{row.subset}, {row.judge} {row.setting}"
        for field, name in COUNTED.items():
            counts, _, _ = getattr(row, field).partition(" = ")
            hits, _, n = counts.partition(" / ")
            found[f"{run}, {name}"] = Printed(int(hits) / int(n), DIGITS, int(hits), int(n))
        found[f"{run}, {MEAN}"] = Printed(float(row.correct_average.rstrip("%")) / 100, DIGITS)
        for field, name in KAPPAS.items():
            found[f"{run}, {name}"] = Printed(getattr(row, field), DIGITS)
    return found


def figures(root: Path) -> dict[str, Figure]:
    """`<subset>, <model> <strategy>, <statistic>` of every run."""
    found: dict[str, Figure] = {}
    for subset, file in zip(SUBSETS, FILES, strict=False):
        runs: dict[str, list[Preference]] = {}
        for row in read(root / file, Preference):
            runs.setdefault(f"{subset}, {row.judge} {row.setting}", []).append(row)
        for run, rows in runs.items():
            found |= {f"{run}, {name}": figure for name, figure in _statistics(rows).items()}
    return found


def _statistics(rows: list[Preference]) -> dict[str, Figure]:
    own = np.array([row.prediction == row.label for row in rows])
    exchanged = np.array([row.prediction_swapped == row.label for row in rows])
    equal = np.array([row.prediction == row.prediction_swapped for row in rows])
    counted = zip(COUNTED.values(), (own, exchanged, own & exchanged, equal), strict=True)
    found = {name: Figure.share(Proportion(int(hits.sum()), len(rows))) for name, hits in counted}
    found[MEAN] = Figure(float(own.mean() + exchanged.mean()) / 2, len(rows))
    gold = np.array([1 if row.label == "a" else 2 for row in rows])
    first = np.array([row.prediction == "a" for row in rows], dtype=int)
    second = np.array([row.prediction_swapped == "a" for row in rows], dtype=int)
    with_gold = [float(kappa(confusion(gold, verdicts, 3))) for verdicts in (first, second)]
    kappas = (*with_gold, sum(with_gold) / 2, float(kappa(confusion(first, second, 3))))
    return found | {name: Figure(value, len(rows)) for name, value in zip(KAPPAS.values(), kappas, strict=True)}
