"""`dicast evaluate` and `dicast report`, as a user runs them."""

import json
import re
from pathlib import Path

import pytest

from dicast.cli import run
from dicast.data import Finding, Judged, Winner
from dicast.judging.aggregate import aggregate_findings
from dicast.testing import MockServer


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs over the same eight pairs, and verdicts of another tool's."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"case {n}", "query": f"{tmp_path.name} {n}", "label": "ab"[n % 2], "response_a": "x" * n}
        for n in range(8)
    ]
    rows = [row | {"response_b": "y"} for row in rows]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with MockServer() as server:
        lm = f"openai/m@{server.url}"
        for name, more in (("first", ()), ("fennec", ("--judge", "fennec", "--branches", "2"))):
            assert run(["judge", "--cases", "pairs.jsonl", "--lm", lm, "--out", f"runs/{name}", *more]) == 0
    verdicts = [{"id": n, "prediction": "a", "label": "ab"[n % 2], "judge": f"j{n % 3 == 0}"} for n in range(12)]
    (tmp_path / "verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in verdicts))
    return tmp_path


def evaluated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:  # type: ignore[type-arg]
    capsys.readouterr()
    assert run(["evaluate", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_run_is_shown_section_by_section(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["evaluate", "runs/first", "--all"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^direct\|.*\|n=8\|data=[0-9a-f]{12}\|dicast", out)
    for message in (
        "8 cases, 8 scored, 8 of these labelled",
        "Agreement with people",
        "Baselines (no model)",
        "people say",
    ):
        assert message in out, message
    assert re.search(
        r"^accuracy +0\.\d{3} \[0\.\d{3}, 0\.\d{3}\] +8  the verdict equals the human label", out, re.MULTILINE
    )


def test_a_run_is_summarised_by_the_sentence_of_its_page(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["evaluate", "runs/first"]) == 0
    out = capsys.readouterr().out
    assert run(["report", "runs/first", "--out", "first.md"]) == 0
    page = (runs / "first.md").read_text().replace("\\", "")
    words, sentence = re.search(r"^\*\*(.+?)\.\*\* (.+?\.) ", page, re.MULTILINE).groups()  # type: ignore[union-attr]
    paragraph = " ".join(out.split("\n\n")[0].split())
    assert paragraph.startswith(f"{words}. {' '.join(sentence.split())}")
    names = re.findall(r"^( *[a-z][a-z -]*?)  +[-+]?\d", out.split("\n\n")[2], re.MULTILINE)
    assert names == [
        "mean of orders",
        "  chance",
        "accuracy",
        "both-orders accuracy",
        "overconfidence",
        "coverage",
        "cost",
    ]
    figures = sum(len(part) for part in evaluated(capsys, "runs/first")["evaluation"]["sections"].values())
    assert out.splitlines()[-2] == f"all {figures} figures: --all   as a page: dicast report"
    assert re.match(r"direct\|.*\|n=8\|data=[0-9a-f]{12}\|dicast", out.splitlines()[-1])


def test_what_options_ask_for_is_in_the_short_form(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["evaluate", "runs/first"]) == 0
    assert "coverage at threshold" not in capsys.readouterr().out
    assert run(["evaluate", "runs/first", "--threshold", "0.6"]) == 0
    assert re.search(r"^coverage at threshold +\d", capsys.readouterr().out, re.MULTILINE)


def test_json_holds_the_whole_evaluation(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluated(capsys, "runs/first")["evaluation"]
    assert found["cases"] == 8
    assert {"agreement", "baselines", "calibration", "selective", "bias", "cost"} <= set(found["sections"])
    accuracy = next(one for one in found["sections"]["agreement"] if one["name"] == "order a, b")
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]


def test_the_branches_of_fennec_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = {"clear": (5, 1), "short": (1, 2)}
    findings = tuple(
        Finding(criterion=name, scores=pair, order=order) for name, pair in scores.items() for order in ("ab", "ba")
    )
    verdict = Judged(case_id="1", findings=findings, label=Winner(value="a"), **aggregate_findings(findings, 2))
    identity = {"judge": "fennec", "settings": {"tie_threshold": 0.0}, "lm": "m", "data": "0" * 64}
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "identity": identity}))
    (tmp_path / "verdicts.jsonl").write_text(verdict.model_dump_json() + "\n")
    assert [one["n"] for one in evaluated(capsys, str(tmp_path))["evaluation"]["branches"]] == [1, 2]
    assert run(["evaluate", str(tmp_path), "--all"]) == 0
    assert "By number of criteria" in capsys.readouterr().out


def test_two_runs_are_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (comparison,) = evaluated(capsys, "runs/fennec", "--against", "runs/first")["comparisons"]
    assert (comparison["first"], comparison["second"], comparison["cases"]) == ("fennec", "first", 8)
    assert run(["evaluate", "runs/fennec", "--against", "runs/first"]) == 0
    out = capsys.readouterr().out
    assert "fennec against first, on the 8 labelled cases of both" in out
    assert run(["report", "runs/fennec", "runs/first", "--out", "page.md"]) == 0
    first_words = out.split(". ")[0]
    assert first_words.startswith(("No difference in ", "The judge "))
    assert first_words in Path("page.md").read_text().replace("\u2009", " ")


def test_runs_of_other_cases_cannot_be_compared(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["evaluate", "runs/first", "--against", "verdicts.jsonl", "--where", "judge=jTrue"]) == 3
    assert "no labelled case has a verdict here and in runs/first" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("requirement", "code", "expected"),
    [
        ("coverage>=0.5", 0, "coverage >= 0.5: holds"),
        ("coverage<=0.5", 1, "coverage <= 0.5: does not hold"),
        ("both-orders accuracy<=1", 0, "both-orders accuracy <= 1: holds"),
        ("agreement<=1", 0, "agreement <= 1: holds"),  # its name in earlier pipelines
        ("order a, b>=0.4", 2, "order a, b >= 0.4: cannot be decided from these labels: 0.500 ["),
    ],
)
def test_a_requirement_decides_the_exit_code(
    runs: Path, capsys: pytest.CaptureFixture[str], requirement: str, code: int, expected: str
) -> None:
    assert run(["evaluate", "runs/first", "--require", requirement]) == code
    assert expected in capsys.readouterr().out


def test_the_worst_requirement_decides(runs: Path) -> None:
    asked = [part for text in ("coverage>=0.5", "order a, b>=0.5", "coverage<=0.5") for part in ("--require", text)]
    assert run(["evaluate", "runs/first", *asked]) == 1
    assert run(["evaluate", "runs/first", *asked[:4]]) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("runs/none",), "runs/none"),
        ((".",), "has verdicts but no manifest.json"),
        (("runs/first", "--require", "accuracy"), "write NAME>=VALUE or NAME<=VALUE"),
        (("runs/first", "--require", "acuracy>=0.5"), "no such measure. Did you mean 'accuracy'?"),
        (("runs/first", "--require", "xyz>=0.5"), "no such measure. It has: accuracy"),
        (("runs/first", "--texts", "bleu"), "no case has both a generated and a written text"),
        (("verdicts.jsonl",), "Give --where judge='jFalse'"),
        (("verdicts.jsonl", "--where", "judge"), "write FIELD=VALUE"),
        (("verdicts.jsonl", "--where", "judge=none"), "no row has judge=none"),
    ],
)
def test_what_cannot_be_measured_is_one_clear_line(
    runs: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert run(["evaluate", *arguments]) == 3
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_verdicts_from_elsewhere_are_measured(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluated(capsys, "verdicts.jsonl", "--where", "judge=jFalse")["evaluation"]
    assert (found["judge"], found["cases"]) == ("jFalse", 8)


def test_generated_reviews_are_held_against_written_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    history = {"reviewer": "r", "reviews": [{"text": "A plot.", "comment": "dull", "score": 4}]}
    rows = [
        {"id": str(n), "query": "", "response": f"A story {tmp_path.name} {n}.", "score": 3, "review": "some words"}
        for n in range(3)
    ]
    rows = [row | history for row in rows]
    Path("reviews.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with MockServer() as server:
        judged = ["judge", "--judge", "perse", "--cases", "reviews.jsonl", "--scale", "1..10", "--out", "out"]
        assert run([*judged, "--lm", f"openai/m@{server.url}"]) == 0
    found = evaluated(capsys, "out", "--texts", "bleu,rouge")["evaluation"]["sections"]["explanations"]
    assert [one["name"] for one in found] == ["bleu", "bleu_sentence", "rouge1", "rouge2", "rougeL"]


def test_a_report_is_one_file_with_the_texts_of_the_run(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "runs/first", "runs/fennec", "--out", "page/report.html"]) == 0
    assert "report: page/report.html" in capsys.readouterr().out
    page = (runs / "page" / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert f"{runs.name} 0" in page or f"{runs.name} 1" in page  # the queries of the cases


def test_a_report_can_be_markdown(runs: Path) -> None:
    assert run(["report", "runs/first", "--out", "first.md"]) == 0
    assert "| accuracy |" in (runs / "first.md").read_text()


def test_a_report_does_without_texts_that_are_gone(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "pairs.jsonl").rename(runs / "moved.jsonl")
    assert run(["report", "runs/first", "--out", "without.html"]) == 0
    assert "the page has no texts of first" in capsys.readouterr().err
    assert run(["report", "runs/first", "--out", "with.html", "--cases", "moved.jsonl"]) == 0
    assert capsys.readouterr().err == ""


def test_runs_of_other_cases_are_in_one_report_without_a_comparison(runs: Path) -> None:
    arguments = ["report", "verdicts.jsonl", "runs/first", "--where", "judge=jTrue", "--out", "both.md"]
    assert run(arguments) == 0
    page = (runs / "both.md").read_text()
    assert page.startswith("# Judges jTrue and direct\n")
    assert "against" not in page


def test_a_report_that_cannot_be_written_says_so(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", "runs/first", "--out", "pairs.jsonl/report.html"]) == 3
    assert "--out pairs.jsonl/report.html: cannot be written" in capsys.readouterr().err


def test_the_manifest_names_where_the_cases_are(runs: Path) -> None:
    manifest = json.loads((runs / "runs" / "first" / "manifest.json").read_text())
    assert manifest["source"]["source"] == str(runs / "pairs.jsonl")


def test_the_earlier_name_of_judge_system_still_works_and_is_hidden(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": str(n), "query": f"q{n}", "response_a": "x" * (1 + n % 3), "response_b": "xx", "label": "ab"[n % 2],
         "system_a": "mine", "system_b": "other"}
        for n in range(12)
    ]  # fmt: skip
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run(["judge", "--judge", "longer", "--cases", "pairs.jsonl", "--out", "out"]) == 0
    printed = []
    for option in ("--judge-system", "--own"):
        capsys.readouterr()
        assert run(["evaluate", "out", "--json", option, "mine"]) == 0
        printed.append(capsys.readouterr().out)
    assert "self-preference" in printed[0]
    assert printed[0] == printed[1]
    assert run(["evaluate", "--help"]) == 0
    out = capsys.readouterr().out
    assert "--judge-system" in out
    assert "--own" not in out
