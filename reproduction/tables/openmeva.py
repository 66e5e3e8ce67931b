"""ChatGPT as a judge of OpenMEVA's stories (Wang et al. 2023, arXiv 2303.04048): its stars against human scores."""

from pathlib import Path

import numpy as np

from ...stats.association import data_set_level, sample_level
from ..comparison import Recomputed
from ..published import register
from ..recorded import RecordedScore, read

FILES = ("openmeva_chatgpt/judgments.jsonl",)


def recompute(root: Path) -> dict[str, Recomputed]:
    """`<judge>, <level>, <coefficient>`: over all stories, and the mean of the coefficients inside each prompt.

    A prompt's stories are those whose item ids are equal but for the last part. Prompts where one side is constant
    have no correlation and are left out.
    """
    rows: dict[str, list[tuple[str, float, float]]] = {}
    for row in read(root / FILES[0], RecordedScore):
        if row.label is not None:
            rows.setdefault(row.judge, []).append((row.item_id.rpartition("/")[0], row.prediction, row.label))
    values: dict[str, Recomputed] = {}
    for judge, stories in rows.items():
        prompts = [prompt for prompt, _, _ in stories]
        scores, human = np.array([(score, mean) for _, score, mean in stories]).T
        by_prompt = sample_level(scores, human, prompts)
        used = int(np.isin(prompts, by_prompt.groups).sum())
        levels = (
            ("data-set level", data_set_level(scores, human), len(stories)),
            ("sample level", by_prompt.values, used),
        )
        values |= {
            f"{judge}, {level}, {coefficient}": Recomputed(value, n)
            for level, values, n in levels
            for coefficient, value in values.items()
        }
    return values


register("openmeva-chatgpt", FILES, recompute)
