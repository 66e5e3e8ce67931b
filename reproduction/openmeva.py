"""ChatGPT as a judge of OpenMEVA's stories (Wang et al. 2023, arXiv 2303.04048): its stars and people's scores."""

from pathlib import Path

import numpy as np

from ..stats.association import data_set_level, sample_level
from .recorded import Score, read
from .table import Figure

FILES = ("openmeva_chatgpt/judgments.jsonl",)


def figures(root: Path) -> dict[str, Figure]:
    """`<judge>, <level>, <coefficient>`: over all stories, and inside each prompt and then averaged.

    A prompt's stories are those whose item ids are equal but for the last part. Prompts where one side is constant
    have no correlation and are left out.
    """
    rows: dict[str, list[tuple[str, float, float]]] = {}
    for row in read(root / FILES[0], Score):
        if row.label is not None:
            rows.setdefault(row.judge, []).append((row.item_id.rpartition("/")[0], row.prediction, row.label))
    found: dict[str, Figure] = {}
    for judge, stories in rows.items():
        prompts = [prompt for prompt, _, _ in stories]
        scores, human = np.array([(score, mean) for _, score, mean in stories]).T
        within = sample_level(scores, human, prompts)
        used = int(np.isin(prompts, within.groups).sum())
        levels = (
            ("data-set level", data_set_level(scores, human), len(stories)),
            ("sample level", within.values, used),
        )
        found |= {
            f"{judge}, {level}, {coefficient}": Figure(value, n)
            for level, values, n in levels
            for coefficient, value in values.items()
        }
    return found
