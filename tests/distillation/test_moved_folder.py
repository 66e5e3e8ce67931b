"""A folder that is moved or copied: its student is the one in it, and evidence is known by weights, not by places."""

import re
import shutil
from pathlib import Path

import pytest

from dicast.distillation.trained_model import TrainedModel
from dicast.errors import DeclarationError
from dicast.judging import build
from dicast.optimizers.evidence import identity
from dicast.optimizers.finetune import FineTuned


def weights(path: Path, content: bytes = b"GGUF some weights") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("training", ["training", "finetune/training"])
def test_the_student_of_a_moved_folder_is_the_one_in_it(training: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    model = f"local/{weights(old / training / 'student.gguf').resolve()}"
    for record in (TrainedModel(model=model), FineTuned(model=model)):
        written = record.named_in(old)
        assert written.model == f"local/./{training}/student.gguf"
        assert found(written, old).model == model
        old.rename(new)
        assert found(written, new).model == f"local/{(new / training / 'student.gguf').resolve()}"
        weights(old / training / "student.gguf")  # a copy is another's
        assert found(written, new).model == f"local/{(new / training / 'student.gguf').resolve()}"
        weights(new / training / "student.gguf", b"GGUF other weights")
        with pytest.raises(DeclarationError, match=rf"{re.escape(training)}/student\.gguf are not those"):
            found(written, new)
        shutil.rmtree(new)


def test_a_model_that_is_not_in_the_folder_is_named_as_it_is(tmp_path: Path) -> None:
    elsewhere = f"local/{weights(tmp_path / 'elsewhere.gguf').resolve()}"
    for other in (elsewhere, "openai/gpt-4o", "transformers/qwen", "transformers/hub/student", ""):
        for record in (TrainedModel(model=other), FineTuned(model=other)):
            written = record.named_in(tmp_path / "out")
            assert (written.model, written.digest) == (other, "")
            assert found(written, tmp_path / "moved").model == other


def test_the_student_of_an_earlier_version_is_found_by_its_name(tmp_path: Path) -> None:
    before = TrainedModel(model=f"transformers/{tmp_path}/old/training/student")
    assert before.found_in(tmp_path / "new", "training") == before  # nothing is there
    (tmp_path / "new" / "training" / "student").mkdir(parents=True)
    found = before.found_in(tmp_path / "new", "training")
    assert found.model == f"transformers/{(tmp_path / 'new' / 'training' / 'student').resolve()}"
    assert found.folder == tmp_path / "new" / "training" / "student"


def found(record: TrainedModel | FineTuned, folder: Path) -> TrainedModel | FineTuned:
    return record.found_in(folder) if isinstance(record, FineTuned) else record.found_in(folder, "training")


def test_evidence_of_the_same_weights_in_another_place_is_the_same(tmp_path: Path) -> None:
    def known(name: str, content: bytes) -> dict[str, object]:
        path = weights(tmp_path / name / "judge.gguf", content)
        return identity(build("direct", grading="pairwise").bind(f"local/{path}"))

    first = known("here", b"GGUF some weights")
    assert known("there", b"GGUF some weights") == first
    assert str(tmp_path) not in str(first)
    assert known("there", b"GGUF other weights") != first
