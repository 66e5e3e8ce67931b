"""MT-Bench: files of the shape that its authors publish, made by hand."""

import json
from pathlib import Path

import pytest

from dicast.catalog import DATA_SETS, catalog
from dicast.data import Winner
from dicast.errors import DataError

pyarrow = pytest.importorskip("pyarrow")
HUMAN = DATA_SETS.find("mt-bench-human")
ANSWERS = DATA_SETS.find("mt-bench-alpaca-13b")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DICAST_DATA", raising=False)
    return tmp_path / "home"


def judgment(winner: str, turn: int = 1, question: str = "Name a prime.", other: str = "") -> dict[str, object]:
    def conversation(first: str, answer: str) -> list[dict[str, str]]:
        turns = [("user", first), ("assistant", answer), ("user", "Another?"), ("assistant", "No.")]
        return [{"content": text, "role": role} for role, text in turns]

    return {
        "question_id": 81, "model_a": "alpaca-13b", "model_b": "gpt-4", "winner": winner, "judge": "author_2",
        "conversation_a": conversation(question, "9"), "conversation_b": conversation(other or question, "7"),
        "turn": turn,
    }  # fmt: skip


def human_file(folder: Path, rows: list[dict[str, object]]) -> Path:
    from pyarrow import Table, parquet

    path = folder / Path(HUMAN.files[0].path).name
    parquet.write_table(Table.from_pylist(rows), path)
    return path


def test_judgments_of_the_first_turn_become_pairs(tmp_path: Path) -> None:
    rows = [judgment("model_b"), judgment("model_a", turn=2), judgment("tie"), judgment("model_a")]
    catalog.get("mt-bench-human", human_file(tmp_path, rows))
    cases = list(catalog.read("mt-bench-human"))
    assert [case.label for case in cases] == [Winner(value=value) for value in ("b", "tie", "a")]
    assert [case.id for case in cases] == [f"mt-bench-human/{number}" for number in (1, 3, 4)]
    assert (cases[0].query, [text.text for text in cases[0].candidates]) == ("Name a prime.", ["9", "7"])
    assert [text.system for text in cases[0].candidates] == ["alpaca-13b", "gpt-4"]
    assert len({case.split_key for case in cases}) == 1


@pytest.mark.parametrize(
    "row", [judgment("nobody"), judgment("model_a", other="Another question"), {"turn": 1}, {"question_id": 1}]
)
def test_a_file_of_another_shape_is_named(row: dict[str, object], tmp_path: Path) -> None:
    catalog.get("mt-bench-human", human_file(tmp_path, [row]))
    with pytest.raises(DataError, match="not the original of mt-bench-human"):
        list(catalog.read("mt-bench-human"))


def test_the_first_answer_of_a_model_is_a_text_without_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = {"question_id": 81, "category": "writing", "turns": ["Name a prime.", "Another?"]}
    answer = {"question_id": 81, "model_id": "alpaca-13b", "choices": [{"index": 0, "turns": ["9", "8"]}]}
    (tmp_path / "question.jsonl").write_text(json.dumps(question) + "\n")
    (tmp_path / "alpaca-13b.jsonl").write_text(json.dumps(answer) + "\n")
    monkeypatch.setattr(catalog, "_check_digest", lambda *_: None)  # the questions are pinned
    catalog.get("mt-bench-alpaca-13b", tmp_path)
    (case,) = catalog.read("mt-bench-alpaca-13b")
    assert (case.id, case.query, case.label) == ("mt-bench/alpaca-13b/81", "Name a prime.", None)
    assert (case.candidates[0].text, case.candidates[0].system) == ("9", "alpaca-13b")
    assert case.attributes["category"] == "writing"


def test_the_questions_are_pinned_and_other_ones_are_refused(tmp_path: Path) -> None:
    (tmp_path / "question.jsonl").write_text("{}\n")
    (tmp_path / "alpaca-13b.jsonl").write_text("{}\n")
    with pytest.raises(DataError, match="question.jsonl has SHA-256"):
        catalog.get("mt-bench-alpaca-13b", tmp_path)
    assert ANSWERS.files[1].sha256 is None
