"""Auto-J (Li et al. 2023, arXiv 2310.05470) on its own pairwise test set, asked in both orders."""

from pathlib import Path

from ...stats.proportions import Proportion
from ..comparison import Recomputed
from ..published import register
from ..recorded import RecordedPreference, read

FILES = ("autoj/judgments.jsonl",)


def recompute(root: Path) -> dict[str, Recomputed]:
    """Both-orders accuracy: both orders name the human label; consistency: both name the same. In percent."""
    rows = [(row.prediction, row.prediction_swapped, row.label) for row in read(root / FILES[0], RecordedPreference)]
    right = sum(first == second == label for first, second, label in rows)
    consistent = sum(first == second and first is not None for first, second, _ in rows)
    return {
        name: Recomputed(100 * Proportion(hits, len(rows)).value, len(rows), hits)
        for name, hits in (("both-orders accuracy", right), ("consistency", consistent))
    }


register("autoj", FILES, recompute)
