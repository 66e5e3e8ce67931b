"""`dicast compile --dry-run`: what its judges would be asked and a training would take; nothing is asked or written."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from quality_server import quality_pairs, quality_server
from tiny_torch import save_model, torch_or_skip

from dicast.cli import run
from dicast.testing import MockServer

SET = ["--set", "grading=pairwise", "--set", "readout=probability"]


@pytest.fixture(scope="module")
def server() -> Iterator[MockServer]:
    with quality_server() as running:
        yield running


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = []
    for case in quality_pairs(100):
        texts = {f"response_{side}": text.text for side, text in zip("ab", case.candidates, strict=True)}
        rows.append({"id": case.id, "query": case.query, "label": str(case.label.winner)} | texts)
    Path("labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_dry_run_counts_the_judge_and_its_baseline(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    """100 cases by two calls each; the parts are 35, 15 and 50. The baseline, direct as it comes, has the test part."""
    before = len(server.requests)
    options = ["--lm", server.model_string("base"), *SET, "--trials", "8", "--dry-run"]
    assert run(["compile", "direct", "--cases", "labels.jsonl", *options, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["parts"] == {"train": 35, "select": 15, "test": 50}
    rows = {row["name"]: row for row in shown["judging"]}
    assert (rows["judge"]["cases"], rows["judge"]["calls"]) == (100, 200)
    assert rows["baseline"]["cases"] == 50
    assert shown["training_tokens"] is None
    assert any("the search for structures is not counted" in note for note in shown["notes"])
    assert len(server.requests) == before
    assert not Path("compiled").exists()
    assert run(["compile", "direct", "--cases", "labels.jsonl", *options]) == 0
    assert "labelled cases: train 35, select 15, test 50" in capsys.readouterr().out


def test_a_dry_run_of_few_labels_has_no_parts(server: MockServer, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--lm", server.model_string("base"), *SET, "--dry-run", "--json"]
    assert run(["compile", "direct", "--cases", "labels.jsonl", *options]) == 0
    shown = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row["cases"] for row in shown["judging"]}
    assert (shown["parts"], rows) == ({"all": 100}, {"judge": 100, "baseline": 100})


@pytest.mark.torch
def test_a_dry_run_with_a_training_says_its_memory_and_that_its_minutes_are_unknown(
    server: MockServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch_or_skip()
    base = save_model(tmp_path / "base", "Llama", num_hidden_layers=1)
    options = ["--lm", server.model_string("base"), *SET, "--finetune", str(base), "--preset", "cpu-small"]
    assert run(["compile", "direct", "--cases", "labels.jsonl", *options, "--dry-run", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    student = next(row for row in shown["judging"] if row["name"] == "student")
    assert (student["cases"], student["calls"]) == (65, 130)
    assert shown["training_tokens"] > 0
    assert shown["training_minutes"] is None
    assert shown["memory"].startswith("about 0.")
    assert any("was not trained by lora on this machine (cpu) yet" in note for note in shown["notes"])
