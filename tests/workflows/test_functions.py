"""`dicast.check`, `prepare`, `compile` and `cascade`: each does what its command does, and the command continues it."""

import json
import re
import threading
from pathlib import Path

import pytest
from known_judge import SPACE, Known

import dicast
from dicast.cli import run as command
from dicast.errors import DeclarationError, RunError
from dicast.judging import PROGRAMS, Program, build
from dicast.testing import MockServer
from dicast.workflows import CheckItem, DriftReport, Progress


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    return tmp_path


def write(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def printed(capsys, *arguments):
    """What a command prints as JSON, and its exit code."""
    capsys.readouterr()
    code = command([*arguments, "--json"])
    printed = capsys.readouterr()
    assert printed.out, printed.err
    return json.loads(printed.out), code


def test_a_check_of_rows_and_models_is_that_of_the_command(capsys):
    rows = write("pairs.jsonl", [{"query": "q", "response_a": "x", "response_b": "y", "label": "a"}])
    with MockServer() as server:
        items = dicast.check(cases="pairs.jsonl", lm=server.model_string())
        shown, code = printed(capsys, "check", "--cases", "pairs.jsonl", "--lm", server.model_string())
    assert shown == json.loads(json.dumps([item.__dict__ for item in items]))
    assert code == (0 if all(item.ok for item in items) else 3)
    last = dicast.check(cases=[*rows, {"query": "no response"}])[-1]
    assert isinstance(last, CheckItem)
    assert not last.ok
    assert last.text.startswith("1 bad rows of 2; line 2: ")
    assert last.name == "data"  # not the temporary file of the rows


def test_a_check_for_drift_is_that_of_the_command(capsys):
    rows = [
        {"query": f"q{n}", "response_a": "x", "response_b": "y", "label": "tie" if n % 4 else "a"} for n in range(24)
    ]
    write("new.jsonl", rows)
    with MockServer() as server:
        record = {"after": {"hits": 18, "n": 24}}
        dicast.save(build("direct", grading="pairwise"), "tone.judge.json", training=record, lm=server.model_string())
        reports = [dicast.check("tone.judge.json", cases, margin=0.3) for cases in ("new.jsonl", rows)]
        shown, code = printed(capsys, "check", "--judge", "tone.judge.json", "--cases", "new.jsonl", "--margin", "0.3")
        stop = threading.Event()
        stop.set()
        assert dicast.check("tone.judge.json", rows, stop=stop).outcome == "stopped"
    for report in reports:
        assert isinstance(report, DriftReport)
        assert report.to_json() | {"usage": None} == shown | {"usage": None}
        assert {"agrees": 0, "worse": 1, "unknown": 2}[report.outcome] == code
    with pytest.raises(DeclarationError, match="--judge needs --cases with new labels"):
        dicast.check("tone.judge.json")


def good(body):
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    return {"names": [{"name": "Ava", "kind": "person", "replacement": "Lily"}]} if "names" in fields else None


def test_cases_that_python_prepared_are_continued_by_the_command(capsys):
    rows = [{"id": f"s{n}", "query": "Judge.", "response": f"Story {n} is about Ava.", "score": 3} for n in range(6)]
    failures = []

    class Counting(Progress):
        def prepared(self, count):
            failures.append(count)

    with MockServer(answer=good) as server:
        lm = server.model_string()
        result = dicast.prepare("anonymise", rows, "out.jsonl", lm=lm, settings={"rounds": 1}, progress=Counting())
        assert (result.status, result.prepared, result.cases, failures) == ("complete", 6, 6, [0] * 6)
        Path("out.jsonl").write_bytes(Path("out.jsonl").read_bytes()[:-20])  # as a kill leaves it
        options = ["--cases", "out/cases.jsonl", "--out", "out.jsonl", "--lm", lm, "--set", "rounds=1"]
        shown, code = printed(capsys, "prepare", "--with", "anonymise", *options)
        assert (shown["prepared"], shown["cases"], code) == (1, 6, 0)
        with pytest.raises(RunError, match="out.jsonl: holds prepared cases with data ="):
            dicast.prepare("anonymise", rows[:2], "out.jsonl", lm=lm, settings={"rounds": 1})
    assert [case.candidates[0].text for case in dicast.read_cases("out.jsonl")].count("Story 1 is about Lily.") == 1


def test_a_compilation_of_python_is_that_of_the_command(monkeypatch, capsys):
    monkeypatch.setitem(PROGRAMS._added, "known", Program("known", Known, "a judge that is known", "-", "pairs", "1"))
    rows = [
        {"id": f"{n:04}", "query": f"question {n}", "response_a": "x", "response_b": "yy",
         "label": "ab"[n * 7 % 5 % 2], "meta": {"ease": (n + 0.5) / 100}}
        for n in range(100)
    ]  # fmt: skip
    recipe = {"space": SPACE, "trials": 3, "head": False, "baseline": None}
    Path("recipe.yaml").write_text(json.dumps(recipe))
    steps = []

    class Steps(Progress):
        def step(self, name, text):
            steps.append(name)

    result = dicast.compile("known", rows, out="out", progress=Steps(), **recipe)
    assert result.status == "complete"
    assert result.compiled
    assert (result.judge_file, result.page) == (Path("out/known.judge.json"), Path("out/report.html"))
    assert {"split", "structure", "test"} <= set(steps)
    shown, code = printed(
        capsys, "compile", "known", "--cases", "out/cases.jsonl", "--out", "out", "--recipe", "recipe.yaml"
    )
    assert shown["result"] == result.compiled.result.model_dump(mode="json")
    assert shown["spent"]["usage"]["calls"] == result.compiled.training["spent"]["usage"]["calls"]
    assert code == {"improved": 0, "worse": 1, "inconclusive": 2}[result.compiled.result.outcome]
    assert dicast.compile("known", rows[:10], out="few", **recipe).status == "too few labels"
    with pytest.raises(RunError, match="elsewhere holds no compilation"):
        dicast.compile("known", rows, out="elsewhere", must_resume=True)


def probabilities(body):
    """The small model guesses at two cases in five; the large one errs on one in ten."""
    text = json.dumps(body["messages"][-1])
    number = int(re.search(r"question (\d+)", text)[1])
    is_sure = number % 5 < 3 if body["model"] == "small" else number % 10 != 9
    is_right = is_sure or (body["model"] == "small" and number % 2 == 0)
    p = 0.97 if is_sure else 0.56
    first = p if (text.index("good") < text.index("poor")) == is_right else 1 - p
    return {"A": first, "B": 1 - first}


def test_a_cascade_of_python_is_that_of_the_command(capsys):
    rows = [
        {"id": f"{n:04}", "query": f"question {n}", "response_a": "good", "response_b": "poor", "label": "a"}
        for n in range(100)
    ]
    write("labels.jsonl", rows)
    with MockServer(token_probabilities=probabilities) as server:
        judges = []
        for model in ("small", "large"):
            judge = build("direct", grading="pairwise", order="one").bind(server.model_string(model))
            dicast.save(judge, f"{model}.judge.json")
            judges.append(f"{model}.judge.json")
        result = dicast.cascade(judges, "labels.jsonl", out="out.judge.json")
        before = len(server.requests)
        shown, code = printed(capsys, "cascade", *judges, "--cases", "labels.jsonl", "--out", "out.judge.json")
        assert len(server.requests) == before
    assert result.status == "complete"
    assert result.result.judge is not None
    assert shown["certificate"] == result.result.certificate.model_dump(mode="json")
    assert (shown["judge"], code) == ("out.judge.json", 0)
    with pytest.raises(DeclarationError, match="a cascade is saved as a judge file"):
        dicast.cascade(judges, rows, out="out.json")
