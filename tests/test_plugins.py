"""One package with a judge, a metric, an objective, a prompt optimizer and an engine, one file each, used together.

The package is tests/support/courtroom; no file of dicast names it. The examples of docs/extending.md are tested by
room: judging/test_plugin_judge.py, evaluation/test_plugin_metric.py, engines/test_plugin_engine.py and others.
"""

import json
from pathlib import Path

import pytest

import dicast
from dicast.cli import run
from dicast.judging.judge_file import load

PACKAGE = Path(__file__).parent / "support" / "courtroom"
ENTRY_POINTS = """
[dicast.judges]
manners = courtroom.judge:Manners

[dicast.metrics]
error-rate = courtroom.metric:metric

[dicast.objectives]
macro-recall = courtroom.objective:objective

[dicast.prompt_optimizers]
one-sentence = courtroom.prompt_optimizer:optimizer

[dicast.engines]
clerk = courtroom.engine:Clerk
"""
OPTIONS = {"lm": "clerk/junior", "objective": "macro-recall", "prompts": "one-sentence", "trials": 3}


@pytest.fixture(autouse=True)
def folder(install, tmp_path, monkeypatch):
    """A working folder with labels.jsonl: people prefer the reply that says thanks."""
    install("courtroom", PACKAGE, ENTRY_POINTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DICAST_HOME", str(tmp_path / "home"))
    with Path("labels.jsonl").open("w") as file:
        for n in range(150):
            label = "ab"[n // 2 % 2]
            thanks, whatever = f"thanks, answer {n}", f"whatever, answer {n}"
            texts = (thanks, whatever) if label == "a" else (whatever, thanks)
            row = {"id": f"{n:03}", "query": f"{'easy' if n % 2 else 'hard'} question {n}", "label": label}
            file.write(json.dumps(row | {"response_a": texts[0], "response_b": texts[1]}) + "\n")


def output(capsys, *arguments):
    """The exit code of a command and what it prints."""
    capsys.readouterr()
    code = run(arguments)
    return code, capsys.readouterr()


def test_list_and_help_name_each_of_them(capsys):
    _, printed = output(capsys, "list", "--json")
    listed = json.loads(printed.out)
    assert "manners" in [judge["name"] for judge in listed["judges"]]
    for kind, name in (
        ("metrics", "error-rate"),
        ("objectives", "macro-recall"),
        ("prompt_optimizers", "one-sentence"),
        ("engines", "clerk"),
    ):
        assert name in listed[kind]
    _, printed = output(capsys, "compile", "--help")
    assert "macro-recall" in printed.out
    assert "one-sentence" in printed.out


def test_a_compilation_uses_them_together_and_python_continues_it(capsys):
    options = [part for name, value in OPTIONS.items() for part in (f"--{name}", str(value))]
    code, printed = output(capsys, "compile", "manners", "--cases", "labels.jsonl", "--out", "out", *options)
    assert code == 0, printed.err
    assert "direct left out: model 'clerk/junior': the server returned no token probabilities" in printed.err
    compiled = dicast.compile("manners", "labels.jsonl", out="out", **OPTIONS).compiled
    assert (compiled.result.objective, compiled.result.outcome) == ("macro-recall", "improved")
    assert compiled.result.decisive_test.difference.value > 0.3  # half of the questions are hard
    assert '"space":{"order":["one","both"]}' in Path("out/structure.jsonl").read_text()  # the judge's parameter

    judge = load("out/manners.judge.json")
    assert judge.stages()[0].ask.signature.instructions.endswith("A polite reply says thank you.")
    verdicts = dicast.run("out/manners.judge.json", "labels.jsonl", out="run")
    assert verdicts.evaluate().measure("error rate").value == 0
    uncompiled = dicast.run("manners", "labels.jsonl", out="uncompiled", lm="clerk/junior")
    assert uncompiled.evaluate().measure("error rate").value == 0.5
    code, printed = output(capsys, "evaluate", "uncompiled", "--all")
    assert "the verdict is not the label" in printed.out
