"""A student that learnt written answers is asked for them in the words of its training rows, which ask for JSON."""

from pathlib import Path
from typing import Any

import pytest
from tiny_students import tiny_recipe, word_rows, write_set
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.merge import merge
from dicast.distillation.rendering import written_row
from dicast.distillation.row import TrainingRow
from dicast.distillation.train import train
from dicast.engines import models
from dicast.engines.models import get_lm
from dicast.engines.providers.transformers import TorchModel
from dicast.errors import DicastError
from dicast.judging.judge import fenced
from dicast.programs.reverse import Reverse

pytestmark = pytest.mark.torch
SHOWN = {"request": "Name a fruit.", "response": "A shoe.", "judgment": "No fruit. Score: 1."}


def row_of(reverse: Reverse, number: int) -> TrainingRow:
    """What a reverse student learns: a criterion from a judgment."""
    inputs = {name: fenced(text) for name, text in SHOWN.items()}
    return written_row(
        reverse.criterion_stage(1), inputs, {"criterion": f"fruit {number}"},
        case_id=f"c{number}", group=f"g{number}", source="traces", task="reverse.criterion",
    )  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch_or_skip()
    pytest.importorskip("trl")
    sizes = {"num_hidden_layers": 1, "max_position_embeddings": 2048}
    return save_model(tmp_path_factory.mktemp("base") / "llama", "Llama", **sizes)


def asked(model: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The first prompt that the reverse program sends to a model, by message."""
    requests = list[Any]()

    def complete(self: TorchModel, request: Any) -> Any:
        requests.append(request)
        raise OSError("not answered")

    monkeypatch.setattr(TorchModel, "complete", complete)
    monkeypatch.setattr(models, "_lms", {})
    reverse = Reverse().bind(model)
    with pytest.raises(DicastError):
        reverse.criterion_stage(1).call({name: fenced(text) for name, text in SHOWN.items()})
    said = ["".join(part.text for part in message.parts) for message in requests[0].messages]
    return [str(requests[0].system), *said]


def test_a_student_of_json_is_asked_as_its_rows_ask_adapted_and_merged(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = row_of(Reverse(), 0)
    recipe = tiny_recipe(base, length=1024, global_batch=2)
    trained = train(recipe, write_set(tmp_path / "set", [row]), tmp_path / "out")
    merged = merge(trained.folder, tmp_path / "merged")
    expected = [message.content for message in row.prompt]
    for folder in (trained.folder, merged):
        assert get_lm(f"transformers/{folder}", cache=False).answers_json
        assert asked(f"transformers/{folder}", monkeypatch) == expected
    assert asked(f"transformers/{base}", monkeypatch) != expected  # no schema holds a base to JSON


def test_a_student_of_other_words_is_asked_as_any_model_without_a_schema(base: Path, tmp_path: Path) -> None:
    trained = train(tiny_recipe(base), write_set(tmp_path / "set", word_rows(4)), tmp_path / "out")
    assert not get_lm(f"transformers/{trained.folder}", cache=False).answers_json
