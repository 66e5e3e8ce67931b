"""Judge files of format 1, as dicast wrote them before a question with two readouts was one stage, still load."""

import hashlib
import json
from pathlib import Path

import pytest
from judges import fitting, requests_of

from dicast.judging.judge_file import load, read, save

OLD = Path(__file__).parent / "old_files"
REQUESTS = json.loads((OLD / "requests.json").read_text())
CASES = {"tone": "direct", "letters": "direct", "panel": "direct", "cascade": "direct"}


def loaded(name):
    judge = load(OLD / f"{name}.judge.json")
    for stage in judge.stages():
        stage.use("")  # the files name a server; tests answer by a scripted LM
    return judge


def sent(name, judge):
    case = fitting(CASES.get(name, name.removesuffix("-generate").removesuffix("-other")))
    return sorted(
        hashlib.sha256(json.dumps([text, config]).encode()).hexdigest() for text, config in requests_of(judge, case)
    )


@pytest.mark.parametrize("name", [name for name in REQUESTS if name != "direct-other"])
def test_an_old_file_sends_the_recorded_requests_byte_for_byte(name):
    """They were recorded anew when texts of demos got the form of the inputs beside them, fenced or quoted, when a
    guideline got more tokens, and when the aspects of `explicit` got five described levels."""
    assert sent(name, loaded(name)) == REQUESTS[name]


def test_what_was_tuned_for_the_other_readout_alone_is_used():
    judge = loaded("direct-other")
    assert judge.readout.value == "probability"
    assert judge.prefer.ask.signature.instructions.startswith("Tuned in the other readout.")
    assert [demo["better"] for demo in judge.prefer.ask.demos] == ["A"]


def test_demos_of_tokens_become_demos_of_words():
    assert dict(loaded("perse").score.ask.demos[0])["score"] == 3  # the token 2 of 0..9
    assert dict(loaded("pref").score.ask.demos[0])["factual"] == "no"
    assert dict(loaded("letters").question.ask.demos[0])["better"] == "C"


@pytest.mark.parametrize("name", REQUESTS)
def test_an_old_file_saved_again_is_of_the_new_format_and_the_same_judge(name, tmp_path):
    old = OLD / f"{name}.judge.json"
    path = tmp_path / "again.judge.json"
    save(load(old), path)
    assert json.loads(path.read_text())["format"] == 2
    assert read(path).judge == read(old).judge
    assert not any("probability" in stage for stage in read(path).judge.stages)


def test_a_stage_that_a_program_got_later_is_saved_once_it_is_tuned(tmp_path):
    judge, path = loaded("persona"), tmp_path / "again.judge.json"
    judge.wrote.ask.signature = judge.wrote.ask.signature.with_instructions("Tuned.")
    save(judge, path)
    assert "wrote" in read(path).judge.stages
    assert "wrote_sure" not in read(path).judge.stages
    assert load(path).wrote.ask.signature.instructions == "Tuned."


def test_the_training_record_of_an_old_file_has_the_present_names(tmp_path):
    content = json.loads((OLD / "direct.judge.json").read_text())
    measure = {"name": "accuracy", "value": 0.5, "what": "right", "kind": "share", "neutral": None}
    content["training"] = {"told": "no difference", "test": {"compiled": {"figures": {"accuracy": measure}}}}
    (tmp_path / "old.judge.json").write_text(json.dumps(content))
    renamed = {"name": "accuracy", "value": 0.5, "description": "right", "kind": "proportion", "null_value": None}
    assert read(tmp_path / "old.judge.json").training == {
        "summary": "no difference",
        "test": {"compiled": {"measures": {"accuracy": renamed}}},
    }
