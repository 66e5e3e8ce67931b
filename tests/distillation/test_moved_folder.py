"""A folder that is moved or copied: its student is the one in it, and evidence is known by weights, not by places."""

from pathlib import Path

from dicast.distillation.trained_model import TrainedModel
from dicast.judging import build
from dicast.optimizers.evidence import identity


def test_the_student_of_a_moved_folder_is_the_one_in_it(tmp_path: Path) -> None:
    before = TrainedModel(model=f"transformers/{tmp_path}/old/training/student")
    new = tmp_path / "new" / "training"
    assert before.in_folder(new) == before  # nothing is there
    (new / "student").mkdir(parents=True)
    assert before.in_folder(new).model == f"transformers/{(new / 'student').resolve()}"
    assert before.in_folder(new).folder == new / "student"
    for other in ("openai/gpt-4o", "transformers/qwen", ""):
        assert TrainedModel(model=other).in_folder(new).model == other


def test_evidence_of_the_same_weights_in_another_place_is_the_same(tmp_path: Path) -> None:
    def known(name: str, content: bytes) -> dict[str, object]:
        path = tmp_path / name / "judge.gguf"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return identity(build("direct", grading="pairwise").bind(f"local/{path}"))

    first = known("here", b"GGUF some weights")
    assert known("there", b"GGUF some weights") == first
    assert str(tmp_path) not in str(first)
    assert known("there", b"GGUF other weights") != first
