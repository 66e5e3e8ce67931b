"""Names of runs on a page: what they differ in, and themes of texts that may be read."""

import json
import re
from pathlib import Path

import pytest

import dicast
from dicast.workflows import Progress
from dicast.workflows.run_pages import run_report
from dicast.workflows.run_results import Run
from dicast.workflows.run_subjects import page_names, page_title, run_subject

OPTIONS = {"seed": 0, "merge": None, "unreadable": "out"}


def run_of(folder, judge="direct", lm="openai/gpt-5-mini,reasoning=low", data="pairs.jsonl", **settings):
    folder.mkdir(parents=True)
    identity = {"judge": judge, "lm": lm, "settings": settings, "data": "0" * 64}
    manifest = {"format": 1, "identity": identity, "source": {"source": f"/elsewhere/{data}"}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return Run(folder)


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([{}], ["direct"]),
        ([{}, {"judge": "fennec"}], ["direct", "fennec"]),
        ([{}, {"lm": "local/qwen3"}], ["gpt-5-mini", "qwen3"]),
        (
            [{}, {"lm": "local/qwen3"}, {"judge": "fennec"}],
            ["direct with gpt-5-mini", "direct with qwen3", "fennec with gpt-5-mini"],
        ),
        ([{"order": "both"}, {"order": "one"}], ["direct (order=both)", "direct (order=one)"]),
        ([{}, {"data": "more.csv"}], ["direct on pairs.jsonl", "direct on more.csv"]),
        ([{"judge": "desk@0123456789ab"}, {"judge": "direct"}], ["desk", "direct"]),
    ],
)
def test_runs_are_called_by_what_they_differ_in(tmp_path, runs, names):
    opened = [run_of(tmp_path / str(number), **fields) for number, fields in enumerate(runs)]
    assert page_names(opened) == names
    assert len(set(names)) == len(names)


def test_runs_that_differ_in_nothing_are_called_by_their_folders(tmp_path):
    assert page_names([run_of(tmp_path / name) for name in ("first", "second")]) == ["first", "second"]


@pytest.mark.parametrize(
    ("lm", "model"),
    [
        ("local/qwen2.5-coder-1.5b", "qwen2.5-coder-1.5b"),
        ("openai/gpt-5-mini,reasoning=low,max_tokens=4000", "gpt-5-mini"),
        ("judgment=openai/gpt-5,branch=local/qwen3", "gpt-5, qwen3"),
        ("openai/gpt-5 + local/qwen3", "gpt-5, qwen3"),
        ("openai/gpt-5-mini@http://127.0.0.1:8000/v1", "gpt-5-mini"),
        ("judgment=openai/org/qwen3@http://127.0.0.1:8000/v1,branch=local/qwen3", "qwen3"),
        ("none", ""),
        ("elsewhere", ""),
    ],
)
def test_a_model_is_called_by_its_name_alone(tmp_path, lm, model):
    assert run_subject(run_of(tmp_path / "run", lm=lm)).model == model


def test_the_title_names_the_judges_and_the_data_that_they_share(tmp_path):
    first, second = run_of(tmp_path / "1"), run_of(tmp_path / "2", judge="fennec", data="more.csv")
    subjects = [run_subject(run) for run in (first, second)]
    assert page_title(subjects[:1], ["direct"]) == "Judge direct on pairs.jsonl"
    assert page_title(subjects, ["direct", "fennec"]) == "Judges direct and fennec"
    assert page_title([subjects[0]] * 3, ["a", "b", "c"]) == "Judge a and 2 others on pairs.jsonl"


@pytest.fixture(scope="module")
def cases():
    """160 pairs of two topics with both words in their requests; the longer text is wrong of tax alone."""
    rows = []
    for number in range(160):
        topic = ("tax income deduction return", "bread flour oven dough")[number % 2]
        label = "a" if number % 2 or number % 8 == 0 else "b"
        row = {"id": f"r{number}", "query": f"{topic} {topic.split()[number % 4]} {number}"}
        rows.append(row | {"response_a": f"a longer text {number}", "response_b": "short", "label": label})
    return rows


def test_the_page_shows_where_a_judge_is_wrong_and_what_the_cases_have_in_common(tmp_path, monkeypatch, cases):
    pytest.importorskip("matplotlib", reason="the extra `report` is not installed")
    monkeypatch.chdir(tmp_path)
    run = dicast.run("longer", cases, out="runs/long")
    report = run_report(run, "longer", None, 20, Progress(), OPTIONS)
    worst = report.themes["requests"][0]
    assert set(worst.words) <= {"tax", "income", "deduction", "return"}
    assert {int(case[1:]) % 2 for case in worst.case_ids} == {0}
    assert worst.accuracy.value < 0.3 < worst.others.value
    assert worst.p < 0.001
    dicast.report(run, "page.html")
    html = Path("page.html").read_text()
    assert re.search(r"right less often on cases about “[a-z, ]*tax", html)
    assert '<h1 dir="auto">Judge longer on cases.jsonl</h1>' in html


def test_texts_that_may_not_be_read_have_no_themes(tmp_path, monkeypatch, cases):
    """The words of a theme are words of the cases."""
    monkeypatch.chdir(tmp_path)
    Path("private").mkdir()
    Path("project").mkdir()
    Path("private/pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in cases))
    monkeypatch.chdir("project")
    run = dicast.run("longer", "../private/pairs.jsonl", out="runs/far")
    assert run_report(run, "longer", None, 20, Progress(), OPTIONS).themes == {}
    assert dicast.report(run, "page.md").path.read_text().count("deduction") == 0
