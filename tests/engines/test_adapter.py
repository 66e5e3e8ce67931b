"""The compact adapter: the same call in fewer words."""

import json
from typing import Annotated, Literal

import dspy
import pytest
from dspy.utils.exceptions import AdapterParseError
from pydantic import BaseModel, Field

from dicast.engines.adapter import CompactAdapter, heading, lists_as_ranges, words_for
from dicast.engines.models import get_lm
from dicast.judging import Stage
from dicast.judging.question import READOUTS, Question
from dicast.signatures import direct, fennec, perse, persona, pref, reference_free, scales
from dicast.testing import ScriptedLM

SIGNATURES = [
    direct.Prefer, direct.Grade, fennec.FindCriteria, fennec.WriteGuideline, fennec.JudgePair, fennec.JudgeSingle,
    fennec.Correct, pref.Cover, pref.Personalise, pref.ScoreAnswer,
]  # fmt: skip


@pytest.mark.parametrize("signature", SIGNATURES, ids=lambda signature: signature.__name__)
def test_the_prompt_adds_at_most_half_of_what_dspys_adds_to_the_instruction(signature):
    inputs = dict.fromkeys(signature.input_fields, "text")
    short, long = (
        sum(len(message["content"]) for message in adapter.format(signature, [], inputs)) - len(signature.instructions)
        for adapter in (CompactAdapter(), dspy.JSONAdapter())
    )
    assert short <= 0.5 * long


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
        (
            list[pref.AddedFactor],
            'list of {"name": text, "weight": whole number 0..10, "reason": text, "contradicts": whole number}',
        ),
        (bool | None, "true or false"),
    ],
)
def test_types_are_described_in_words(annotation, words):
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


# ranges of whole numbers


class Part(BaseModel):
    """A part with a score."""

    score: Literal[tuple(range(-5, 21))]  # type: ignore[valid-type]
    weight: Annotated[int, Field(ge=0, le=10)]


class Ranges(dspy.Signature):
    """Score."""

    text: str = dspy.InputField()
    percent: scales.Percent = dspy.OutputField()
    stars: scales.OneToFive = dspy.OutputField()
    ten: scales.ZeroToTen = dspy.OutputField()
    odd: Literal[tuple(range(1, 40, 2))] = dspy.OutputField()  # type: ignore[valid-type]
    parts: list[Part] = dspy.OutputField()
    maybe: scales.Certainty | None = dspy.OutputField()


def schema_sent(signature):
    lm = ScriptedLM({})
    with dspy.context(lm=lm, adapter=CompactAdapter()), pytest.raises(AdapterParseError):
        dspy.Predict(signature)(**dict.fromkeys(signature.input_fields, "x"))
    return lm.requests[0].config.response_format["schema"]


def test_long_lists_of_whole_numbers_are_sent_as_their_ends():
    schema = schema_sent(Ranges)
    fields = schema["properties"]
    assert fields["percent"] == {"type": "integer", "minimum": 0, "maximum": 100, "title": "Percent"}
    assert fields["stars"]["enum"] == [1, 2, 3, 4, 5]
    assert fields["ten"]["enum"] == list(range(11))
    assert fields["odd"]["enum"] == list(range(1, 40, 2))
    (part,) = schema["$defs"].values()
    assert part["properties"]["score"] == {"type": "integer", "minimum": -5, "maximum": 20} | {"title": "Score"}
    assert {"type": "integer", "minimum": 1, "maximum": 100} in fields["maybe"]["anyOf"]


def test_lists_of_anything_else_stay():
    for values in ([*range(11)], [*range(12), 13], ["1"] * 20, [True, False] * 6, [0.0, *range(1, 20)]):
        schema = {"enum": list(values)}
        lists_as_ranges(schema)
        assert schema == {"enum": list(values)}


@pytest.mark.parametrize("answer", [-1, 101, 1000, 50.5, "fifty", None, [50]])
def test_an_answer_outside_the_range_or_not_whole_is_refused(answer):
    lm = ScriptedLM({"score": answer})
    with dspy.context(lm=lm, adapter=CompactAdapter()), pytest.raises(AdapterParseError):
        dspy.Predict(reference_free.ExplicitV3)(task="t", source="s", text="x", aspect="a")


@pytest.mark.parametrize("answer", [0, 50, 100, "7"])
def test_an_answer_in_the_range_is_taken(answer):
    lm = ScriptedLM({"score": answer})
    with dspy.context(lm=lm, adapter=CompactAdapter()):
        assert dspy.Predict(reference_free.ExplicitV3)(task="t", source="s", text="x", aspect="a").score == int(answer)


PREFER_SURE = persona.asks_for_certainty(persona.PreferAsPerson)


@pytest.mark.parametrize("signature", [reference_free.ExplicitV1, reference_free.ExplicitV5, PREFER_SURE])
def test_no_schema_of_ours_lists_a_hundred_numbers(signature):
    assert len(json.dumps(schema_sent(signature))) < 500


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.parametrize("signature", [reference_free.ExplicitV3, PREFER_SURE])
def test_a_grammar_keeps_a_real_models_answers_in_the_range(small_model, signature):
    """llama.cpp makes a grammar of `minimum` and `maximum`; 135M parameters at temperature 1.5 answer anything."""
    lm, read = get_lm(small_model, cache=False), []
    name = next(name for name in signature.output_fields if name in ("score", "certainty"))
    with dspy.context(adapter=CompactAdapter()):
        for number in range(6):
            inputs = dict.fromkeys(signature.input_fields, f"A text, number {number}.")
            config = {"temperature": 1.5, "max_tokens": 32, "rollout_id": number + 1}
            read.append(dspy.Predict(signature)(lm=lm, config=config, **inputs)[name])
    low = 1 if name == "certainty" else 0
    assert all(type(value) is int and low <= value <= 100 for value in read)


# both readouts


READ = [
    direct.Prefer, direct.Grade, fennec.JudgePair, fennec.JudgeSingle, perse.ScoreAs, perse.PreferAs, pref.ScoreAnswer,
    pref.ZeroShot, persona.PreferAsPerson, reference_free.ExplicitV4, reference_free.PairwiseV1,
]  # fmt: skip


@pytest.mark.parametrize("signature", READ, ids=lambda signature: signature.__name__)
def test_what_is_read_from_one_token_is_not_asked_to_be_explained(signature):
    """The instruction serves both readouts: what is to be written is said at the outputs that are written."""
    lm = ScriptedLM({"token_probabilities": {"A": 0.5, "3": 0.5}})
    question = Question(signature, "judgment")
    with dspy.context(lm=lm):
        question(readout=READOUTS[1], **dict.fromkeys(signature.input_fields, "x"))
    for request in lm.requests:
        assert not {"explain", "sentence", "sentences", "first", "reason"} & set(request.system.lower().split())
    assert isinstance(question, Stage)
