"""The compact adapter: the same call in fewer words."""

import json

import dspy
import pytest

from dicast.engines.adapter import CompactAdapter, heading, words_for
from dicast.signatures import direct, fennec, pref, scales
from dicast.testing import ScriptedLM

SIGNATURES = [
    direct.Prefer, direct.Grade, fennec.FindCriteria, fennec.WriteGuideline, fennec.JudgePair, fennec.JudgeSingle,
    fennec.Correct, pref.Cover, pref.Personalise, pref.ScoreAnswer,
]  # fmt: skip


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.__name__)
def test_the_prompt_is_at_most_six_tenths_of_dspys(signature):
    inputs = dict.fromkeys(signature.input_fields, "text")
    short, long = (
        sum(len(message["content"]) for message in adapter.format(signature, [], inputs))
        for adapter in (CompactAdapter(), dspy.JSONAdapter())
    )
    assert short <= 0.6 * long


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.__name__)
def test_the_prompt_holds_the_instruction_every_input_and_every_output(signature):
    inputs = {name: f"the text of {name}" for name in signature.input_fields}
    system, user = (message["content"] for message in CompactAdapter().format(signature, [], inputs))
    assert system.startswith(signature.instructions)
    assert all(f'"{name}": ' in system for name in signature.output_fields)
    assert all(f"{heading(name)}:\n{text}" in user for name, text in inputs.items())


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (str, "text"),
        (scales.OneToFive, "1 | 2 | 3 | 4 | 5"),
        (list[str], "list of text"),
        (list[pref.AddedFactor], 'list of {"name": text, "weight": whole number 0..10, "reason": text}'),
        (bool | None, "true or false"),
    ],
)
def test_types_are_told_in_words(annotation, words):
    assert words_for(annotation) == words


def test_demos_are_chat_turns_of_the_same_form():
    demo = dspy.Example(request="r", response="x", aspect="clarity", score=4)
    inputs = {"request": "q", "response": "y", "aspect": "clarity"}
    messages = CompactAdapter().format(direct.Grade, [demo], inputs)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert json.loads(messages[2]["content"]) == {"score": 4}
    assert messages[1]["content"].startswith("Request:\nr")


def test_finetuning_rows_hold_the_same_prompt_and_the_answer_as_json():
    inputs = {"request": "q", "response": "y", "aspect": "clarity"}
    row = CompactAdapter().format_finetune_data(direct.Grade, [], inputs, {"score": 2})
    assert row["messages"][:2] == CompactAdapter().format(direct.Grade, [], inputs)
    assert json.loads(row["messages"][2]["content"]) == {"score": 2}


def test_a_written_answer_round_trips_through_the_schema():
    lm = ScriptedLM(lambda request: {"score": 5})
    with dspy.context(lm=lm, adapter=CompactAdapter()):
        assert dspy.Predict(direct.Grade)(request="q", response="y", aspect="a").score == 5
    assert lm.requests[0].config.response_format["schema"]["properties"]["score"]["enum"] == [1, 2, 3, 4, 5]
