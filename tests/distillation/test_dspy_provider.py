"""DSPy's own optimizers train an LM with our trainer: a scripted one; with torch a tiny random model."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dspy
import pytest
from tiny_torch import save_model, torch_or_skip

from dicast.distillation.dspy_provider import LocalTrainingJob, TrainableLM, TrainingProvider, chat_row, trainable_lm
from dicast.distillation.trained_model import TrainedModel, Trainer
from dicast.distillation.training_set import read_set
from dicast.errors import DeclarationError
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.testing import MockServer

EXAMPLES = [dspy.Example(question=f"number {n}?", answer="yes").with_inputs("question") for n in range(12)]
REPLIES = {"base": "no", "teacher": "yes", "trained": "yes"}


def exact(example: Any, prediction: Any, trace: Any = None) -> bool:
    return bool(example.answer == prediction.answer)


def reply(body: dict[str, Any]) -> str:
    return f"[[ ## answer ## ]]\n{REPLIES[body['model']]}\n\n[[ ## completed ## ]]"


@dataclass
class Scripted:
    """Trains nothing, and notes what it was to train on."""

    model: str
    calls: int = 0

    def __call__(self, model: str, changes: Mapping[str, Any]) -> Trainer:
        self.base, self.changes = model, dict(changes)

        def trained(set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
            self.calls += 1
            self.rows = list(read_set(set_folder).rows())
            return TrainedModel(model=self.model)

        return trained


def program(lm: Any) -> Any:
    predict = dspy.Predict("question -> answer")
    predict.set_lm(lm)
    return predict


def test_bootstrap_finetune_trains_on_what_the_teacher_got_right(tmp_path: Path) -> None:
    with MockServer(answer=reply) as server:
        scripted = Scripted(server.model_string("trained"))
        provider = TrainingProvider(tmp_path, scripted)
        student = program(TrainableLM(server.model_string("base"), provider))
        teacher = program(TrainableLM(server.model_string("teacher"), provider))
        optimizer = dspy.BootstrapFinetune(metric=exact, train_kwargs={"epochs": 1}, num_threads=1)
        with dspy.context(adapter=dspy.ChatAdapter()):
            tuned = optimizer.compile(student, trainset=EXAMPLES, teacher=teacher)
            assert tuned(question="number 99?").answer == "yes"
        assert scripted.base == server.model_string("base")
        assert scripted.changes == {"epochs": 1}
        assert all("yes" in row.answer for row in scripted.rows)
        assert {row.messages[-2].role for row in scripted.rows} == {"user"}
        assert tuned.lm.model == TrainableLM(server.model_string("trained"), provider).model


def test_better_together_takes_the_trained_program_where_it_is_better(tmp_path: Path) -> None:
    with MockServer(answer=reply) as server:
        provider = TrainingProvider(tmp_path, Scripted(server.model_string("trained")))
        student = program(TrainableLM(server.model_string("base"), provider))
        teacher = program(TrainableLM(server.model_string("teacher"), provider))
        weights = dspy.BootstrapFinetune(metric=exact, num_threads=1)
        optimizer = dspy.BetterTogether(metric=exact, w=weights)
        with dspy.context(adapter=dspy.ChatAdapter()):
            tuned = optimizer.compile(
                student, trainset=EXAMPLES, teacher=teacher, valset=EXAMPLES[:4], strategy="w", num_threads=1
            )
            assert tuned(question="number 77?").answer == "yes"


def test_the_same_rows_are_one_folder_and_other_rows_another(tmp_path: Path) -> None:
    provider, job = TrainingProvider(tmp_path, Scripted("openai/trained@http://127.0.0.1:9/v1")), LocalTrainingJob()
    rows = [{"messages": [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": "a"}]} for n in "12"]
    for data in (rows, rows, rows[:1]):
        provider.finetune(job, "openai/base@http://127.0.0.1:9/v1", data, "chat")
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2
    assert job.status() == "succeeded"


def test_rows_that_are_no_chats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="row 3 is no chat"):
        chat_row(3, {"prompt": "a", "completion": "b"})
    with pytest.raises(DeclarationError, match="are no chats"):
        TrainingProvider(tmp_path, Scripted("x")).finetune(LocalTrainingJob(), "x", [], "completion")


@pytest.mark.torch
def test_a_tiny_model_is_trained_by_bootstrap_finetune(tmp_path: Path) -> None:
    torch_or_skip()
    pytest.importorskip("trl")
    base = save_model(tmp_path / "base", "Llama", max_position_embeddings=2048)
    lm = trainable_lm(f"transformers/{base}", tmp_path / "tuned", preset="cpu-small", epochs=1)
    with MockServer(answer=reply) as server, dspy.context(adapter=dspy.ChatAdapter()):
        teacher = program(TrainableLM(server.model_string("teacher"), lm.provider))
        optimizer = dspy.BootstrapFinetune(metric=exact, num_threads=1)
        tuned = optimizer.compile(program(lm), trainset=EXAMPLES, teacher=teacher)
    assert tuned.lm.model != lm.model
    (folder,) = (tmp_path / "tuned").iterdir()
    assert (folder / "training" / "student" / "adapter_config.json").is_file()
    assert json.loads((folder / "training" / "figures.json").read_text())["rows"] > 0
