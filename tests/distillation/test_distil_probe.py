"""A distillation of mode probe with the embedded model: nothing is trained, and its judge file judges anywhere."""

from pathlib import Path

import pytest
from quality_server import quality_pairs, quality_server

import dicast
from dicast.judging.judge_file import load
from dicast.optimizers.recipe import Parts


@pytest.mark.judge_model
def test_a_probe_of_the_embedded_model_learns_labels_and_the_teachers_probabilities(
    small_model: str, tmp_path: Path
) -> None:
    with quality_server() as server:
        result = dicast.distill(
            dicast.JudgeSpec("direct", server.model_string("teacher"), {"grading": "pairwise"}),
            quality_pairs(44),
            base=small_model,
            unlabelled=quality_pairs(6, labelled=False, start=500),
            out=tmp_path / "out",
            mode="probe",
            parts=Parts(train=0.4, select=0.2, certify=0, test=0.4),
        )
    assert result.status == "complete"
    assert result.judge_file is not None
    assert result.distilled is not None
    assert result.card is None
    assert not (tmp_path / "out" / "training").exists()
    measured = result.distilled.acceptance.cost("student").measured
    assert measured is not None
    assert measured.cpu > 0.001  # the texts are read again, whatever the store holds
    moved = (tmp_path / "out").rename(tmp_path / "moved")
    student = load(moved / "student.judge.json")
    assert student.head is not None
    assert student.head.n > 20  # people's labels of train and select, and the teacher's cases
    assert student(quality_pairs(1, start=900)[0]).status == "scored"
