"""Runs joined on the recorded judgments of published judges; skipped without them (DICAST_RECORDED)."""

import json
from pathlib import Path

import pytest

import dicast
from dicast.errors import DataError
from dicast.evaluation.results import Measure
from dicast.reproduction import folder


@pytest.fixture
def llmbar() -> Path:
    try:
        return folder() / "llmbar"
    except DataError:
        pytest.skip("set DICAST_RECORDED to the folder of recorded judgments")


def value(measure: Measure | None) -> float:
    assert measure is not None
    assert measure.value is not None
    return measure.value


def test_two_judges_of_one_published_file(llmbar: Path, tmp_path: Path) -> None:
    path = llmbar / "natural.jsonl"
    names = [f"{path}:judge={judge},setting=CoT" for judge in ("GPT-4", "ChatGPT-0301")]
    (comparison,) = dicast.compare(names)
    accuracy = next(test.difference for test in comparison.tests if test.name == "accuracy")
    ours = [value(dicast.evaluate(name).measure("accuracy")) for name in names]
    assert (comparison.first, comparison.second) == ("GPT-4", "ChatGPT-0301")
    assert value(accuracy) == pytest.approx(ours[0] - ours[1])
    assert dicast.report(names, tmp_path / "page.md").titles == ("GPT-4", "ChatGPT-0301")
    assert "GPT-4 against ChatGPT" in (tmp_path / "page.md").read_text()


def test_the_best_judge_of_an_adversarial_set_agrees_least_with_the_others(llmbar: Path) -> None:
    path = llmbar / "gptinst.jsonl"
    judges = ("GPT-4", "ChatGPT-0301", "PaLM2", "LLaMA2")
    names = [f"{path}:judge={judge},setting=CoT" for judge in judges]
    result = dicast.agreement(names, merge="tie")
    accuracies = {
        judge: value(dicast.evaluate(name).measure("accuracy")) for judge, name in zip(judges, names, strict=True)
    }
    assert result.judges == judges
    kappas = {row.judge: value(row.measures[0]) for row in result.by_judge}
    assert "GPT-4" == min(kappas, key=kappas.__getitem__) == max(accuracies, key=accuracies.__getitem__)
    assert [round(kappas["GPT-4"], 2), *(round(accuracy, 2) for accuracy in accuracies.values())] == [
        -0.02, 0.78, 0.07, 0.2, 0.13,
    ]  # fmt: skip


def test_a_published_file_with_its_pairs_exchanged_is_refused(llmbar: Path, tmp_path: Path) -> None:
    other = {"a": "b", "b": "a", "tie": "tie", None: None}
    path = llmbar / "natural.jsonl"
    rows = [row for row in map(json.loads, path.read_text().splitlines()) if row["judge"] == "GPT-4"]
    turned = [
        row | {name: other[row[name]] for name in ("prediction", "prediction_swapped", "label") if name in row}
        for row in rows
        if row["setting"] == "CoT"
    ]
    (tmp_path / "turned.jsonl").write_text("".join(json.dumps(row) + "\n" for row in turned))
    with pytest.raises(DataError, match="100 of 100 shared cases differ .* likely turned.jsonl has its pairs ex"):
        dicast.compare([f"{path}:judge=GPT-4,setting=CoT", tmp_path / "turned.jsonl"])
