"""A run says how many of its cases the judge has seen, and `check` how many share texts."""

import json
from pathlib import Path

import pytest

import dicast
from dicast.cli import run
from dicast.data import Case, Judged, Winner
from dicast.data.text_digest import case_text_digest
from dicast.judging import build
from dicast.judging.judge_file import save
from dicast.optimizers.fingerprints import case_fingerprints
from dicast.workflows.judge_spec import JudgeSpec
from dicast.workflows.seen_cases import SeenCases


def pair(number: int, query: str = "") -> Case:
    return Case(
        id=str(number),
        query=query or f"Which answer is better for reader number {number}?",
        candidates=[{"text": f"This is {number}."}, {"text": f"That was {number}, once."}],
        label={"value": "a"},
    )


def write(path: Path, cases: list[Case]) -> Path:
    rows = [
        {"id": case.id, "query": case.query, "response_a": case.candidates[0].text, "label": "a"}
        | {"response_b": case.candidates[1].text}
        for case in cases
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def judged(case: Case, **fields: str) -> str:
    return Judged(case_id=case.id, winner="a", label=Winner(value="a"), **fields).model_dump_json()


def test_a_judge_that_was_compiled_on_the_cases_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "longer.judge.json"
    save(build("longer"), file, training={"cases": case_fingerprints([pair(n) for n in range(5)])})
    copies = [
        pair(n + 10, pair(n).query.upper() + " ").model_copy(update={"candidates": pair(n).candidates}) for n in (0, 1)
    ]
    cases = write(tmp_path / "new.jsonl", [*copies, *[pair(n) for n in range(20, 24)]])
    arguments = ["judge", "--judge", str(file), "--cases", str(cases), "--out", str(tmp_path / "out")]
    assert run(arguments) == 0
    assert "has learned from 2 of these 6 cases" in " ".join(capsys.readouterr().err.split())


def test_runs_of_earlier_versions_are_known_by_id(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "identity": {"judge": "fennec"}}))
    lines = [judged(pair(1)), judged(pair(2), text_digest=case_text_digest(pair(7)))]
    (folder / "verdicts.jsonl").write_text("\n".join(lines) + "\n")
    seen = SeenCases(JudgeSpec("fennec", learn=folder))
    assert len(list(seen.counted([pair(1), pair(2), pair(7)]))) == 3
    assert (seen.seen, seen.rows) == (2, 3)
    assert seen.notice().startswith("fennec has learned from 2 of these 3 cases")


def test_new_cases_need_no_word(tmp_path: Path) -> None:
    seen = SeenCases(JudgeSpec("longer"))
    list(seen.counted([pair(1)]))
    assert seen.notice() == ""


def test_check_says_how_many_cases_share_texts(tmp_path: Path) -> None:
    rows = [pair(n) for n in range(30)]
    again = [
        pair(n, rows[n].query + " ").model_copy(update={"id": f"again {n}", "group": f"second {n}"}) for n in range(4)
    ]
    items = dicast.check(cases=[*rows, *again])
    assert isinstance(items, tuple)
    item = next(item for item in items if item.name.startswith("data"))
    assert "; 8 of 34 cases joined by equal texts" in item.text


def test_check_says_that_every_label_is_the_same_and_counts_joined_groups() -> None:
    copies = [pair(n, pair(n - 20).query + " ") if n >= 20 else pair(n) for n in range(40)]
    copies = [case.model_copy(update={"group": case.id}) for case in copies]
    items = dicast.check(cases=copies)
    assert isinstance(items, tuple)
    texts = [item.text for item in items if item.name == "labels"]
    assert texts[0].startswith("40 labels in 20 groups, like 32 independent ones")
    (data,) = [item.text for item in items if item.name.startswith("data")]
    assert all(words in data for words in ("40 of 40 cases joined by equal texts; ", "; every label is 'a', as where"))
