"""Rewritten texts as cases beside their originals, scored by another judge (Fennec, arXiv 2405.12163, Table 4)."""

import json
from pathlib import Path

import dspy
import pytest
from dspy.lm15 import Request

import dicast
from dicast.cli import run
from dicast.data import Judged, Verdict
from dicast.data.rewritten_texts import versions
from dicast.data.verdict import Correction
from dicast.evaluation import evaluate, run_arrays
from dicast.testing import Answer, ScriptedLM, answer_fields, prompt_text

ROWS = [
    {"id": "p", "query": "Name a prime.", "response_a": "9", "response_b": "7", "label": "b", "system_a": "alpaca"},
    {"id": "q", "query": "Name an even number.", "response_a": "4", "response_b": "5", "label": "a"},
    {"id": "r", "query": "Name a colour.", "response_a": "red", "response_b": "blue", "label": "tie"},
]
WEAK, BETTER = ("9", "5"), "a corrected number"


def answer(request: Request) -> Answer:
    """Criteria, guidelines, low scores for 9 and 5, a rewritten text, and grades: 3 for a weak text, 8 for another."""
    fields, text = answer_fields(request), prompt_text(request)
    if fields == {"criteria"}:
        return {"criteria": ["right: it is right"]}
    if "score_1" in fields:
        return {f"score_{level}": "x" for level in range(1, 6)} | {"comparison": "x"}
    if "score_a" in fields:
        first, second = (any(f"Response {side}:\n<<<\n{weak}\n" in text for weak in WEAK) for side in "AB")
        scores = {"score_a": 1 if first else 5, "score_b": 1 if second else 5}
        return {"explanation_a": "", "explanation_b": "", "comparison": ""} | scores
    if fields == {"corrected"}:
        return {"corrected": BETTER}
    weak = any(f"<<<\n{weak}\n>>>" in text for weak in WEAK)
    return {"explanation": "x", "score": 3 if weak else 8}


LM = ScriptedLM(answer)


def command(*arguments: str) -> int:
    with dspy.context(lm=LM):
        return run(list(arguments))


@pytest.fixture
def corrected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    arguments = ["judge", "--judge", "fennec-correct", "--set", "rejudge=false", "--cases", "pairs.jsonl"]
    assert command(*arguments, "--out", "fixed", "--corrected", "corrected.jsonl") == 0
    return Path("corrected.jsonl")


def test_each_rewritten_text_is_a_case_beside_its_original(corrected: Path) -> None:
    cases = [json.loads(line) for line in corrected.read_text().splitlines()]
    assert [case["id"] for case in cases] == ["p#0#original", "p#0#corrected", "q#1#original", "q#1#corrected"]
    assert [case["candidates"][0]["text"] for case in cases] == ["9", BETTER, "5", BETTER]
    systems = ["alpaca original", "alpaca corrected", "original", "corrected"]
    assert [case["candidates"][0]["system"] for case in cases] == systems
    assert [case["group"] for case in cases] == [dicast.Case(**case | {"group": None}).split_key for case in cases]
    assert {case["meta"]["version"] for case in cases} == {"original", "corrected"}
    assert all(case["label"] is None for case in cases)
    assert cases[0]["meta"]["weak_criteria"] == "right: it is right"


def test_another_judge_scores_both_and_the_gain_is_measured(
    corrected: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("judge", "--judge", "mt-bench", "--cases", str(corrected), "--out", "rated") == 0
    capsys.readouterr()
    assert run(["evaluate", "rated", "--json"]) == 0
    found = dicast.evaluate("rated")
    values = {name: found.measure(name) for name in ("original score", "corrected score", "rewrite gain")}
    assert {name: (one.value, one.n) for name, one in values.items() if one} == {
        "original score": (3.0, 2), "corrected score": (8.0, 2), "rewrite gain": (5.0, 2),
    }  # fmt: skip
    improved = found.measure("improved rewrites")
    assert improved is not None
    assert improved.value == 1.0
    assert {row.system: row.judge.value for row in found.systems}["alpaca corrected"] == 8.0


def test_a_run_that_is_continued_writes_them_again(corrected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = corrected.read_bytes()
    arguments = [
        "judge",
        "--judge",
        "fennec-correct",
        "--set",
        "rejudge=false",
        "--cases",
        "pairs.jsonl",
        "--out",
        "fixed",
    ]
    capsys.readouterr()
    assert command(*arguments, "--corrected", "again.jsonl", "--json") == 0
    assert Path("again.jsonl").read_bytes() == before
    printed = json.loads(capsys.readouterr().out)
    assert (printed["corrected"], printed["rewritten"]) == ("again.jsonl", 2)


def test_without_a_rewritten_text_no_file_is_written(corrected: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["judge", "--judge", "fennec-correct", "--set", "rejudge=false", "--cases", "good.jsonl"]
    Path("good.jsonl").write_text(json.dumps(ROWS[2]) + "\n")
    assert command(*arguments, "--out", "good", "--corrected", "none.jsonl") == 0
    assert "no text was rewritten, so none.jsonl is not written" in " ".join(capsys.readouterr().out.split())
    assert not Path("none.jsonl").exists()


@pytest.mark.parametrize("judge", [["longer"], ["direct"], ["fennec"], ["fennec-correct", "--samples", "2"]])
def test_a_judge_that_never_rewrites_is_refused_before_the_first_call(
    judge: list[str], corrected: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    asked = len(LM.requests)
    arguments = ["judge", "--judge", *judge, "--cases", "pairs.jsonl", "--out", "new", "--corrected", "none/none.jsonl"]
    assert command(*arguments) == 3
    name = "panel" if "--samples" in judge else judge[0]
    assert capsys.readouterr().err.startswith(
        f"dicast: --corrected: judge '{name}' never rewrites a text. Use fennec-correct, or leave --corrected out"
    )
    assert (len(LM.requests), Path("new").exists(), Path("none").exists()) == (asked, False, False)


def test_cases_of_one_prompt_stay_one_group() -> None:
    pairs = [dicast.Case(id=name, query="Name a prime.", candidates=[{"text": name}]) for name in "xy"]
    fixes = [Verdict(case_id=one.id, scores=(1.0,), corrections=(Correction(candidate=0, text="7"),)) for one in pairs]
    written = [one for case, verdict in zip(pairs, fixes, strict=True) for one in versions(case, verdict)]
    assert {one.group for one in written} == {pairs[0].split_key}


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("pairs.jsonl", "--corrected pairs.jsonl: is the file of the cases"),
        ("notes.jsonl", "--corrected notes.jsonl: exists, and does not hold rewritten texts"),
        ("fixed/verdicts.jsonl", "exists, and does not hold rewritten texts"),
        ("out.csv", "Give a name that ends in .jsonl"),
        ("notes.jsonl/out.jsonl", "cannot be written (File exists)"),
    ],
)
def test_a_file_of_anything_else_is_refused_before_a_case_is_judged(
    corrected: Path, capsys: pytest.CaptureFixture[str], out: str, message: str
) -> None:
    Path("notes.jsonl").write_text('{"note": 1}\n')
    before = {path: path.read_bytes() for path in Path().rglob("*.jsonl")}
    arguments = ["judge", "--judge", "fennec-correct", "--cases", "pairs.jsonl", "--out", "new", "--corrected", out]
    assert command(*arguments) == 3
    assert message in " ".join(capsys.readouterr().err.split())
    assert {path: path.read_bytes() for path in Path().rglob("*.jsonl")} == before
    assert not Path("new").exists()


def test_a_missing_folder_is_made(corrected: Path) -> None:
    assert dicast.workflows.write_corrected(dicast.workflows.open_run("fixed"), "new/folder/out.jsonl") == 2
    assert Path("new/folder/out.jsonl").read_bytes() == corrected.read_bytes()


def test_cases_that_are_gone_are_named(corrected: Path) -> None:
    kept = Path("pairs.jsonl").read_text().splitlines(keepends=True)[1:]
    Path("pairs.jsonl").write_text("".join(kept))
    with pytest.raises(
        dicast.DicastError, match=r"fixed: case 'p' is no longer in .*pairs.jsonl\. Bring the cases back"
    ):
        dicast.workflows.write_corrected(dicast.workflows.open_run("fixed"), "again.jsonl")


def test_a_text_whose_original_was_not_scored_has_no_gain() -> None:
    scores = {"p#0#original": 3.0, "p#0#corrected": 5.0, "q#0#corrected": 9.0, "r#0#other": 1.0}
    run_of = [Judged(case_id=name, scores=(score,)) for name, score in scores.items()]
    gain = evaluate(run_arrays(run_of), {"judge": "j", "settings": {}, "lm": "m", "data": "0" * 64}).measure(
        "rewrite gain"
    )
    assert gain is not None
    assert (gain.value, gain.n) == (2.0, 1)


def test_a_correction_names_its_candidate() -> None:
    case = dicast.Case(id="c", query="q", candidates=[{"text": "x"}])
    verdict = dicast.Verdict(case_id="c", scores=(1.0,), corrections=(Correction(candidate=0, text="y"),))
    assert [one.id for one in versions(case, verdict)] == ["c#0#original", "c#0#corrected"]
