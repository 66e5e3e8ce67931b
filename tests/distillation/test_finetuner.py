"""The lessons of a fine-tuning are those of the judge that is trained for, in every session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from quality_server import quality_pairs, quality_server

from dicast.data.case import Winner
from dicast.distillation.finetuner import Finetuner
from dicast.distillation.trained_model import TrainedModel
from dicast.distillation.training_set import read_set
from dicast.errors import DataError
from dicast.judging import Judge, build
from dicast.optimizers.evidence import ProgressCallbacks
from dicast.testing import MockServer


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with quality_server() as running:
        yield running


class Training:
    """Notes the prompts that it is given; what it makes stays in the folder as a training's does."""

    def __init__(self, model: str) -> None:
        self.model, self.prompts = model, list[set[str]]()

    def __call__(self, set_folder: Path, folder: Path, progress: ProgressCallbacks) -> TrainedModel:
        if not folder.is_dir():
            folder.mkdir()
            self.prompts.append({row.prompt[0].content for row in read_set(set_folder).rows()})
        return TrainedModel(model=self.model)


def judge_of(server: MockServer, instructions: str = "", **settings: str) -> Judge:
    judge = build("direct", grading="pairwise", **settings).bind(server.model_string("teacher"))
    if instructions:
        judge.prefer.ask.signature = judge.prefer.ask.signature.with_instructions(instructions)
    return judge


def test_lessons_of_a_judge_that_a_search_has_changed_since_are_made_anew(server: MockServer, tmp_path: Path) -> None:
    training, steps = Training(server.model_string("student")), list[str]()
    tuner = Finetuner(server.model_string("base"), training)
    progress = ProgressCallbacks(lambda name, text: steps.append(text))
    for instructions in ("Be strict.", "Be strict.", "Be kind."):
        tuner(judge_of(server, instructions), quality_pairs(12), {}, tmp_path / "finetune", progress)
    first, second = training.prompts
    assert all("Be strict." in prompt for prompt in first)
    assert all("Be kind." in prompt for prompt in second)
    assert [text for text in steps if "anew" in text] == [
        "made anew: those of the last session are of other prompts or settings"
    ]


@pytest.mark.parametrize("readout", ["sampled", "stated"])
def test_a_judge_that_samples_or_states_is_trained_on_its_letters(
    readout: str, server: MockServer, tmp_path: Path
) -> None:
    training = Training(server.model_string("student"))
    tuner = Finetuner(server.model_string("base"), training)
    tuned = tuner(judge_of(server, readout=readout), quality_pairs(12), {}, tmp_path / "finetune", ProgressCallbacks())
    assert tuned.rows["train"] > 0
    rows = list(read_set(tmp_path / "finetune" / "set").rows())
    assert all(row.targets and row.messages[-2].content.endswith("Answer with one letter.") for row in rows)


def test_a_judge_that_is_never_right_has_no_lessons(server: MockServer, tmp_path: Path) -> None:
    tuner = Finetuner(server.model_string("base"), Training("none"))
    judge = judge_of(server, readout="generate")
    cases = [case.model_copy(update={"label": Winner(value="tie")}) for case in quality_pairs(4)]
    with pytest.raises(DataError, match="no judgment of the 4 cases"):
        tuner(judge, cases, {}, tmp_path / "finetune", ProgressCallbacks())
