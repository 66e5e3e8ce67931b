"""Rows without a label are counted and said."""

import json
from pathlib import Path

import pytest

from dicast.cli import run

PAIR = {"query": "q", "response_a": "long answer", "response_b": "short", "votes": []}


@pytest.fixture
def partly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ten rows with a label and three without."""
    monkeypatch.chdir(tmp_path)
    rows = [PAIR | {"label": "ab"[number % 2]} for number in range(10)] + [PAIR | {"label": ""}] * 3
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_judge_says_how_many_rows_have_no_label(partly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"]) == 0
    assert "3 of 13 rows have no label." in capsys.readouterr().err
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unlabelled"] == 3


def test_check_says_how_many_rows_have_no_label(partly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--cases", "pairs.jsonl"])
    assert "labels: 5 a, 5 b, 3 none; 3 of 13 rows have no label." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("labels", [["a", "b"], ["", ""]])
def test_nothing_is_said_where_all_rows_are_alike(
    labels: list[str], partly: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    partly.write_text("".join(json.dumps(PAIR | {"label": label}) + "\n" for label in labels))
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"]) == 0
    assert "no label" not in capsys.readouterr().err
