"""The fine-tune step of a compilation: a student is taken where it is better on the select part, and not otherwise."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from quality_server import quality_pairs, quality_server

from dicast.data import Case
from dicast.engines.ledger import Budget
from dicast.engines.models import Roles
from dicast.errors import DeclarationError
from dicast.judging import Judge, build
from dicast.judging.judge_file import load
from dicast.optimizers.compile import Compiler
from dicast.optimizers.compile_folder import read_compilation
from dicast.optimizers.evidence import Interrupted, ProgressCallbacks
from dicast.optimizers.finetune import FineTuned
from dicast.optimizers.recipe import Parts, Recipe
from dicast.pages.compile_page import compilation_markdown
from dicast.testing import MockServer

PARTS = Parts(train=0.3, select=0.25, certify=0, test=0.45)
RECIPE = Recipe(parts=PARTS, seed=3, trials=0, estimate="split", baseline=None, finetune="base")


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with quality_server() as running:
        yield running


@dataclass
class Scripted:
    """Trains nothing: the student is a model of the server; the first `stops` calls stop."""

    model: str
    stops: int = 0
    calls: list[tuple[Judge, list[str], set[str], Path]] = field(default_factory=list)

    def __call__(
        self,
        judge: Judge,
        train: Sequence[Case],
        against: Mapping[str, Sequence[Case]],
        folder: Path,
        progress: ProgressCallbacks,
    ) -> FineTuned:
        self.calls.append((judge, [case.id for case in train], set(against), folder))
        if len(self.calls) <= self.stops:
            raise Interrupted
        return FineTuned(model=self.model, figures={"loss": 0.25}, rows={"train": 72})


def judge_of(server: MockServer) -> Judge:
    return build("direct", grading="pairwise", readout="probability").bind(Roles.parse(server.model_string("base")))


def compiler(server: MockServer, folder: Path, trainer: Any, **changes: Any) -> Compiler:
    recipe = RECIPE.model_copy(update=changes.pop("recipe", {}))
    return Compiler(judge_of(server), quality_pairs(120), folder, recipe, trainer=trainer, **changes)


def models(judge: Judge) -> set[str]:
    return {stage.model for stage in judge.stages()}


@pytest.mark.slow
def test_a_better_student_answers_the_compiled_judge(server: MockServer, tmp_path: Path) -> None:
    trainer = Scripted(server.model_string("student"), stops=1)
    with pytest.raises(Interrupted):
        compiler(server, tmp_path, trainer).run()
    made = compiler(server, tmp_path, trainer)
    compiled = made.run()
    assert models(compiled.judge) == {server.model_string("student")}
    assert compiled.judge.head is not None
    assert compiled.judge.head.n == len(made.parts["select"])  # not the cases that it was trained on
    names = [judge.name for judge in compiled.result.judges]
    assert names == ["uncompiled", "without fine-tuning", "compiled"]
    judge, train, against, folder = trainer.calls[-1]
    assert judge.head is None
    assert train == [case.id for case in made.parts["train"]]
    assert against == {"select", "test"}
    assert folder == tmp_path / "finetune"

    compiled.save(tmp_path / "direct.judge.json")
    assert models(load(tmp_path / "direct.judge.json")) == models(compiled.judge)
    read = read_compilation(tmp_path)
    assert read.finetuning is not None
    assert read.finetuning.taken
    page = compilation_markdown(read, title="direct", now="today")
    assert "Fine-tuning: a student of base: taken; accuracy " in page
    assert "without fine-tuning" in page

    asked, calls = len(server.requests), len(trainer.calls)
    again = compiler(server, tmp_path, trainer).run()
    assert again.result == compiled.result
    assert (len(server.requests), len(trainer.calls)) == (asked, calls)


def test_a_student_that_is_not_better_is_left_out(server: MockServer, tmp_path: Path) -> None:
    compiled = compiler(server, tmp_path, Scripted(server.model_string("poor"))).run()
    assert models(compiled.judge) == {server.model_string("base")}
    assert [judge.name for judge in compiled.result.judges] == ["uncompiled", "compiled"]
    finetuning = read_compilation(tmp_path).finetuning
    assert finetuning is not None
    assert not finetuning.taken
    assert finetuning.summary().startswith("a student of base: not better, and left out; accuracy ")


def test_an_equal_student_is_left_out(server: MockServer, tmp_path: Path) -> None:
    """Strictly better, as wordings must be."""
    compiled = compiler(server, tmp_path, Scripted(server.model_string("base")), recipe={"head": False}).run()
    finetuning = read_compilation(tmp_path).finetuning
    assert finetuning is not None
    assert finetuning.before == finetuning.after
    assert [judge.name for judge in compiled.result.judges] == ["uncompiled", "compiled"]


def test_without_a_budget_for_its_test_no_student_is_trained(server: MockServer, tmp_path: Path) -> None:
    """Evidence takes two calls a case of train and select, and so does the test: 240 in all, none for a student's."""
    trainer = Scripted(server.model_string("student"))
    compiled = compiler(server, tmp_path, trainer, budget=Budget(calls=240), recipe={"seed": 4}).run()
    assert not trainer.calls
    assert models(compiled.judge) == {server.model_string("base")}
    assert read_compilation(tmp_path).no_budget == ("fine-tuning",)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "changes", "message"),
    [
        ("direct", {"prompts": "nearest"}, "reads the present model's states"),
        ("longer", {}, "asks none"),
    ],
)
def test_what_cannot_be_fine_tuned_is_refused_at_once(
    program: str, changes: dict[str, Any], message: str, server: MockServer, tmp_path: Path
) -> None:
    judge = judge_of(server) if program == "direct" else build(program)
    if changes:
        judge.set(evidence="state=local/smollm2-135m")
    with pytest.raises(DeclarationError, match=message):
        Compiler(judge, quality_pairs(60), tmp_path, RECIPE.model_copy(update=changes), trainer=Scripted("none"))


def test_a_preset_without_a_base_is_refused() -> None:
    with pytest.raises(ValueError, match="Name its base with finetune"):
        Recipe(preset="cpu")
    assert "finetune" not in Recipe().identity()  # folders of earlier versions go on
