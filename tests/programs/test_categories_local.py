"""Categories read by a real model: the smallest one, for the plumbing."""

from pathlib import Path

import pytest

import dicast
from dicast.data import Case

TOPICS = tuple(f"topic {number}" for number in range(24))


def case(categories: tuple[str, ...] = ("fail", "pass")) -> Case:
    return Case(
        id="1", query="How do I reset my password?", candidates=({"text": "You can reset it under Settings."},),
        context="Passwords are reset under Settings.", references=("Under Settings.",), categories=categories,
    )  # fmt: skip


@pytest.mark.judge_model
def test_a_small_model_names_categories_by_probability_and_in_writing(tmp_path: Path) -> None:
    path = tmp_path / "support.yaml"
    path.write_text("judges: categories\ncriteria: [Does the response answer the request?, Is it true?]\n")
    for judge in ("direct", str(path)):
        for readout in ("probability", "generate"):
            built = dicast.judge(judge, lm="local/smollm2-135m", readout=readout, min_mass=0.0)
            verdict = built(case())
            assert verdict.status == "scored", verdict.detail
            assert verdict.category in ("fail", "pass")
            assert sum((verdict.distribution or {}).values()) == pytest.approx(1)
    many = dicast.judge("direct", lm="local/smollm2-135m", order="one", min_mass=0.0)(case(TOPICS))
    assert many.category in TOPICS
