"""The judges and the preparation of docs/extending.md, installed from the page: listed, searched, saved, exchanged."""

import json
import shlex
from typing import Any

import dspy
import pytest
from extending import blocks, entry_points
from judges import ask, by_place, by_text, fitting, requests_of

from dicast.cli import run as dicast
from dicast.data import Case
from dicast.judging import PROGRAMS, build
from dicast.judging.judge_file import load, save
from dicast.optimizers.structure.space import space_of
from dicast.preparation import build_preparation
from dicast.testing import prompt_text

JUDGES = {"checklist": "A judge", "warmth": "A question with two readouts"}


@pytest.fixture(params=JUDGES)
def name(request, install):
    (code,) = blocks(JUDGES[request.param], "python")
    install(request.param, code, entry_points(JUDGES[request.param]))
    yield request.param
    PROGRAMS.reset()


@pytest.fixture
def redact(install):
    (code,) = blocks("A preparation", "python")
    install("redact", code, entry_points("A preparation"))


@pytest.mark.parametrize("readout", ["generate", "probability"])
def test_exchanging_the_candidates_exchanges_the_verdict_exactly(name, readout):
    pair = fitting(name)
    verdict, swapped = (ask(build(name, readout=readout), case, by_place)[0] for case in (pair, pair.swapped()))
    assert verdict.status == "scored"
    for field in ("winner", "scores", "distribution", "certainty", "consistent"):
        assert getattr(swapped, field) == getattr(verdict.swapped(), field), field


def test_the_judge_is_listed_with_what_it_registers(name, capsys):
    assert dicast(["list", name, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["summary"] == PROGRAMS.find(name).summary
    assert "readout" in row["parameters"]
    assert ["generate", "probability"] in [question["readouts"] for question in row["questions"]]


def test_its_parameters_are_searched(name):
    space = space_of(build(name))
    assert sorted(space["readout"]) == ["generate", "probability"]
    assert space.get("count", [4, 2, 8]) == [4, 2, 8]


def test_it_is_saved_with_what_was_learned(name, tmp_path):
    judge, case = build(name), fitting(name)
    for stage in judge.stages():
        stage.ask.signature = stage.ask.signature.with_instructions("Tuned <<< instructions.")
        stage.ask.demos = [dspy.Example(**dict.fromkeys(stage.ask.signature.fields, "earlier"))]
    save(judge, tmp_path / "plugin.judge.json")
    loaded = load(tmp_path / "plugin.judge.json")
    assert requests_of(loaded, case) == requests_of(judge, case)
    assert all(prompt_text(request).startswith("Tuned") for request in ask(loaded, case, by_place)[1])


def test_the_checklist_of_the_page_scores_the_proportion_that_is_met(install):
    (code,) = blocks("A judge", "python")
    install("checklist", code, entry_points("A judge"))

    def answer(request: Any) -> Any:
        if "requirements" in str(request.config.response_format):
            return {"requirements": ["short", "kind", "right", "clear", "left over"]}
        good = "9" in prompt_text(request) or "short" in prompt_text(request)
        return {"token_probabilities": {"A": 0.8, "B": 0.2} if good else {"A": 0.2, "B": 0.8}}

    verdict, requests = ask(build("checklist"), fitting("checklist", (1, 9)), answer)
    assert verdict.scores == pytest.approx((0.35, 0.8))
    assert (verdict.winner, len(requests)) == ("b", 1 + 4 * 2)
    PROGRAMS.reset()


def test_the_question_of_the_page_reads_letters_and_named_levels(install):
    (code,) = blocks("A question with two readouts", "python")
    install("warmth", code, entry_points("A question with two readouts"))
    verdict, requests = ask(build("warmth"), fitting("warmth", (1, 9)), by_text)
    assert (verdict.winner, len(requests)) == ("b", 4)
    assert any("1. cold\n2. polite\n3. friendly\n4. warm" in prompt_text(request) for request in requests)
    written, _ = ask(build("warmth", readout="generate"), fitting("warmth"), by_place)
    assert "shown in the other order: its A is b" in written.rationale
    PROGRAMS.reset()


def test_the_preparation_of_the_page_rewrites_every_text(redact):
    case = Case(id="1", query="q", candidates=[{"text": "write to a.b@c.org"}, {"text": "no address"}])
    prepared = build_preparation("redact")(case)
    assert [candidate.text for candidate in prepared.candidates] == ["write to [address]", "no address"]
    assert prepared.meta == {"redacted": 1}


def test_the_commands_of_the_page_run(redact, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    row = {"query": "q", "response_a": "mail x@y.org", "response_b": "y"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    assert dicast(["prepare", "--help"]) == 0
    assert "|redact]" in capsys.readouterr().out
    (command,) = blocks("A preparation", "sh")
    assert dicast(shlex.split(command)[1:]) == 0
    assert "[address]" in (tmp_path / "redacted.jsonl").read_text()
