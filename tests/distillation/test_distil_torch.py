"""A distillation to its end with a tiny random model: trained here, asked by torch, and judged by people's labels."""

from pathlib import Path

import pytest
from quality_server import quality_pairs, quality_server
from tiny_torch import save_model, torch_or_skip

import dicast
from dicast import cli
from dicast.distillation.training_set import read_set
from dicast.judging.judge_file import load
from dicast.optimizers.recipe import Parts
from dicast.workflows import CompileRun, DistilRun, Progress

SETTINGS = {"grading": "pairwise", "readout": "probability"}


@pytest.mark.torch
def test_a_tiny_student_is_trained_and_asked(tmp_path: Path) -> None:
    torch_or_skip()
    pytest.importorskip("trl")
    base = save_model(tmp_path / "base", "Llama", max_position_embeddings=2048)
    with quality_server() as server:
        result = dicast.distill(
            dicast.JudgeSpec("direct", server.model_string("teacher"), {"grading": "pairwise"}),
            quality_pairs(60),
            base=str(base),
            out=tmp_path / "out",
            preset="cpu-small",
            training={"epochs": 1},
            exports=("adapter", "merged"),
            parts=Parts(train=0.3, select=0.35, certify=0, test=0.35),
            set={"min_mass": 0.0},
        )
    assert result.status == "complete"
    assert result.distilled is not None
    assert result.distilled.acceptance.outcome in ("rejected", "undecided")  # it knows nothing after one pass
    assert result.judge_file is not None
    student = load(result.judge_file)
    assert {stage.model for stage in student.stages()} == {
        f"transformers/{(tmp_path / 'out/training/student').resolve()}"
    }
    case = quality_pairs(1, start=900)[0]
    verdict = student(case)
    assert verdict.status == "scored"
    moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
    again = load(moved / "student.judge.json")
    assert {stage.model for stage in again.stages()} == {f"transformers/{(moved / 'training/student').resolve()}"}
    assert again(case).model_dump(exclude={"usage"}) == verdict.model_dump(exclude={"usage"})
    moved.rename(tmp_path / "out")
    assert {row.order for row in read_set(tmp_path / "out" / "set").rows()} == {"ab", "ba"}
    cost = result.distilled.acceptance.cost("student")
    assert cost.memory is not None
    assert cost.memory > 0
    assert cost.measured is not None
    assert cost.measured.cases == 8
    assert cost.measured.cpu > 0
    assert result.distilled.acceptance.cost("teacher").measured is None  # a server's
    assert result.card == tmp_path / "out" / "training" / "student" / "README.md"
    card = result.card.read_text()
    for words in ("- student: accuracy 0.", "- longer: longer 0.", "| seed | 0 |", '"one_token": ', "split: 0"):
        assert words in card
    assert f"from `{base}`" in card
    exported = result.exported
    assert exported is not None
    assert exported.merged == tmp_path / "out" / "export" / "merged"
    assert (exported.merged / "README.md").read_text() == card
    assert exported.adapter is not None
    assert (exported.adapter / "adapter_model.safetensors").is_file()
    assert exported.serve[0].startswith(f"vllm serve {exported.merged} --served-model-name out ")


@pytest.mark.torch
def test_a_tiny_student_of_a_whole_program_is_trained_on_what_its_teacher_wrote(tmp_path: Path) -> None:
    """Mode chain: the words of the teacher's judgments that agree with the label, and its tokens' probabilities."""
    torch_or_skip()
    pytest.importorskip("trl")
    base = save_model(tmp_path / "base", "Llama", max_position_embeddings=4096)
    steps = list[str]()

    class Noting(Progress):
        def step(self, name: str, text: str) -> None:
            steps.append(name)

    with quality_server() as server:

        def distilled(out: Path) -> DistilRun:
            return dicast.distill(
                dicast.JudgeSpec("direct", server.model_string("teacher"), SETTINGS),
                quality_pairs(60),
                base=str(base),
                out=out,
                mode="chain",
                preset="cpu-small",
                training={"epochs": 1},
                parts=Parts(train=0.3, select=0.35, certify=0, test=0.35),
                set={"min_mass": 0.0},
                progress=Noting(),
            )

        result = distilled(tmp_path / "out")
        assert "training" in steps
        asked, steps[:] = len(server.requests), []
        moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
        (moved / "acceptance.json").unlink()
        (moved / "student.judge.json").unlink()
        again = distilled(moved)
        assert len(server.requests) - asked <= 8 * 2  # the teacher's cost is measured anew
    assert "training" not in steps
    assert result.status == again.status == "complete"
    assert result.distilled is not None
    assert again.distilled is not None
    assert again.distilled.acceptance.student == result.distilled.acceptance.student
    assert again.judge_file == moved / "student.judge.json"
    student = load(again.judge_file)
    assert {stage.model for stage in student.stages()} == {f"transformers/{(moved / 'training/student').resolve()}"}
    assert student.name == "direct"
    assert student(quality_pairs(1, start=900)[0]).status == "scored"
    assert (moved / "traces" / "traces.jsonl").is_file()


@pytest.mark.torch
def test_a_compilation_trains_a_tiny_student_and_says_whether_it_is_better(tmp_path: Path) -> None:
    torch_or_skip()
    pytest.importorskip("trl")
    base = save_model(tmp_path / "base", "Llama", max_position_embeddings=2048)
    with quality_server() as server:
        result = dicast.compile(
            dicast.JudgeSpec("direct", server.model_string("teacher"), SETTINGS),
            quality_pairs(60),
            out=tmp_path / "out",
            trials=0,
            finetune=str(base),
            preset="cpu-small",
            training={"epochs": 1},
            parts=Parts(train=0.3, select=0.35, certify=0, test=0.35),
        )
    assert result.compiled is not None
    finetuning = result.compiled.training["finetuning"]
    assert not finetuning["taken"]  # it knows nothing after one pass
    assert finetuning["trained"]["rows"]["train"] > 0
    assert finetuning["trained"]["model"].startswith("transformers/")
    assert (tmp_path / "out" / "finetune" / "training" / "student").is_dir()


@pytest.mark.torch
def test_a_moved_compilation_whose_student_was_taken_judges_and_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first model is wrong on nine pairs of ten, and sure, so that a student that knows nothing is better."""
    torch_or_skip()
    pytest.importorskip("trl")
    base = save_model(tmp_path / "base", "Llama", max_position_embeddings=2048)
    with quality_server() as server:

        def compiled(out: Path) -> CompileRun:
            return dicast.compile(
                dicast.JudgeSpec("direct", server.model_string("poor"), SETTINGS | {"min_mass": 0.0}),
                quality_pairs(60),
                out=out,
                trials=0,
                head=False,
                objective="log-loss",
                finetune=str(base),
                preset="cpu-small",
                training={"epochs": 1},
                parts=Parts(train=0.3, select=0.35, certify=0, test=0.35),
            )

        first = compiled(tmp_path / "out")
        assert first.compiled is not None
        assert first.compiled.training["finetuning"]["taken"]
        asked = len(server.requests)
        moved = (tmp_path / "out").rename(tmp_path / "elsewhere")
        for name in ("test.json", "direct.judge.json"):
            (moved / name).unlink()
        again = compiled(moved)
        assert len(server.requests) == asked
    assert again.status == "complete"
    assert again.compiled is not None
    assert again.compiled.result.judges == first.compiled.result.judges
    assert '"model": "transformers/./finetune/training/student"' in (moved / "finetune.json").read_text()
    assert again.judge_file is not None
    moved = moved.rename(tmp_path / "third")
    judge, case = load(moved / again.judge_file.name), quality_pairs(1, start=900)[0]
    assert {stage.model for stage in judge.stages()} == {
        f"transformers/{(moved / 'finetune/training/student').resolve()}"
    }
    verdict = judge(case)
    assert verdict.status == "scored"
    run = dicast.run(moved / again.judge_file.name, [case], out=tmp_path / "run")
    assert [judged.winner for judged in run.verdicts()] == [verdict.winner]
    capsys.readouterr()
    assert cli.run(["show", str(moved / again.judge_file.name)]) == 0
    assert f"{moved.name}/finetune/training/student" in capsys.readouterr().out
    assert cli.run(["evaluate", str(tmp_path / "run")]) == 0
