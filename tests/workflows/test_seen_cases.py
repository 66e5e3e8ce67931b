"""A run says how many of its cases the judge has seen, and `check` how many share texts."""

import hashlib
import json
from pathlib import Path

import dspy
import pytest
from dspy.lm15 import Request

import dicast
from dicast.cli import run
from dicast.data import Case, Finding, Judged, Winner
from dicast.data.text_digest import case_text_digest
from dicast.errors import DataError
from dicast.judging import build
from dicast.judging.judge_file import save
from dicast.optimizers.cascade import refuse_seen
from dicast.optimizers.fingerprints import case_fingerprints
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text
from dicast.workflows.judge_spec import JudgeSpec
from dicast.workflows.preflight import exclude_training_cases
from dicast.workflows.progress import Progress
from dicast.workflows.seen_cases import SeenCases


class Notices(Progress):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def notice(self, text: str) -> None:
        self.said.append(text)


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
    assert [case.id for case in seen.unseen([pair(1), pair(2), pair(7)])] == ["2"]
    assert seen.notice() == "fennec has learned from 2 of the cases: they are left out ('1', '7')."


def noise(request: Request) -> Answer:
    """A judge without any skill, whose criteria have names that occur once."""
    text = prompt_text(request)
    draw = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    fields = answer_fields(request)
    if fields == {"criteria"}:
        return {"criteria": [f"c{number} {draw % 10**9}: is it so" for number in range(4)]}
    if "score_1" in fields:
        return {f"score_{level}": "x" for level in range(1, 6)} | {"comparison": "x"}
    return {"explanation_a": "", "score_a": 1 + draw % 5, "explanation_b": "", "score_b": 1 + draw // 5 % 5,
            "comparison": ""}  # fmt: skip


def test_a_judge_leaves_out_and_names_the_cases_that_it_learned_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with dspy.context(lm=ScriptedLM(noise)):
        common = ["judge", "--judge", "fennec", "--branches", "4"]
        seen, copy = [pair(n) for n in range(3)], pair(9, pair(0).query.upper())
        copy = copy.model_copy(update={"candidates": pair(0).candidates[::-1]})
        first = write(tmp_path / "first.jsonl", seen)
        assert run([*common, "--cases", str(first), "--out", str(tmp_path / "one")]) == 0
        second = write(tmp_path / "second.jsonl", [*seen, copy, *[pair(n) for n in range(10, 12)]])
        learned = [*common, "--set", "keep=2", "--learn", str(tmp_path / "one"), "--out", str(tmp_path / "two")]
        for _ in range(2):  # it is continued likewise
            capsys.readouterr()
            assert run([*learned, "--cases", str(second)]) == 0
            said = " ".join(capsys.readouterr().err.split())
            assert "fennec has learned from 4 of the cases: they are left out ('0', '1', '2', '9')." in said
        verdicts = (tmp_path / "two" / "verdicts.jsonl").read_text().splitlines()
        assert {json.loads(line)["case_id"] for line in verdicts} == {"10", "11"}
        assert run([*learned[:-1], str(tmp_path / "three"), "--cases", str(first)]) == 3
        assert "fennec learned from all of these 3 cases." in " ".join(capsys.readouterr().err.split())


def test_what_a_judge_learned_from_is_saved_and_left_out_by_compile_check_and_cascade(tmp_path: Path) -> None:
    lines = [
        Judged(
            case_id=str(n), winner="a", label=Winner(value="a"), text_digest=case_text_digest(pair(n)),
            findings=(Finding(criterion="c: x", scores=(5.0, 1.0)),),
        )
        for n in range(3)
    ]  # fmt: skip
    judge = build("fennec", keep=1)
    judge.learn(lines)
    save(judge, tmp_path / "taught.judge.json")
    loaded = JudgeSpec(str(tmp_path / "taught.judge.json")).build()
    cases, notices = [pair(n) for n in range(5)], Notices()
    left = exclude_training_cases(cases, str(tmp_path / "taught.judge.json"), loaded, notices)
    assert [case.id for case in left] == ["3", "4"]
    assert "was compiled on 3 of these 5 cases; they are excluded." in notices.said[0]
    with pytest.raises(DataError, match="cascade: taught was compiled on 3 of these 5 cases"):
        refuse_seen([("taught", loaded)], [None], cases)
    loaded.set(priority="given")
    assert exclude_training_cases(cases, "fennec", loaded, notices) == cases


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
